#include <tailrace/io/bp_sizes.hpp>

#include <tailrace/io/files.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string record_path(const std::string &directory) { return (fs::path(directory) / "tailrace.json").string(); }

/// data.0, data.1 ...; md.0, md.idx and mmd.0.
bool is_bp_file(const std::string &name) {
  return name.rfind("data.", 0) == 0 || name.rfind("md.", 0) == 0 || name == "mmd.0";
}

} // namespace

void record_sizes(const std::string &directory, bool sync) noexcept {
  try {
    json sizes = json::object();
    for (const auto &entry : fs::directory_iterator(directory))
      if (const std::string name = entry.path().filename().string(); is_bp_file(name))
        sizes[name] = entry.file_size();
    replace_file(record_path(directory), json{{"version", 1}, {"sizes", sizes}}.dump(), sync);
  } catch (const std::exception &) {
    forget_sizes(directory);
  }
}

void check_sizes(const std::string &directory) {
  const std::string path = record_path(directory);
  if (!fs::exists(path))
    return; // of another program, or cut before its first step
  const json record = json::parse(read_file(path), nullptr, false);
  if (!record.is_object() || !record.contains("sizes"))
    throw IoError(fmt::format("cannot read {}: it is damaged", path));
  for (const auto &[name, size] : record.at("sizes").items()) {
    const std::string file = (fs::path(directory) / name).string();
    std::error_code missing;
    const std::uintmax_t found = fs::file_size(file, missing), expected = size.get<std::uintmax_t>();
    if (missing)
      throw IoError(fmt::format("cannot open {}: {} is missing", directory, file));
    if (found < expected)
      throw IoError(
          fmt::format("cannot open {}: {} has {} bytes and should have {}", directory, file, found, expected));
  }
}

void forget_sizes(const std::string &directory) noexcept { ::unlink(record_path(directory).c_str()); }

} // namespace tailrace::io
