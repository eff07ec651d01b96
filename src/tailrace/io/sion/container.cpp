#include <tailrace/io/sion/container.hpp>

#include <tailrace/io/sion/format.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <limits>

namespace tailrace::io {

using namespace sion;

namespace {

constexpr std::int64_t largest_file = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t buffer_bytes = 1 << 20; // pieces of 8 bytes cost 13 times as much as pieces of 1 MiB
constexpr std::int64_t large_bytes = 64 << 10; // for this size and more, a call costs less than a copy

template <class T> void append(std::vector<char> &bytes, T value) {
  const char *from = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

} // namespace

// ---- layout ----

SionLayout::SionLayout(std::string path, std::vector<std::int64_t> chunk_bytes, int files, std::int64_t block_bytes)
    : path_(std::move(path)), chunks_(std::move(chunk_bytes)), block_bytes_(block_bytes), files_(files) {
  if (chunks_.empty() || files < 1 || files > tasks())
    throw InputError(fmt::format("{}: {} tasks cannot write {} files", path_, chunks_.size(), files));
  if (block_bytes < 1 || block_bytes > std::numeric_limits<std::int32_t>::max())
    throw InputError(fmt::format("{}: a block size of {} bytes is impossible", path_, block_bytes));
  for (int number = 0; number < files_; ++number) {
    std::int64_t end = start_of_data(number);
    for (int task = first_task(number); task < first_task(number + 1); ++task) {
      auto &chunk = chunks_[static_cast<std::size_t>(task)];
      if (chunk < 0 || chunk > largest_file - end)
        throw InputError(fmt::format("{}: a chunk of {} bytes is impossible", path_, chunk));
      chunk = rounded_up(std::max<std::int64_t>(chunk, 1), block_bytes_);
      starts_.push_back(end);
      end += chunk;
    }
  }
}

int SionLayout::first_task(int file) const {
  return static_cast<int>(static_cast<std::int64_t>(tasks()) * file / files_);
}

int SionLayout::file_of(int task) const {
  int number = 0;
  while (first_task(number + 1) <= task)
    ++number;
  return number;
}

std::string SionLayout::file(const std::string &path, int number) {
  return number == 0 ? path : fmt::format("{}.{:06d}", path, number);
}

std::int64_t SionLayout::start_of_data(int file) const {
  return rounded_up(header_bytes + 16 * (first_task(file + 1) - first_task(file)), block_bytes_);
}

std::int64_t SionLayout::skip(int file) const {
  const int last = first_task(file + 1) - 1;
  return start(last) + chunk(last) - start(first_task(file));
}

void SionLayout::create(const std::function<FileDescriptor(const std::string &path)> &open) const {
  for (int number = 0; number < files_; ++number) {
    const int first = first_task(number), end = first_task(number + 1);
    std::vector<char> bytes{'s', 'i', 'o', 'n'};
    bytes.insert(bytes.end(), 4, std::endian::native == std::endian::big);
    for (const std::int32_t value :
         {version, patch_level, format_version, static_cast<std::int32_t>(block_bytes_), end - first, files_, number})
      append(bytes, value);
    append(bytes, no_key_values << 32);
    append(bytes, std::int64_t{0});
    std::string prefix = std::filesystem::path(path_).filename().string();
    prefix.resize(prefix_bytes);
    prefix.back() = '\0';
    bytes.insert(bytes.end(), prefix.begin(), prefix.end());
    for (std::int64_t task = first; task < end; ++task)
      append(bytes, task);
    for (int task = first; task < end; ++task)
      append(bytes, chunk(task));
    bytes.resize(bytes.size() + 12); // finish writes the number of blocks and the position of their lengths here
    const FileDescriptor out =
        open ? open(file(number)) : FileDescriptor(file(number), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    write_all(out.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()), 0, file(number));
  }
}

void SionLayout::finish(const std::vector<std::vector<std::int64_t>> &used) const {
  if (used.size() != chunks_.size())
    throw InputError(fmt::format("{}: lengths of {} streams for {} tasks", path_, used.size(), chunks_.size()));
  for (int number = files_ - 1; number >= 0; --number) { // the first file last: without it there is no container
    const auto first = static_cast<std::size_t>(first_task(number)),
               end = static_cast<std::size_t>(first_task(number + 1));
    std::size_t blocks = 1;
    std::vector<char> tail;
    for (std::size_t task = first; task < end; ++task) {
      blocks = std::max(blocks, used[task].size());
      append(tail, static_cast<std::int64_t>(used[task].size()));
    }
    if (blocks > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw IoError(fmt::format("cannot write {}: a task wrote {} chunks. To fix this, make the chunks larger",
                                file(number), blocks));
    for (std::size_t block = 0; block < blocks; ++block)
      for (std::size_t task = first; task < end; ++task)
        append(tail, block < used[task].size() ? used[task][block] : std::int64_t{0});
    if (number == 0 && files_ > 1) {
      append(tail, tasks());
      for (int task = 0; task < tasks(); ++task) {
        append(tail, file_of(task));
        append(tail, task - first_task(file_of(task)));
      }
    }
    const std::int64_t at = start_of_data(number) + static_cast<std::int64_t>(blocks) * skip(number);
    std::vector<char> ends;
    append(ends, static_cast<std::int32_t>(blocks));
    append(ends, at);
    const FileDescriptor out(file(number), O_WRONLY);
    write_all(out.get(), tail.data(), static_cast<std::int64_t>(tail.size()), at, file(number));
    write_all(out.get(), ends.data(), 12, ranks_at + 16 * static_cast<std::int64_t>(end - first), file(number));
  }
}

// ---- writing a stream ----

SionStream::SionStream(const std::string &path, const SionPlace &place, bool will_sync)
    : path_(SionLayout::file(path, static_cast<int>(place.file))), chunk_(place.chunk), start_(place.start),
      skip_(place.skip), file_(path_, O_WRONLY), writeback_(will_sync) {}

void SionStream::reserve(std::int64_t size) const {
  auto block = static_cast<std::int64_t>(used_.size()) - 1;
  std::int64_t from = used_.back() + static_cast<std::int64_t>(buffer_.size());
  for (; size > 0; ++block, from -= chunk_)
    if (const std::int64_t part = std::min(size, chunk_ - from); part > 0) {
      preallocate_large(file_.get(), path_, start_ + block * skip_ + from, part);
      from += part, size -= part;
    }
}

void SionStream::write(const void *data, std::int64_t size) {
  const char *from = static_cast<const char *>(data);
  const bool large = size >= large_bytes;
  if (large || static_cast<std::int64_t>(buffer_.size()) + size > buffer_bytes)
    flush();
  if (large)
    put(from, size);
  else
    buffer_.insert(buffer_.end(), from, from + size);
}

void SionStream::next_block() {
  flush();
  used_.push_back(0);
}

void SionStream::flush(bool sync) {
  put(buffer_.data(), static_cast<std::int64_t>(buffer_.size()));
  buffer_.clear();
  if (sync && ::fsync(file_.get()) != 0)
    throw file_error("sync", path_, errno);
}

std::vector<std::int64_t> SionStream::close() {
  flush();
  file_ = FileDescriptor();
  return used_;
}

void SionStream::put(const char *data, std::int64_t size) {
  while (size > 0) {
    if (used_.back() == chunk_)
      used_.push_back(0);
    const std::int64_t part = std::min(size, chunk_ - used_.back());
    const std::int64_t at = start_ + static_cast<std::int64_t>(used_.size() - 1) * skip_ + used_.back();
    write_all(file_.get(), data, part, at, path_);
    writeback_.wrote(file_.get(), at, part);
    used_.back() += part, data += part, size -= part;
  }
}

} // namespace tailrace::io
