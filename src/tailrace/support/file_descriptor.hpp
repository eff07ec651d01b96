#pragma once

#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <string>
#include <utility>

namespace tailrace {

/// An error of the system: "cannot write run/ux-1.bin: No space left on device", from `code` (an errno).
IoError file_error(const std::string &verb, const std::string &path, int code);

/// A file descriptor that closes itself.
class FileDescriptor {
public:
  FileDescriptor() = default;
  /// Opens with the flags of open(2). Local. Throws IoError.
  FileDescriptor(const std::string &path, int flags);
  /// Owns a descriptor that is open already; -1 for none.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_ = -1;
};

} // namespace tailrace
