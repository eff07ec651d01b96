#include <tailrace/io/bp_record.hpp>

#include <tailrace/io/attributes_json.hpp>
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

void check_size(const std::string &directory, const std::string &name, std::uintmax_t expected) {
  const std::string file = (fs::path(directory) / name).string();
  std::error_code missing;
  const std::uintmax_t found = fs::file_size(file, missing);
  if (missing)
    throw IoError(fmt::format("cannot open {}: {} is missing", directory, file));
  if (found < expected)
    throw IoError(fmt::format("cannot open {}: {} has {} bytes and should have {}", directory, file, found, expected));
}

} // namespace

void write_bp_record(const std::string &directory, const Attributes &attributes, bool sync) noexcept {
  try {
    json sizes = json::object();
    for (const auto &entry : fs::directory_iterator(directory))
      if (const std::string name = entry.path().filename().string(); is_bp_file(name))
        sizes[name] = entry.file_size();
    const json record{{"version", 1}, {"sizes", sizes}, {"attributes", attributes_to_json(attributes)}};
    replace_file(record_path(directory), record.dump(), sync);
  } catch (const std::exception &) { // a record of before would be wrong, none is not
    remove_bp_record(directory);
  }
}

Attributes check_bp_record(const std::string &directory) {
  const std::string path = record_path(directory);
  if (!fs::exists(path))
    return {};
  try {
    const json record = json::parse(read_file(path));
    for (const auto &[name, size] : record.at("sizes").items())
      check_size(directory, name, size.get<std::uintmax_t>());
    return attributes_from_json(record.at("attributes"));
  } catch (const json::exception &error) {
    throw IoError(fmt::format("cannot read {}: it is damaged ({})", path, error.what()));
  }
}

void remove_bp_record(const std::string &directory) noexcept { ::unlink(record_path(directory).c_str()); }

} // namespace tailrace::io
