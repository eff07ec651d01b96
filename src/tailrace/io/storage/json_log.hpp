#pragma once

#include <tailrace/io/storage/own_files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::io {

/// `object` as ["checksum", {...}], where the checksum (XXH3, 64 bits) is that of the text of the object. Local.
std::string checked_line(const nlohmann::json &object);
/// The object of such a line. Throws a JSON exception, or std::out_of_range, when the line is damaged.
nlohmann::json checked_object(std::string_view line);
/// The checksum in such a line that is not damaged.
std::uint64_t sum_in(std::string_view line);

/// A text file of checked lines that only grows. The cost of adding a line does not depend on their number. A program
/// that is killed meanwhile leaves at most an incomplete last line, which does not count. Everything here is local.
class StepLog {
public:
  struct Line {
    std::int64_t offset = 0, length = 0; ///< of the text in the file, without the end of line
    std::uint64_t sum = 0;               ///< its checksum
    nlohmann::json object;
  };

  explicit StepLog(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  /// Replaces the file atomically by one with these objects.
  std::vector<Line> replace(const std::vector<nlohmann::json> &objects, bool sync);
  /// Adds a line. When that fails, the file is unchanged. Throws IoError also if another program has removed, replaced
  /// or cut the file since `replace`, `load` or the last `append`.
  Line append(const nlohmann::json &object, bool sync);

  struct Found {
    std::vector<Line> lines;
    std::vector<std::string> damage; ///< messages about damaged lines, which were left out
  };
  /// Reads the whole file. Throws IoError if it cannot be read.
  Found load();
  /// Reads one line again, which `load` or `append` returned. The file stays open: after another program has replaced
  /// it, the line is still there. Throws IoError when the line is damaged, or is not the one with this checksum.
  nlohmann::json read(std::int64_t offset, std::int64_t length, std::uint64_t sum);
  /// Whether another program has replaced or removed the file since `load` or `read` opened it.
  bool replaced() const;

private:
  std::string path_;
  FileDescriptor file_;   ///< open from `replace` or the first append on
  FileDescriptor read_;   ///< open from the first `load` or `read` on
  std::int64_t end_ = -1; ///< of the complete lines
  bool cut_ = false;      ///< a line of a failed append may be behind `end_`
  OwnFiles own_;
};

} // namespace tailrace::io
