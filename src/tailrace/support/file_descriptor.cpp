#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tailrace {

IoError file_error(const std::string &verb, const std::string &path, int code) {
  const char *hint = code == ENOSPC ? ". To fix this, free space or write elsewhere" : "";
  return IoError(fmt::format("cannot {} {}: {}{}", verb, path, std::strerror(code), hint));
}

IoError file_error(const std::filesystem::filesystem_error &error) {
  const std::string other = error.path2().empty() ? "" : " and " + error.path2().string();
  return file_error("examine", error.path1().string() + other, error.code().value());
}

namespace {

/// The name of a special file's kind (named pipe, socket, device); null for a regular file or a directory.
const char *special_kind(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFIFO:
    return "a named pipe";
  case S_IFSOCK:
    return "a socket";
  case S_IFCHR:
  case S_IFBLK:
    return "a device";
  default:
    return nullptr;
  }
}

void refuse_special(const std::string &path, mode_t mode) {
  if (const char *kind = special_kind(mode))
    throw IoError(fmt::format("cannot open {}: it is {}; expected a regular file", path, kind));
}

} // namespace

void refuse_special(const std::string &path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0)
    refuse_special(path, status.st_mode);
}

// Without O_NONBLOCK, open would wait at a named pipe until another program opens its other end.
FileDescriptor::FileDescriptor(const std::string &path, int flags, int mode)
    : fd_(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode)) {
  struct stat status{};
  const int code = fd_ < 0 || ::fstat(fd_, &status) != 0 || ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK) != 0 ? errno : 0;
  try {
    if (code == ELOOP && (flags & O_NOFOLLOW))
      throw IoError(fmt::format("cannot open {}: it is a symbolic link; expected a regular file", path));
    if (code == ENXIO) // a socket, or a named pipe that nobody reads
      refuse_special(path);
    if (code != 0)
      throw file_error(flags & O_CREAT ? "create" : "open", path, code);
    refuse_special(path, status.st_mode);
  } catch (...) {
    if (fd_ >= 0)
      ::close(fd_);
    throw;
  }
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0)
    ::close(fd_);
}

bool is_at(const FileDescriptor &file, const std::string &path) {
  struct stat named{}, open{};
  const bool is_there = ::stat(path.c_str(), &named) == 0;
  if (!is_there && (errno == ENOENT || errno == ENOTDIR))
    return false;
  if (!is_there || ::fstat(file.get(), &open) != 0)
    throw file_error("examine", path, errno);
  return named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

} // namespace tailrace
