#pragma once

#include <tailrace/io/types.hpp>
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

/// A text file of checked lines that only grows. The cost of adding a line does not depend on their number. A program
/// that is killed meanwhile leaves at most an incomplete last line, which does not count. Everything here is local.
class StepLog {
public:
  struct Line {
    std::int64_t offset = 0, length = 0; ///< of the text in the file, without the end of line
    nlohmann::json object;
  };

  explicit StepLog(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  /// Replaces the file atomically by one with these objects.
  std::vector<Line> replace(const std::vector<nlohmann::json> &objects, bool sync);
  /// Adds a line. When that fails, the file is unchanged.
  Line append(const nlohmann::json &object, bool sync);

  struct Found {
    std::vector<Line> lines;
    std::vector<std::string> damage; ///< messages about damaged lines, which were left out
    bool cut = false;                ///< the last line is incomplete
  };
  /// Reads the whole file. Throws IoError if it cannot be read.
  Found load();
  /// Reads one line again, at the place that `load` or `append` returned. Throws IoError when it is damaged.
  nlohmann::json read(std::int64_t offset, std::int64_t length) const;

private:
  std::string path_;
  FileDescriptor file_;   ///< open from the first append on
  std::int64_t end_ = -1; ///< of the complete lines
};

} // namespace tailrace::io
