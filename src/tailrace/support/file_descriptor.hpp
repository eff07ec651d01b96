#pragma once

#include <tailrace/support/error.hpp>

#include <filesystem>
#include <string>
#include <utility>

namespace tailrace {

/// An error of the system: "cannot write run/ux-1.bin: No space left on device", from `code` (an errno).
IoError file_error(const std::string &verb, const std::string &path, int code);

/// The same of an error of the C++ library, whose texts are none for users.
IoError file_error(const std::filesystem::filesystem_error &error);

/// Throws IoError if there is a named pipe, a socket or a device at `path`: for libraries that open files themselves,
/// because a program that opens a named pipe waits for another program. Local.
void refuse_special(const std::string &path);

/// A file descriptor that closes itself.
class FileDescriptor {
public:
  FileDescriptor() = default;
  /// Opens a regular file or a directory with the flags of open(2), and never waits; `mode`: permissions of a new file,
  /// less the umask. Local. Throws IoError, also for anything else: named pipes, sockets, devices, and with O_NOFOLLOW
  /// symbolic links.
  FileDescriptor(const std::string &path, int flags, int mode = 0666);
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

/// Whether `path` leads to the open file: not when that was removed, or another took its place. Throws IoError when the
/// system does not tell. Local.
bool is_at(const FileDescriptor &file, const std::string &path);

} // namespace tailrace
