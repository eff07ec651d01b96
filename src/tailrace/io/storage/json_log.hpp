#pragma once

#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/types.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::io {

/// `object` as ["checksum", {...}], where the checksum (XXH3, 64 bits) is that of the text of the object. Local.
std::string checked_line(const nlohmann::json &object);
/// The object of such a line. Throws a JSON exception, or std::out_of_range, when the line is not what was written.
nlohmann::json checked_object(std::string_view line);

/// A text file of checked lines that only ever grows. Adding a line costs the same however many there are, and a
/// program killed meanwhile leaves at most a last line that is not complete and does not count. Everything here is
/// local.
class StepLog {
public:
  struct Line {
    std::int64_t offset = 0, length = 0; ///< of the text in the file, without the end of line
    nlohmann::json object;
  };

  explicit StepLog(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  /// Begins a new file, or what is left of an old one, with these objects, in one piece.
  std::vector<Line> replace(const std::vector<nlohmann::json> &objects, bool sync);
  /// Adds a line. When that fails, the file is as before.
  Line append(const nlohmann::json &object, bool sync);

  struct Found {
    std::vector<Line> lines;
    std::vector<std::string> damage; ///< lines that are not what was written, and were left out
    bool cut = false;                ///< the last line is not complete
  };
  /// All of the file. Throws IoError when it cannot be read.
  Found load();
  /// One line again, by the place that `load` or `append` told. Throws IoError when it is damaged.
  nlohmann::json read(std::int64_t offset, std::int64_t length) const;

private:
  std::string path_;
  Descriptor file_;       ///< open to append, once something was
  std::int64_t end_ = -1; ///< of the complete lines
};

} // namespace tailrace::io
