#pragma once

#include <cstdint>

namespace tailrace::io {

/// Starts the writeback of a file to the disk while more is being written, for a file that will be synced at the end:
/// otherwise the kernel would start only at fsync(2). Bytes may come in any order, best in that of the file. Local.
class Writeback {
public:
  explicit Writeback(bool on = false) : on_(on) {} ///< if off, it does nothing

  /// [offset, offset + bytes) of the open file `fd` has been written. Errors are reported by the later fsync.
  void wrote(int fd, std::int64_t offset, std::int64_t bytes);

private:
  bool on_;
  std::int64_t begin_ = 0, end_ = 0, waiting_ = 0; ///< range of the bytes that wait, and their number
};

} // namespace tailrace::io
