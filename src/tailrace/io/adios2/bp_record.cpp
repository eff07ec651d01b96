#include <tailrace/io/adios2/bp_record.hpp>

#include <tailrace/io/adios2/bp_metadata.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int record_version = 2;

const std::vector<std::string> metadata_names{"md.idx", "md.0", "mmd.0"};

std::string record_path(const std::string &directory) { return (fs::path(directory) / "tailrace.json").string(); }

bool is_bp_file(const std::string &name) {
  const auto numbered = [&](const std::string &start) {
    return name.size() > start.size() && name.rfind(start, 0) == 0 &&
           name.find_first_not_of("0123456789", start.size()) == std::string::npos;
  };
  return numbered("data.") || numbered("md.") || numbered("mmd.") || name == "md.idx";
}

/// Whether ADIOS2 or BpRecord write a file of this name into the directory of a series.
bool is_bp_name(const std::string &name) {
  const std::vector<std::string> beside{"tailrace.json", "profiling.json", "active", ".bpversion", "s3.json"};
  return is_bp_file(name) || is_draft_of(name, "tailrace.json") || is_draft_of(name, "md.idx") ||
         std::ranges::find(beside, name) != beside.end();
}

std::string checksum_of(const json &record) {
  const std::string text = valid_json_text(record);
  RunningChecksum sum;
  sum.add(text.data(), text.size());
  return sum.text();
}

void store(const std::string &directory, const json &record, bool sync) {
  const json file{{"version", record_version}, {"checksum", checksum_of(record)}, {"record", record}};
  replace_file(record_path(directory), valid_json_text(file), sync);
}

void check_size(const std::string &directory, const std::string &name, std::uintmax_t expected) {
  const std::string file = (fs::path(directory) / name).string();
  const auto found = bytes_of(file);
  if (!found)
    throw IoError(fmt::format("cannot open {}: {} is missing", directory, file));
  if (std::cmp_less(*found, expected))
    throw IoError(fmt::format("cannot open {}: {} has {} bytes and should have {}", directory, file, *found, expected));
}

void check_sum(const std::string &directory, const std::string &name, std::int64_t bytes, const std::string &expected) {
  if (const std::string found = bp_metadata_sum(directory, name, bytes); found != expected)
    throw IoError(fmt::format("cannot open {}: {} is damaged; its first {} bytes have the checksum {} and should have "
                              "{}. Restore it from a copy",
                              directory, (fs::path(directory) / name).string(), bytes, found, expected));
}

BpRecorded check(const std::string &directory, const json &file) {
  const json &record = file.at("record");
  if (file.at("version") != record_version || file.at("checksum") != checksum_of(record))
    throw IoError(fmt::format("cannot read {}: it is damaged (it differs from its own checksum). Restore it from a "
                              "copy; without it the series opens unchecked",
                              record_path(directory)));
  BpRecorded recorded{attributes_from_json(record.at("attributes")), sizes_from_json(record.at("sizes"))};
  for (const json &named : {record.at("sizes"), record.at("checksums")})
    for (const auto &[name, value] : named.items())
      if (!is_bp_file(name)) // it may lead out of the directory
        throw IoError(fmt::format("cannot read {}: it is damaged (it names '{}', which is no file of a BP series)",
                                  record_path(directory), name));
  for (const auto &[name, size] : recorded.sizes)
    check_size(directory, name, size);
  for (const auto &[name, sum] : record.at("checksums").items())
    check_sum(directory, name, static_cast<std::int64_t>(recorded.sizes.at(name)), sum.get<std::string>());
  return recorded;
}

} // namespace

std::string bp_metadata_sum(const std::string &directory, const std::string &name, std::int64_t bytes) {
  RunningChecksum sum;
  BpMetadata(directory, name, bytes, BpMetadata::much).add(sum, 0, bytes);
  return sum.text();
}

void BpRecord::add(const std::string &name) {
  const auto there = bytes_of((fs::path(directory_) / name).string());
  if (!there)
    return;
  Part &part = parts_[name];
  const std::int64_t bytes = *there;
  if (bytes < part.bytes) { // ADIOS2 has created the file again
    part.sum = RunningChecksum();
    part.bytes = 0;
  }
  BpMetadata(directory_, name, bytes, 0).add(part.sum, part.bytes, bytes);
  part.bytes = bytes;
  const auto told = part.written ? part.written->told() : std::nullopt;
  if (told && (told->bytes != bytes || told->sum != part.sum.text()))
    throw IoError(fmt::format("cannot write {}: it has {} bytes with the checksum {}, and ADIOS2 wrote {} with {}: the "
                              "system has lost some of them. To fix this, write elsewhere",
                              (fs::path(directory_) / name).string(), bytes, part.sum.text(), told->bytes, told->sum));
}

