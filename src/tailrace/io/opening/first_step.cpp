#include <tailrace/io/opening/first_step.hpp>

#include <tailrace/io/engine/engines.hpp>
#include <tailrace/io/recognition.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;
constexpr std::int64_t most_bytes = std::int64_t{64} << 20; ///< of a file from either end, where its metadata are

/// Whether the series at the path has steps; nothing if none can be read there. Local.
std::optional<bool> has_steps(const std::string &path) {
  try {
    const std::string engine = engine_at(path);
    if (engine.empty())
      return std::nullopt;
    Trace trace;
    Notes notes;
    const OpenRequest request{path, Mode::read, false, Communicator(MPI_COMM_SELF), {}, {}, false, false,
                              {},   &trace,     &notes};
    return !engine_entry(engine).open(request, Parameters({}))->steps().empty();
  } catch (const Error &) {
    return std::nullopt;
  }
}

/// Whether an engine reads a file of its directory when it opens a series. Other programs may have files there.
bool is_metadata(const std::string &name) {
  return name == "series.jsonl" || name == "tailrace.json" || name.starts_with("md.") || name.starts_with("mmd.");
}

/// The regular files at a path that say which steps there are.
std::vector<std::string> files_at(const std::string &path) {
  std::vector<std::string> files;
  for (const std::string &one : {path, path + ".journal"})
    if (is_regular(one))
      files.push_back(one);
  if (is_directory(path))
    for (const auto &entry : fs::directory_iterator(path))
      if (is_metadata(entry.path().filename().string()) && is_regular(entry.path().string()))
        files.push_back(entry.path().string());
  return files;
}

void read_range(const FileDescriptor &file, std::int64_t begin, std::int64_t end, const std::string &path) {
  std::string piece(static_cast<std::size_t>(std::min(piece_bytes, end - begin)), '\0');
  for (; begin < end; begin += piece_bytes)
    read_some(file.get(), piece.data(), piece.size(), begin, path);
}

/// Throws IoError if the system does not give what these files hold. Local.
void check_readable(const std::string &path) {
  for (const std::string &name : files_at(path)) {
    const FileDescriptor file(name, O_RDONLY);
    const std::int64_t bytes = bytes_of(name).value_or(0), middle = std::min(bytes, most_bytes);
    read_range(file, 0, middle, name);
    read_range(file, std::max(middle, bytes - most_bytes), bytes, name);
  }
}

} // namespace

/// The libraries do not tell an error of the system from a file whose first step was not completed. But the latter can
/// be read, byte by byte, and is still incomplete the second time.
bool has_first_step(const std::string &path) {
  if (const auto found = has_steps(path))
    return *found;
  try {
    check_readable(path);
  } catch (const fs::filesystem_error &error) {
    throw file_error(error);
  } catch (const IoError &error) {
    throw IoError(fmt::format("{}. It has to be read, to know whether the series that it replaces goes back to its "
                              "place. To fix this, make it readable",
                              error.what()));
  }
  return has_steps(path).value_or(false);
}

} // namespace tailrace::io
