#include <tailrace/io/adios2/bp_metadata.hpp>

#include <tailrace/io/storage/files.hpp>

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace {

// Bytes in the header of md.idx that say "a writer is active", of BP4 and of BP5.
constexpr std::int64_t first_flag = 38, last_flag = 39;

} // namespace

bool is_active_flag(std::int64_t start, std::int64_t size) {
  return start >= first_flag && start + size <= last_flag + 1;
}

void add_metadata(RunningChecksum &sum, const std::string &name, const char *data, std::int64_t size,
                  std::int64_t start) {
  constexpr char none = 0;
  std::int64_t done = 0;
  const auto add_up_to = [&](std::int64_t end) {
    if (end > done)
      sum.add(data + done, static_cast<std::size_t>(end - done));
    done = std::max(done, end);
  };
  if (name == "md.idx")
    for (std::int64_t flag = first_flag; flag <= last_flag; ++flag)
      if (flag >= start && flag < start + size) {
        add_up_to(flag - start);
        sum.add(&none, 1);
        ++done;
      }
  add_up_to(size);
}

BpMetadata::BpMetadata(const std::string &directory, const std::string &name, std::int64_t end, std::int64_t ahead)
    : name_(name), path_((std::filesystem::path(directory) / name).string()), end_(end), ahead_(ahead),
      file_(path_, O_RDONLY) {}

void BpMetadata::load(std::int64_t from, std::int64_t wanted) {
  const std::int64_t count = std::min(std::max(wanted, std::min(ahead_, end_ - from)), much);
  piece_.resize(static_cast<std::size_t>(count));
  read_all(file_.get(), piece_.data(), count, from, path_);
  begin_ = from;
}

void BpMetadata::add(RunningChecksum &sum, std::int64_t from, std::int64_t to) {
  while (from < to) {
    const auto known = static_cast<std::int64_t>(piece_.size());
    if (from < begin_ || from >= begin_ + known)
      load(from, to - from);
    const std::int64_t count = std::min(to, begin_ + static_cast<std::int64_t>(piece_.size())) - from;
    add_metadata(sum, name_, piece_.data() + (from - begin_), count, from);
    from += count;
  }
}

} // namespace tailrace::io
