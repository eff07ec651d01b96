#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::io {

/// The old bytes of a file that is being changed in place, and the new ones that take their place. While the change is
/// under way, each of these bytes of the file is the old or the new one; a file of which this is not true is another
/// one, or was changed since. Everything here is local.
struct SavedState {
  struct Piece {
    std::vector<char> before, after; ///< of equal size
  };
  std::int64_t end = 0;                 ///< size of the file before the change
  std::map<std::int64_t, Piece> pieces; ///< by offset; they lie before `end` and do not overlap

  /// As it is kept in a journal.
  std::string encoded() const;
  /// The reverse. Throws IoError when pieces do not lie in the file one after another.
  static SavedState decoded(std::string_view text, std::int64_t end);

  /// Whether the open file can be one in which this change is under way.
  bool belongs_to(int file, const std::string &path) const;
  /// Undoes the change in the open file, and returns when that is on the disk.
  void put_back(int file, const std::string &path) const;
};

} // namespace tailrace::io