void BpRecord::watch() {
  for (const auto &name : metadata_names) {
    Part &part = parts_[name];
    part.written = std::make_unique<BpWritten>((fs::path(directory_) / name).string(), part.sum, part.bytes);
  }
}

void BpRecord::add_new() {
  for (const auto &name : metadata_names)
    add(name);
}

bool BpRecord::write(const Attributes &attributes) noexcept {
  bool same = false;
  try {
    same = stored_ == attributes;
    json sizes = json::object(), checksums = json::object();
    for (const auto &path : bp_files(directory_))
      sizes[fs::path(path).filename().string()] = fs::file_size(path);
    add_new();
    for (const auto &[name, part] : parts_) {
      if (part.bytes == 0) // BP4 has fewer files
        continue;
      sizes[name] = part.bytes;
      checksums[name] = part.sum.text();
    }
    store(directory_, {{"sizes", sizes}, {"checksums", checksums}, {"attributes", attributes_to_json(attributes)}},
          sync_);
    stored_ = attributes;
  } catch (const std::exception &) {
    if (same) // the record before is right: the files have only grown
      return true;
    remove_bp_record(directory_);
    stored_.reset();
  }
  return stored_.has_value();
}

bool keep_bp_attributes(const std::string &directory, const Attributes &attributes, bool sync) noexcept {
  try {
    store(directory,
          {{"sizes", json::object()}, {"checksums", json::object()}, {"attributes", attributes_to_json(attributes)}},
          sync);
    return true;
  } catch (const std::exception &) {
    remove_bp_record(directory);
    return false;
  }
}

BpRecorded check_bp_record(const std::string &directory) {
  for (const auto &entry : fs::directory_iterator(directory))
    refuse_special(entry.path().string()); // ADIOS2 opens anything
  const std::string path = record_path(directory);
  if (!fs::exists(path))
    return {};
  try {
    return check(directory, parse_json(read_file(path)));
  } catch (const json::exception &error) {
    throw IoError(fmt::format("cannot read {}: it is damaged ({}). Restore it from a copy; without it the series opens "
                              "unchecked",
                              path, error.what()));
  } catch (const std::out_of_range &) { // a checksum without a size
    throw IoError(fmt::format("cannot read {}: it is damaged", path));
  }
}

bool bp_record_covers(const std::string &directory) {
  if (!fs::is_regular_file(record_path(directory)))
    return false;
  try {
    const json file = parse_json(read_file(record_path(directory)));
    const json &record = file.at("record"), &sizes = record.at("sizes"), &checksums = record.at("checksums");
    if (file.at("version") != record_version || file.at("checksum") != checksum_of(record))
      return true;
    return std::ranges::all_of(metadata_names, [&](const std::string &name) {
      const auto size = bytes_of((fs::path(directory) / name).string());
      return !size || (checksums.contains(name) && sizes.contains(name) && sizes.at(name) >= *size);
    });
  } catch (const json::exception &) {
    return true;
  }
}

void check_no_links(const std::string &directory) {
  for (const auto &entry : fs::directory_iterator(directory))
    if (entry.is_symlink())
      throw IoError(fmt::format("cannot write {}: {} is a symbolic link, and what it leads to would be changed. To fix "
                                "this, remove the link, or write elsewhere",
                                directory, entry.path().string()));
}

void check_only_bp(const std::string &directory) {
  check_no_links(directory);
  for (const auto &entry : fs::directory_iterator(directory))
    if (const std::string name = entry.path().filename().string(); !entry.is_regular_file() || !is_bp_name(name))
      throw IoError(
          fmt::format("cannot write {}: it holds {}, which is of no BP series, and ADIOS2 removes everything "
                      "from a directory in which it begins a series. To fix this, write elsewhere, or move it away",
                      directory, entry.path().string()));
}

bool is_empty_bp(const std::string &directory) {
  if (fs::exists(fs::path(directory) / "md.idx"))
    return false;
  const auto empty = [](const fs::directory_entry &entry) {
    return entry.is_regular_file() && is_bp_file(entry.path().filename().string()) && entry.file_size() == 0;
  };
  return std::all_of(fs::directory_iterator(directory), fs::directory_iterator(), empty);
}

std::vector<std::string> bp_files(const std::string &directory) {
  std::vector<std::string> files;
  for (const auto &entry : fs::directory_iterator(directory))
    if (is_bp_file(entry.path().filename().string()))
      files.push_back(entry.path().string());
  return files;
}

void remove_bp_record(const std::string &directory) noexcept { ::unlink(record_path(directory).c_str()); }

} // namespace tailrace::io
