#pragma once

#include <cstdint>

namespace tailrace::io {

/// Makes the kernel send written data to the disk while more data are written, so that a later fsync(2) waits for less;
/// otherwise the kernel starts when fsync is called. Bytes may be written in any order, but ascending is best. Local.
class Writeback {
public:
  explicit Writeback(bool on = false) : on_(on) {} ///< does nothing unless `on`

  /// To be called after [offset, offset + bytes) of the open file `fd` was written. Errors are reported by fsync.
  void wrote(int fd, std::int64_t offset, std::int64_t bytes);

private:
  bool on_;
  std::int64_t begin_ = 0, end_ = 0, waiting_ = 0; ///< range of the data to send, and their size
};

} // namespace tailrace::io
