#include <tailrace/io/adios2/bp_view.hpp>

#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/data/checksum.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr const char *index_name = "md.idx", *metadata_name = "md.0";

std::int64_t size_of_file(const std::string &directory, const char *name) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(fs::path(directory) / name, missing);
  return missing ? 0 : static_cast<std::int64_t>(size);
}

bool same(const struct stat &one, const struct stat &other) {
  return one.st_ino == other.st_ino && one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

/// Whether a file changed so long ago that another change would give it another time. The clock of a file system goes
/// in steps of up to 10 ms, of some (FAT) of 2 s.
bool settled(const struct stat &file) {
  struct timespec now = {};
  return ::clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - file.st_mtim.tv_sec > 3;
}

} // namespace

// The index first: what it says is complete in the other file.
BpView::BpView(const std::string &directory) : directory_(directory) {
  for (int attempt = 0;; ++attempt) {
    try {
      pin();
      bytes_ = {size_of_file(directory, index_name), size_of_file(directory, metadata_name)};
      sums_ = sums(directory, bytes_);
      struct stat now = {};
      if (inode_ == 0 || (::stat((fs::path(directory) / index_name).c_str(), &now) == 0 && now.st_ino == inode_))
        return;
      throw IoError(fmt::format("cannot open {}: another program drops its steps again and again", directory));
    } catch (const IoError &) { // a writer may have cut or replaced a file since
      if (attempt == 10)
        throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

/// Opens md.idx, if there is one.
void BpView::pin() {
  const std::string path = (fs::path(directory_) / index_name).string();
  struct stat now = {};
  index_.reset();
  inode_ = 0;
  if (::stat(path.c_str(), &now) != 0)
    return;
  index_ = std::make_shared<const FileDescriptor>(path, O_RDONLY);
  inode_ = ::fstat(index_->get(), &now) == 0 ? now.st_ino : 0;
}

std::string BpView::sums(const std::string &directory, const std::vector<std::int64_t> &bytes) {
  std::string result;
  const std::vector<std::string> names{index_name, metadata_name};
  for (std::size_t file = 0; file < names.size(); ++file)
    if (bytes[file] > 0)
      result += bp_metadata_sum(directory, names[file], bytes[file]);
  return result;
}

BpView BpView::from_root(const Communicator &comm) const {
  BpView result;
  result.directory_ = comm.broadcast(directory_, 0);
  const std::uint64_t inode = comm.broadcast_value(inode_, 0);
  if (comm.rank() == 0)
    result.index_ = index_;
  else
    try {
      if (inode != 0)
        result.pin();
    } catch (const IoError &) { // another program removes it: then it has changed
    }
  result.inode_ = inode;
  result.sums_ = comm.broadcast(sums_, 0);
  result.bytes_ = comm.broadcast(bytes_, 0);
  return result;
}

bool BpView::changed() const {
  if (directory_.empty())
    return false;
  struct stat now = {};
  if (::stat((fs::path(directory_) / index_name).c_str(), &now) != 0)
    return bytes_[0] > 0;
  if (inode_ != 0 && now.st_ino != inode_)
    return true;
  if (same(now, seen_))
    return false;
  if (now.st_size < bytes_[0] || size_of_file(directory_, metadata_name) < bytes_[1])
    return true;
  try {
    if (sums(directory_, bytes_) != sums_)
      return true;
  } catch (const IoError &) { // a file that another program removes or cuts
    return true;
  }
  if (settled(now))
    seen_ = now;
  return false;
}

} // namespace tailrace::io
