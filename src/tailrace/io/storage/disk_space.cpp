#include <tailrace/io/storage/disk_space.hpp>

#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace::io {

void check_free_space(const std::string &path, std::int64_t bytes, int ranks) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0)
    throw file_error("write", path, errno);
  const std::int64_t needed = bytes + (1 << 20) + std::int64_t{1 << 14} * ranks;
  const auto free = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  if (free < needed)
    throw IoError(fmt::format("{}. The step needs {} bytes, and {} are left", file_error("write", path, ENOSPC).what(),
                              needed, free));
}

void check_file_limit(const std::string &path, std::int64_t size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<rlim_t>(size) > limit.rlim_cur)
    throw file_error("write", path, EFBIG);
}

void preallocate(int fd, const std::string &path, std::int64_t from, std::int64_t bytes) {
  int code = EINTR;
  while (code == EINTR)
    code = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, from, bytes) == 0 ? 0 : errno;
  if (code == ENOSPC || code == EDQUOT || code == EFBIG ||
      code == EIO) // any other: it cannot preallocate, but a write may succeed
    throw file_error("write", path, code);
}

void preallocate(const std::string &path, std::int64_t from, std::int64_t bytes) {
  check_file_limit(path, from + bytes);
  preallocate(FileDescriptor(path, O_WRONLY).get(), path, from, bytes);
}

namespace {
constexpr std::int64_t large = std::int64_t{1} << 20;
} // namespace

void preallocate_large(int fd, const std::string &path, std::int64_t from, std::int64_t bytes) {
  if (bytes >= large)
    preallocate(fd, path, from, bytes);
}

void preallocate_large(const std::string &path, std::int64_t from, std::int64_t bytes) {
  if (bytes >= large)
    preallocate(FileDescriptor(path, O_WRONLY).get(), path, from, bytes);
}

void preallocate_behind(const std::string &path, std::int64_t bytes) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0)
    return preallocate(path, found.st_size, bytes);
  if (errno != ENOENT)
    throw file_error("write", path, errno);
  check_file_limit(path, bytes);
}

void release_preallocated(const std::string &path) noexcept {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0)
    static_cast<void>(!::truncate(path.c_str(), found.st_size)); // at worst the blocks stay allocated
}

} // namespace tailrace::io
