#include <tailrace/io/sidecar/foreign_files.hpp>

#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char *key = "strangers";

} // namespace

std::vector<StepLog::Line> earlier_lines(StepLog &log) {
  if (!fs::exists(log.path()))
    return {};
  std::vector<StepLog::Line> lines = log.load().lines;
  if (lines.empty() && read_file(log.path()).find_first_not_of('\0') != std::string::npos) // zeros: of a power failure
    throw IoError(fmt::format("cannot write {}: it is there already, and no line of it is of Tailrace. To fix this, "
                              "write to another directory, or move it away",
                              log.path()));
  return lines;
}

json foreign_files_in(const std::string &directory, const std::vector<StepLog::Line> &earlier) {
  json names = json::array();
  if (!earlier.empty()) {
    for (const auto &name : earlier[0].object.value(key, json::array()))
      if (name.is_string() && is_there((fs::path(directory) / name.get<std::string>()).string()))
        names.push_back(name);
    return names;
  }
  for (const auto &entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; })) // as our names are
      names.push_back(name);
  }
  return names;
}

std::vector<std::string> foreign_files(const std::string &directory) {
  if (!is_directory(directory))
    return {};
  StepLog log((fs::path(directory) / "series.jsonl").string());
  return foreign_files_in(directory, earlier_lines(log)).get<std::vector<std::string>>();
}

void refuse_foreign_file(const json &first_line, const std::string &path) {
  const auto found = first_line.find(key);
  const std::string name = fs::path(path).filename().string();
  if (found == first_line.end() || std::find(found->begin(), found->end(), name) == found->end() || !is_there(path))
    return;
  const FileDescriptor there(path, O_RDONLY | O_NOFOLLOW); // for the error of links and pipes
  throw IoError(fmt::format("cannot write {}: it is there already, and was there before the first series of this "
                            "directory. To fix this, write to another directory, or move it away",
                            path));
}

} // namespace tailrace::io
