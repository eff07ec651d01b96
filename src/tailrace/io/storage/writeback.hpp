#pragma once

#include <cstdint>

namespace tailrace::io {

/// Sends what is written to a file on its way to the disk while more is being written, where fsync(2) will wait for it
/// in the end: by itself the kernel begins when fsync asks. Bytes may come in any order, best as they lie. Local.
class Writeback {
public:
  explicit Writeback(bool on = false) : on_(on) {} ///< off, it does nothing

  /// [offset, offset + bytes) of the open file `fd` has been written. Errors are left to fsync, which tells them.
  void wrote(int fd, std::int64_t offset, std::int64_t bytes);

private:
  bool on_;
  std::int64_t begin_ = 0, end_ = 0, waiting_ = 0; ///< where there is something to send, and how much
};

} // namespace tailrace::io
