#include <tailrace/io/shared_file.hpp>

#include <tailrace/io/block.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace tailrace::io {

Transfer transfer_named(const std::string &name) {
  return name == "collective" ? Transfer::collective : Transfer::independent;
}

namespace {

/// Number of the value at global (i, j, k) in an array of extent n, x fastest.
std::int64_t position(const Index3 &n, std::int64_t i, std::int64_t j, std::int64_t k) {
  return i + n[0] * (j + n[1] * k);
}

/// Gathers pieces of memory that follow one another in the file, so that many rows cost one system call.
class RowWriter {
public:
  /// `sum`, where it is not null, is fed with all that is written.
  RowWriter(int fd, const std::string &path, RunningChecksum *sum) : fd_(fd), path_(path), sum_(sum) {
    pieces_.reserve(IOV_MAX);
  }

  void add(const char *data, std::int64_t size, std::int64_t offset) {
    for (std::int64_t done = 0; sum_ && done < size;
         done += piece_bytes) // so that what is summed is still in the cache
      add_piece(data + done, std::min(piece_bytes, size - done), offset + done);
    if (!sum_)
      add_piece(data, size, offset);
  }

  void add_piece(const char *data, std::int64_t size, std::int64_t offset) {
    if (sum_ && waiting_ + size > piece_bytes)
      flush();
    if (sum_)
      sum_->add(data, static_cast<std::size_t>(size));
    waiting_ += size;
    if (!pieces_.empty() && offset == end_) {
      auto &last = pieces_.back();
      if (static_cast<char *>(last.iov_base) + last.iov_len == data) {
        last.iov_len += static_cast<std::size_t>(size);
        end_ += size;
        return;
      }
    } else if (!pieces_.empty()) {
      flush();
      waiting_ = size;
    }
    if (pieces_.size() == IOV_MAX)
      flush();
    if (pieces_.empty())
      begin_ = offset;
    pieces_.push_back({const_cast<char *>(data), static_cast<std::size_t>(size)});
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
  std::int64_t begin_ = 0, end_ = 0, waiting_ = 0;
};

void write_rows(int fd, const std::string &path, std::int64_t offset, const Block &from) {
  const auto &[shape, block, memory] = from.place;
  const auto bytes = static_cast<std::int64_t>(size_of(from.type));
  const char *data = static_cast<const char *>(from.data);
  RowWriter rows(fd, path, from.checksum);
  for (std::int64_t k = block.start[2]; k < block.end(2); ++k)
    for (std::int64_t j = block.start[1]; j < block.end(1); ++j) {
      const std::int64_t row =
          position(memory.count, block.start[0] - memory.start[0], j - memory.start[1], k - memory.start[2]);
      rows.add(data + row * bytes, block.count[0] * bytes, offset + position(shape, block.start[0], j, k) * bytes);
    }
  rows.flush();
}

/// An MPI type for `part` of `whole`; both in the same indices.
MPI_Datatype subarray(const Box &whole, const Box &part, MPI_Datatype item) {
  int sizes[3], counts[3], starts[3];
  for (int d = 0; d < 3; ++d) { // MPI's C order wants the slowest first
    sizes[2 - d] = static_cast<int>(whole.count[d]);
    counts[2 - d] = static_cast<int>(part.count[d]);
    starts[2 - d] = static_cast<int>(part.start[d] - whole.start[d]);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, item, &type), "MPI_Type_create_subarray");
  check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

} // namespace

class SharedFile::MpiFile {
public:
  MpiFile(MPI_Comm comm, const std::string &path) : path_(path) {
    check(MPI_File_open(comm, path.c_str(), MPI_MODE_WRONLY, MPI_INFO_NULL, &file_), "open");
  }
  ~MpiFile() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && file_ != MPI_FILE_NULL)
      MPI_File_close(&file_);
  }
  MpiFile(const MpiFile &) = delete;
  MpiFile &operator=(const MpiFile &) = delete;

  /// Collective in MPI's sense; returns the code so that the caller can agree on it.
  int write(std::int64_t offset, const Placement &place, std::size_t size, const void *data) {
    const MPI_Datatype item = size == 4 ? MPI_FLOAT : MPI_DOUBLE;
    const bool none = place.block.empty();
    // A rank with nothing to write still takes part, with a view of nothing.
    MPI_Datatype in_file = none ? item : subarray({{0, 0, 0}, place.shape}, place.block, item);
    MPI_Datatype in_memory = none ? item : subarray(place.memory, place.block, item);
    int code = MPI_File_set_view(file_, offset, item, in_file, "native", MPI_INFO_NULL);
    if (code == MPI_SUCCESS)
      code = MPI_File_write_at_all(file_, 0, data, none ? 0 : 1, in_memory, MPI_STATUS_IGNORE);
    if (!none) {
      MPI_Type_free(&in_file);
      MPI_Type_free(&in_memory);
    }
    return code;
  }

  void check(int code, const char *verb) const {
    if (code == MPI_SUCCESS)
      return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw IoError(fmt::format("cannot {} {} by MPI-IO: {}", verb, path_, std::string_view(text, length)));
  }

private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

SharedFile::SharedFile(const Communicator &comm, const std::string &path, bool create, Transfer transfer)
    : comm_(comm), path_(path) {
  comm.agree([&] {
    if (create && comm.rank() == 0)
      file_ = Descriptor(path, O_WRONLY | O_CREAT | O_TRUNC);
  });
  comm.agree([&] { // after rank 0 has created it
    if (!file_)
      file_ = Descriptor(path, O_WRONLY);
  });
  if (transfer == Transfer::collective)
    mpi_file_ = std::make_shared<MpiFile>(comm.get(), path);
}

void SharedFile::write(std::int64_t offset, const Block &block) const {
  if (mpi_file_) {
    if (block.checksum)
      add_block(*block.checksum, block.place, size_of(block.type), block.data);
    const int code = mpi_file_->write(offset, block.place, size_of(block.type), block.data);
    comm_->agree([&] { mpi_file_->check(code, "write"); });
    return;
  }
  comm_->agree([&] {
    if (!block.place.block.empty())
      write_rows(file_.get(), path_, offset, block);
  });
}

void SharedFile::sync() const {
  comm_->agree([&] {
    if (file_ && ::fsync(file_.get()) != 0)
      throw file_error("sync", path_, errno);
  });
}

void SharedFile::close() {
  mpi_file_.reset();
  file_ = Descriptor();
}

void read_box(int fd, const std::string &path, std::int64_t offset, const Index3 &shape, const Box &box,
              std::size_t size, void *data) {
  const auto bytes = static_cast<std::int64_t>(size);
  char *to = static_cast<char *>(data);
  // Rows that follow one another in the file are read in one go: whole planes, or the whole box.
  const bool whole_rows = box.count[0] == shape[0], whole_planes = whole_rows && box.count[1] == shape[1];
  const std::int64_t rows = whole_planes ? box.count[1] * box.count[2] : whole_rows ? box.count[1] : 1;
  for (std::int64_t row = 0; row < box.count[1] * box.count[2]; row += rows) {
    const std::int64_t j = box.start[1] + row % box.count[1], k = box.start[2] + row / box.count[1];
    read_all(fd, to, rows * box.count[0] * bytes, offset + position(shape, box.start[0], j, k) * bytes, path);
    to += rows * box.count[0] * bytes;
  }
}

} // namespace tailrace::io
