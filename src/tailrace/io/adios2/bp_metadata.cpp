#include <tailrace/io/adios2/bp_metadata.hpp>

#include <tailrace/io/storage/files.hpp>

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace {

// Bytes in the header of md.idx that say "a writer is active", of BP4 and of BP5. No other written bytes change later.
constexpr std::int64_t first_flag = 38, last_flag = 39;

} // namespace

BpMetadata::BpMetadata(const std::string &directory, const std::string &name, std::int64_t end, std::int64_t ahead)
    : path_((std::filesystem::path(directory) / name).string()), index_(name == "md.idx"), end_(end), ahead_(ahead),
      file_(path_, O_RDONLY) {}

void BpMetadata::load(std::int64_t from, std::int64_t wanted) {
  const std::int64_t count = std::min(std::max(wanted, std::min(ahead_, end_ - from)), much);
  piece_.resize(static_cast<std::size_t>(count));
  read_all(file_.get(), piece_.data(), count, from, path_);
  begin_ = from;
  for (std::int64_t flag = first_flag; index_ && flag <= last_flag; ++flag)
    if (flag >= from && flag < from + count)
      piece_[static_cast<std::size_t>(flag - from)] = 0;
}

void BpMetadata::add(RunningChecksum &sum, std::int64_t from, std::int64_t to) {
  while (from < to) {
    const auto known = static_cast<std::int64_t>(piece_.size());
    if (from < begin_ || from >= begin_ + known)
      load(from, to - from);
    const std::int64_t count = std::min(to, begin_ + static_cast<std::int64_t>(piece_.size())) - from;
    sum.add(piece_.data() + (from - begin_), static_cast<std::size_t>(count));
    from += count;
  }
}

} // namespace tailrace::io
