#include <tailrace/io/storage/writeback.hpp>

#include <fcntl.h>

#include <algorithm>

namespace tailrace::io {

namespace {
constexpr std::int64_t enough = std::int64_t{8} << 20; // bytes: few calls per second, and long extents on the disk
}

void Writeback::wrote(int fd, std::int64_t offset, std::int64_t bytes) {
  if (!on_)
    return;
  begin_ = waiting_ == 0 ? offset : std::min(begin_, offset);
  end_ = waiting_ == 0 ? offset + bytes : std::max(end_, offset + bytes);
  waiting_ += bytes;
  if (waiting_ < enough)
    return;
  ::sync_file_range(fd, begin_, end_ - begin_, SYNC_FILE_RANGE_WRITE);
  waiting_ = 0;
}

} // namespace tailrace::io
