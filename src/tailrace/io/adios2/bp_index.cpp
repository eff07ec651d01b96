#include <tailrace/io/adios2/bp_index.hpp>

#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace tailrace::io::bp {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t header_bytes = 64, record_bytes = 64; // a record of BP4; records of BP5 differ in length
constexpr std::int64_t version_position = 37, end_of_metadata_position = 40;

std::string index_path(const std::string &directory) { return (fs::path(directory) / "md.idx").string(); }

std::uintmax_t size_of_index(const std::string &directory) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(index_path(directory), missing);
  return missing ? 0 : size;
}

void cut(const fs::path &file, std::uintmax_t size) {
  std::error_code failed;
  const std::uintmax_t now = fs::file_size(file, failed);
  if (!failed && now < size)
    throw IoError(
        fmt::format("cannot rewind {}: it has {} bytes, and the steps to keep need {}", file.string(), now, size));
  if (!failed)
    fs::resize_file(file, size, failed);
  if (failed)
    throw IoError(fmt::format("cannot rewind {}: {}", file.string(), failed.message()));
}

} // namespace

int version(const std::string &directory) {
  if (size_of_index(directory) < header_bytes)
    return 0;
  std::ifstream file(index_path(directory), std::ios::binary);
  file.seekg(version_position);
  const int found = file.get();
  return found == 4 || found == 5 ? found : 0;
}

bool has_steps(const std::string &directory) { return size_of_index(directory) > header_bytes; }

std::map<std::string, std::uintmax_t> data_sizes(const std::string &directory) {
  std::map<std::string, std::uintmax_t> sizes;
  for (const auto &entry : fs::directory_iterator(directory))
    if (const std::string name = entry.path().filename().string(); name.rfind("data.", 0) == 0)
      sizes[name] = entry.file_size();
  return sizes;
}

void cut_bp4(const std::string &directory, std::size_t kept, const std::map<std::string, std::uintmax_t> &sizes) {
  const fs::path folder = directory;
  std::uint64_t end_of_metadata = 0;
  const std::uintmax_t index_size = header_bytes + record_bytes * kept;
  {
    const FileDescriptor index(index_path(directory), O_RDONLY);
    read_all(index.get(), &end_of_metadata, sizeof end_of_metadata,
             static_cast<std::int64_t>(index_size - record_bytes) + end_of_metadata_position, index_path(directory));
  }
  cut(folder / "md.idx", index_size); // first: if the program is killed after this, no step refers to the other bytes
  cut(folder / "md.0", end_of_metadata);
  if (sizes.empty())
    return;
  for (const auto &[name, size] : data_sizes(directory)) {
    const auto kept_size = sizes.find(name);
    if (kept_size == sizes.end())
      fs::remove(folder / name);
    else
      cut(folder / name, kept_size->second);
  }
}

void trim_bp5(const std::string &directory) {
  const std::string index = read_file(index_path(directory));
  std::size_t place = header_bytes, complete = place;
  std::uint64_t writers = 0, end_of_metadata = 0;
  const auto next = [&] {
    std::uint64_t value = 0;
    if (place + sizeof value <= index.size())
      std::memcpy(&value, index.data() + place, sizeof value);
    place += sizeof value;
    return value;
  };
  while (place < index.size()) { // one letter, the length of the record, then its numbers
    const char kind = index[place++];
    next();
    if (kind == 's') { // position and size in md.0, flushes, positions in the data files
      const std::uint64_t begin = next(), size = next(), flushes = next();
      if (flushes > index.size() || writers > index.size())
        break; // damaged: no record is so large
      place += sizeof(std::uint64_t) * writers * (2 * flushes + 1);
      if (place <= index.size())
        end_of_metadata = begin + size;
    } else { // 'w': writers, aggregators, files, and the file of every writer
      writers = next();
      next(), next();
      if (writers > index.size())
        break;
      place += sizeof(std::uint64_t) * writers;
    }
    if ((kind != 's' && kind != 'w') || place > index.size())
      break;
    complete = place;
  }
  if (end_of_metadata == 0)
    return;
  cut(fs::path(directory) / "md.idx", complete);
  cut(fs::path(directory) / "md.0", end_of_metadata);
}

} // namespace tailrace::io::bp
