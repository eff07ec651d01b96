#pragma once

#include <tailrace/io/types.hpp>
#include <tailrace/support/communicator.hpp>
#include <tailrace/support/error.hpp>

#include <cstdint>
#include <string>

namespace tailrace::io {

/// "cannot write run/ux-1.bin: No space left on device", from `code` (an errno).
IoError file_error(const std::string &verb, const std::string &path, int code);

/// A file descriptor that closes itself.
class Descriptor {
public:
  Descriptor() = default;
  /// Opens with open(2)'s `flags`. Throws IoError.
  Descriptor(const std::string &path, int flags);
  explicit Descriptor(int fd) : fd_(fd) {} ///< owns a descriptor that is already open
  Descriptor(Descriptor &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_ = -1;
};

/// What an engine writes: a file or a directory.
enum class Kind { file, directory };

/// Throws IoError when a series at `path` cannot be opened in `mode`: parent missing, no permission, wrong kind of
/// target, nothing there to read. Local.
void check_target(const std::string &path, Mode mode, Kind kind);

/// Replaces the file at `path` by `text` atomically: readers see the old or the new text, also when the program is
/// killed, and with `sync` also after a power cut. Local.
void replace_file(const std::string &path, const std::string &text, bool sync);
std::string read_file(const std::string &path);

/// Waits until the file or directory at `path` is on the disk. Local.
void sync_path(const std::string &path);
/// sync_path of the directory that holds `path`, so that its name survives a power cut too.
void sync_parent(const std::string &path);

/// Reads or writes all of [data, data + size) at `offset`. Local; throws IoError that names `path`.
void write_all(int fd, const void *data, std::int64_t size, std::int64_t offset, const std::string &path);
void read_all(int fd, void *data, std::int64_t size, std::int64_t offset, const std::string &path);

} // namespace tailrace::io
