#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tailrace {

IoError file_error(const std::string &verb, const std::string &path, int code) {
  const char *hint = code == ENOSPC ? ". To fix this, free space or write elsewhere" : "";
  return IoError(fmt::format("cannot {} {}: {}{}", verb, path, std::strerror(code), hint));
}

FileDescriptor::FileDescriptor(const std::string &path, int flags)
    : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (fd_ < 0)
    throw file_error(flags & O_CREAT ? "create" : "open", path, errno);
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0)
    ::close(fd_);
}

} // namespace tailrace
