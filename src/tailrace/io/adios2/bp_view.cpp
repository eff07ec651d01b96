#include <tailrace/io/adios2/bp_view.hpp>

#include <tailrace/io/adios2/bp_metadata.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr const char *index_name = "md.idx", *metadata_name = "md.0";
constexpr std::int64_t few_bytes = 64 << 10; ///< which are always compared as a whole

std::int64_t size_of_file(const std::string &directory, const char *name) {
  return bytes_of((fs::path(directory) / name).string()).value_or(0);
}

/// What the system says of md.idx; nothing when it is not there. Throws IoError when the system does not tell.
std::optional<struct stat> examine(const std::string &path) {
  struct stat now = {};
  if (::stat(path.c_str(), &now) == 0)
    return now;
  if (errno != ENOENT && errno != ENOTDIR)
    throw file_error("examine", path, errno);
  return std::nullopt;
}

bool same(const struct stat &one, const struct stat &other) {
  return one.st_ino == other.st_ino && one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

} // namespace

// The index first: what it says is complete in the other file.
BpView::BpView(const std::string &directory) : directory_(directory) {
  for (int attempt = 0;; ++attempt) {
    try {
      pin();
      bytes_ = {size_of_file(directory, index_name), size_of_file(directory, metadata_name)};
      find_steps();
      sums_ = sums(places_);
      const auto now = examine((fs::path(directory) / index_name).string());
      if (now && settled(*now))
        seen_ = *now;
      if (inode_ == 0 || (now && now->st_ino == inode_))
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
  index_.reset();
  inode_ = 0;
  if (!examine(path))
    return;
  index_ = std::make_shared<const FileDescriptor>(path, O_RDONLY);
  struct stat now = {};
  inode_ = ::fstat(index_->get(), &now) == 0 ? now.st_ino : 0;
}

/// Finds out where the metadata of each step are.
void BpView::find_steps() {
  places_.clear();
  if (bytes_[0] > 0) {
    std::string index(static_cast<std::size_t>(bytes_[0]), '\0');
    const std::string path = (fs::path(directory_) / index_name).string();
    read_all(FileDescriptor(path, O_RDONLY).get(), index.data(), bytes_[0], 0, path);
    places_ = bp::step_places(index);
  }
  const bool whole = std::ranges::all_of(
      places_, [&](const auto &one) { return one.begin >= 0 && one.begin <= one.end && one.end <= bytes_[1]; });
  if (places_.empty() || !whole)
    places_ = {{0, bytes_[0], 0, bytes_[1]}};
}

/// A checksum for each of the places.
std::vector<std::uint64_t> BpView::sums(std::span<const bp::StepPlace> places) const {
  const std::int64_t ahead = places.size() > 2 ? BpMetadata::much : 0; // two are apart, see compare
  std::optional<BpMetadata> index, metadata;
  if (bytes_[0] > 0)
    index.emplace(directory_, index_name, bytes_[0], ahead);
  if (bytes_[1] > 0)
    metadata.emplace(directory_, metadata_name, bytes_[1], ahead);
  std::vector<std::uint64_t> result;
  result.reserve(places.size());
  for (const auto &place : places) {
    RunningChecksum sum;
    if (index)
      index->add(sum, place.index_begin, place.index_end);
    if (metadata)
      metadata->add(sum, place.begin, place.end);
    result.push_back(sum.number());
  }
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
  result.bytes_ = comm.broadcast(bytes_, 0);
  result.places_ = comm.broadcast(places_, 0);
  result.sums_ = comm.broadcast(sums_, 0);
  result.seen_ = comm.broadcast_value(seen_, 0); // no rank reads what rank 0 has read at rest
  return result;
}

/// Whether the metadata of a step and of the first one, or all of them, are those of before. Throws IoError.
bool BpView::compare(std::size_t number) const {
  if (number >= places_.size())
    return sums(places_) == sums_;
  const std::vector<bp::StepPlace> both{places_.front(), places_[number]};
  return sums(both) == std::vector{sums_.front(), sums_[number]};
}

bool BpView::changed(std::size_t number) const {
  if (directory_.empty())
    return false;
  const auto found = examine((fs::path(directory_) / index_name).string());
  if (!found)
    return bytes_[0] > 0;
  const struct stat &now = *found;
  if (inode_ != 0 && now.st_ino != inode_)
    return true;
  if (same(now, seen_))
    return false;
  if (now.st_size < bytes_[0] || size_of_file(directory_, metadata_name) < bytes_[1])
    return true;
  const bool all = number >= places_.size() || looks_left_ == 0 || bytes_[0] + bytes_[1] <= few_bytes;
  looks_left_ = all ? places_.size() : looks_left_ - 1;
  try {
    if (!compare(all ? everything : number))
      return true;
  } catch (const IoError &) { // a file that another program removes or cuts
    return true;
  }
  if (all && settled(now))
    seen_ = now;
  return false;
}

} // namespace tailrace::io
