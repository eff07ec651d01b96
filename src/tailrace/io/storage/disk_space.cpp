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

void check_room(const std::string &path, std::int64_t bytes, int ranks) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0)
    throw file_error("write", path, errno);
  const std::int64_t needed = bytes + (1 << 20) + std::int64_t{1 << 14} * ranks;
  const auto room = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  if (room < needed)
    throw IoError(fmt::format("{}. The step needs {} bytes, and {} are left", file_error("write", path, ENOSPC).what(),
                              needed, room));
}

void check_file_limit(const std::string &path, std::int64_t size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<rlim_t>(size) > limit.rlim_cur)
    throw file_error("write", path, EFBIG);
}

void reserve_room(int fd, const std::string &path, std::int64_t from, std::int64_t bytes) {
  int code = EINTR;
  while (code == EINTR)
    code = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, from, bytes) == 0 ? 0 : errno;
  if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO) // else it cannot reserve, and may yet write
    throw file_error("write", path, code);
}

void reserve_room(const std::string &path, std::int64_t from, std::int64_t bytes) {
  check_file_limit(path, from + bytes);
  reserve_room(FileDescriptor(path, O_WRONLY).get(), path, from, bytes);
}

namespace {
constexpr std::int64_t large = std::int64_t{1} << 20;
} // namespace

void reserve_large(int fd, const std::string &path, std::int64_t from, std::int64_t bytes) {
  if (bytes >= large)
    reserve_room(fd, path, from, bytes);
}

void reserve_large(const std::string &path, std::int64_t from, std::int64_t bytes) {
  if (bytes >= large)
    reserve_room(FileDescriptor(path, O_WRONLY).get(), path, from, bytes);
}

void reserve_room_behind(const std::string &path, std::int64_t bytes) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0)
    return reserve_room(path, found.st_size, bytes);
  if (errno != ENOENT)
    throw file_error("write", path, errno);
  check_file_limit(path, bytes);
}

void release_room(const std::string &path) noexcept {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0)
    static_cast<void>(!::truncate(path.c_str(), found.st_size)); // at worst the blocks stay taken
}

} // namespace tailrace::io
