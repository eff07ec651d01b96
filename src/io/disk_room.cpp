#include <tailrace/io/disk_room.hpp>

#include <tailrace/io/files.hpp>

#include <fmt/format.h>
#include <sys/statvfs.h>

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

} // namespace tailrace::io
