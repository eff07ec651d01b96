#include <tailrace/io/storage/file_array.hpp>

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace tailrace::io {

namespace {

/// Collects pieces of memory that follow each other in the file, so that many rows need one system call.
class RowWriter {
public:
  /// All written bytes are added to `sum` and reported to `writeback`, where these are not null.
  RowWriter(int fd, const std::string &path, RunningChecksum *sum, Writeback *writeback)
      : fd_(fd), path_(path), sum_(sum), writeback_(writeback), most_(sum ? piece_bytes : 8 * piece_bytes) {
    pieces_.reserve(IOV_MAX);
  }

  void add(const char *data, std::int64_t size, std::int64_t offset) {
    // Pieces end at multiples of their size in the file, because the page cache takes such pieces fastest.
    for (std::int64_t done = 0, piece = 0; done < size; done += piece) {
      const std::int64_t begin = offset + done;
      piece = size - done;
      if (piece > most_)
        piece = std::min(piece, (begin + most_ * 3 / 2) / most_ * most_ - begin);
      add_piece(data + done, piece, begin);
    }
  }

  void add_piece(const char *data, std::int64_t size, std::int64_t offset) {
    if (!pieces_.empty() && (offset != end_ || waiting_ + size > most_ || pieces_.size() == IOV_MAX))
      flush(); // before the sum, which would evict the waiting pieces from the processor's cache
    if (sum_)
      sum_->add(data, static_cast<std::size_t>(size));
    if (pieces_.empty())
      begin_ = offset;
    if (!pieces_.empty() && static_cast<char *>(pieces_.back().iov_base) + pieces_.back().iov_len == data)
      pieces_.back().iov_len += static_cast<std::size_t>(size);
    else
      pieces_.push_back({const_cast<char *>(data), static_cast<std::size_t>(size)});
    waiting_ += size;
    end_ = offset + size;
  }

  void flush() {
    std::size_t first = 0;
    while (first < pieces_.size()) {
      const ssize_t done = ::pwritev(fd_, pieces_.data() + first, static_cast<int>(pieces_.size() - first), begin_);
      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        throw file_error("write", path_, done < 0 ? errno : EIO);
      if (writeback_)
        writeback_->wrote(fd_, begin_, done);
      begin_ += done;
      std::size_t left = static_cast<std::size_t>(done);
      for (; first < pieces_.size() && left >= pieces_[first].iov_len; ++first)
        left -= pieces_[first].iov_len;
      if (left > 0) {
        pieces_[first].iov_base = static_cast<char *>(pieces_[first].iov_base) + left;
        pieces_[first].iov_len -= left;
      }
    }
    pieces_.clear();
    waiting_ = 0;
  }

private:
  int fd_;
  const std::string &path_;
  std::vector<iovec> pieces_;
  RunningChecksum *sum_;
  Writeback *writeback_;
  std::int64_t
      most_; ///< bytes in one write, so few that they are still in the cache after the sum, and the disk begins early
  std::int64_t begin_ = 0, end_ = 0, waiting_ = 0;
};

} // namespace

void write_block(int fd, const std::string &path, std::int64_t offset, const Box &whole, const Block &from,
                 Writeback *writeback) {
  const auto &[shape, block, memory] = from.place;
  const auto bytes = static_cast<std::int64_t>(size_of(from.type));
  const char *data = static_cast<const char *>(from.data);
  if (block.empty())
    return;
  RowWriter rows(fd, path, from.checksum, writeback);
  grid::for_each_run(block, whole, memory, [&](std::int64_t to, std::int64_t source, std::int64_t count) {
    rows.add(data + source * bytes, count * bytes, offset + to * bytes);
  });
  rows.flush();
}

void read_part(int fd, const std::string &path, std::int64_t offset, const Box &whole, const Box &part, const Box &box,
               std::size_t size, void *data) {
  const auto bytes = static_cast<std::int64_t>(size);
  grid::for_each_run(part, whole, box, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    read_all(fd, static_cast<char *>(data) + to * bytes, count * bytes, offset + from * bytes, path);
  });
}

void read_box(int fd, const std::string &path, std::int64_t offset, const Index3 &shape, const Box &box,
              std::size_t size, void *data) {
  read_part(fd, path, offset, {{0, 0, 0}, shape}, box, box, size, data);
}

} // namespace tailrace::io
