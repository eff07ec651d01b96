#include <tailrace/io/sion_container.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

namespace tailrace::io {

namespace {

constexpr std::int64_t header_bytes = 1088; // and 16 for every task
constexpr std::int64_t ranks_at = 1076;
constexpr std::size_t prefix_bytes = 1024;
constexpr std::int32_t version = 1007, patch_level = 6, format_version = 5; // those of SIONlib 1.7.6
constexpr std::int64_t no_key_values = 50, inline_key_values = 51;
constexpr std::int64_t largest_file = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t buffer_bytes = 1 << 20; // pieces of 8 bytes cost 13 times as much as pieces of 1 MiB

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

template <class T> void append(std::vector<char> &bytes, T value) {
  const char *from = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

/// The number at `from`, whose bytes have the other order when `swapped`.
template <class T> T number_at(const char *from, bool swapped) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (swapped)
    std::reverse(bytes, bytes + sizeof(T));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

} // namespace

// ---- layout ----

SionLayout::SionLayout(std::string path, std::vector<std::int64_t> chunk_bytes, int files, std::int64_t block_bytes,
                       bool key_value)
    : path_(std::move(path)), chunks_(std::move(chunk_bytes)), block_bytes_(block_bytes), files_(files),
      key_value_(key_value) {
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

void SionLayout::create() const {
  for (int number = 0; number < files_; ++number) {
    const int first = first_task(number), end = first_task(number + 1);
    std::vector<char> bytes{'s', 'i', 'o', 'n'};
    bytes.insert(bytes.end(), 4, std::endian::native == std::endian::big);
    for (const std::int32_t value :
         {version, patch_level, format_version, static_cast<std::int32_t>(block_bytes_), end - first, files_, number})
      append(bytes, value);
    append(bytes, (key_value_ ? inline_key_values : no_key_values) << 32);
    append(bytes, std::int64_t{0});
    std::string prefix = std::filesystem::path(path_).filename().string();
    prefix.resize(prefix_bytes);
    prefix.back() = '\0';
    bytes.insert(bytes.end(), prefix.begin(), prefix.end());
    for (std::int64_t task = first; task < end; ++task)
      append(bytes, task);
    for (int task = first; task < end; ++task)
      append(bytes, chunk(task));
    bytes.resize(bytes.size() + 12); // where finish tells how many blocks there are, and where their lengths
    const Descriptor out(file(number), O_WRONLY | O_CREAT | O_TRUNC);
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
    const Descriptor out(file(number), O_WRONLY);
    write_all(out.get(), tail.data(), static_cast<std::int64_t>(tail.size()), at, file(number));
    write_all(out.get(), ends.data(), 12, ranks_at + 16 * static_cast<std::int64_t>(end - first), file(number));
  }
}

// ---- writing a stream ----

SionStream::SionStream(const SionLayout &layout, int task)
    : path_(layout.file(layout.file_of(task))), chunk_(layout.chunk(task)), start_(layout.start(task)),
      skip_(layout.skip(layout.file_of(task))), file_(path_, O_WRONLY) {}

void SionStream::write(const void *data, std::int64_t size) {
  const char *from = static_cast<const char *>(data);
  if (static_cast<std::int64_t>(buffer_.size()) + size > buffer_bytes)
    flush();
  if (size >= buffer_bytes)
    put(from, size);
  else
    buffer_.insert(buffer_.end(), from, from + size);
}

void SionStream::write_pair(std::uint64_t key, const void *data, std::int64_t size) {
  const std::uint64_t head[2] = {key, static_cast<std::uint64_t>(size)};
  write(head, sizeof head);
  write(data, size);
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
  file_ = Descriptor();
  return used_;
}

void SionStream::put(const char *data, std::int64_t size) {
  while (size > 0) {
    if (used_.back() == chunk_)
      used_.push_back(0);
    const std::int64_t part = std::min(size, chunk_ - used_.back());
    write_all(file_.get(), data, part, start_ + static_cast<std::int64_t>(used_.size() - 1) * skip_ + used_.back(),
              path_);
    used_.back() += part, data += part, size -= part;
  }
}

// ---- reading ----

namespace {

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw IoError(fmt::format("cannot read {}: {}", path, why));
}

std::int64_t size_of_file(int fd, const std::string &path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0)
    throw file_error("read", path, errno);
  if (!S_ISREG(status.st_mode))
    refuse(path, "it is no regular file, which a SION container is");
  return status.st_size;
}

} // namespace

struct SionReader::Header {
  bool swapped = false, big_endian_data = false;
  std::int64_t file_bytes = 0, block_bytes = 0, tasks = 0, key_values = 0;
  int files = 0;
};

SionReader::SionReader(const std::string &path) {
  files_.push_back({path, Descriptor(path, O_RDONLY)});
  const Header first = read_header(0, 0);
  key_value_ = first.key_values == inline_key_values;
  big_endian_data_ = first.big_endian_data;
  std::vector<std::int64_t> places; // of every task: its file and its place there, as the tables of the files say
  read_tasks(0, first, places);
  for (int number = 1; number < first.files; ++number) {
    const std::string name = SionLayout::file(path, number);
    files_.push_back({name, Descriptor(name, O_RDONLY)});
    const Header header = read_header(number, first.files);
    if (header.key_values != first.key_values || header.big_endian_data != first.big_endian_data)
      refuse(name, fmt::format("its header does not agree with that of {}", path));
    read_tasks(number, header, places);
  }
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    if (tasks_[task].file < 0)
      refuse(path, fmt::format("no file of the container has the stream of task {}", task));
}

SionReader::Header SionReader::read_header(int number, int expected_files) {
  const auto &[path, descriptor] = files_[static_cast<std::size_t>(number)];
  Header header;
  header.file_bytes = size_of_file(descriptor.get(), path);
  if (header.file_bytes < header_bytes + 16)
    refuse(path,
           fmt::format("it has {} bytes; a SION container has at least {}", header.file_bytes, header_bytes + 16));
  char bytes[52];
  read_all(descriptor.get(), bytes, sizeof bytes, 0, path);
  if (std::memcmp(bytes, "sion", 4) != 0)
    refuse(path, "it does not begin with 'sion', so it is no SION container");
  if (bytes[4] < 0 || bytes[4] > 1 || bytes[5] < 0 || bytes[5] > 1 || bytes[4] != bytes[7] || bytes[5] != bytes[6])
    refuse(path, fmt::format("its byte order is {} {} {} {}; expected zeros (little) and ones (big) in two pairs",
                             int{bytes[4]}, int{bytes[5]}, int{bytes[6]}, int{bytes[7]}));
  header.swapped = (bytes[4] == 1) != (std::endian::native == std::endian::big);
  header.big_endian_data = bytes[5] == 1;
  const auto field = [&](int at) { return number_at<std::int32_t>(bytes + at, header.swapped); };
  if (field(16) != format_version)
    refuse(path, fmt::format("its format version is {}; expected {}", field(16), format_version));
  header.block_bytes = field(20), header.tasks = field(24), header.files = field(28);
  if (header.block_bytes < 1)
    refuse(path, fmt::format("its block size is {} bytes; expected at least 1", header.block_bytes));
  if (header.tasks < 1 || header.tasks > (header.file_bytes - header_bytes) / 16)
    refuse(path, fmt::format("it tells of {} tasks, and its {} bytes have room for 1 to {}", header.tasks,
                             header.file_bytes, (header.file_bytes - header_bytes) / 16));
  if (header.files < 1 || (expected_files > 0 && header.files != expected_files))
    refuse(path, fmt::format("it belongs to a container of {} files; expected {}", header.files,
                             expected_files > 0 ? std::to_string(expected_files) : "at least 1"));
  if (field(32) != number)
    refuse(path, fmt::format("it is file {} of its container; expected file {}. To fix this, open the first file",
                             field(32), number));
  const auto flag = number_at<std::int64_t>(bytes + 36, header.swapped);
  header.key_values = flag >> 32;
  if (header.key_values != no_key_values && header.key_values != inline_key_values)
    refuse(path, fmt::format("its key-value mode is {}; expected {} (none) or {} (inline)", header.key_values,
                             no_key_values, inline_key_values));
  return header;
}

void SionReader::read_tasks(int number, const Header &header, std::vector<std::int64_t> &places) {
  const auto &[path, descriptor] = files_[static_cast<std::size_t>(number)];
  const auto n = static_cast<std::size_t>(header.tasks);
  std::vector<char> bytes(16 * n + 12);
  read_all(descriptor.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()), ranks_at, path);
  const auto number64 = [&](std::size_t index) { return number_at<std::int64_t>(&bytes[8 * index], header.swapped); };
  const auto blocks = number_at<std::int32_t>(&bytes[16 * n], header.swapped);
  const auto lengths_at = number_at<std::int64_t>(&bytes[16 * n + 4], header.swapped);
  if (blocks < 1 || lengths_at <= 0)
    refuse(path, "it was never closed. To fix this, write it again");

  // From here to the end of the data: every sum stays below the size of the file, so none can overflow.
  const std::int64_t start_of_data = rounded_up(header_bytes + 16 * header.tasks, header.block_bytes);
  std::int64_t skip = 0;
  for (std::size_t task = 0; task < n; ++task) {
    const std::int64_t chunk = number64(n + task);
    if (chunk < 0 || chunk % header.block_bytes != 0 || chunk > header.file_bytes - skip)
      refuse(path, fmt::format("task {} has chunks of {} bytes; expected a multiple of the block size {} that the file "
                               "of {} bytes can hold",
                               task, chunk, header.block_bytes, header.file_bytes));
    skip += chunk;
  }
  if (start_of_data > header.file_bytes || (skip > 0 && blocks > (header.file_bytes - start_of_data) / skip))
    refuse(path, fmt::format("it has {} bytes, and {} blocks of {} bytes should follow byte {}: its end is missing",
                             header.file_bytes, blocks, skip, start_of_data));
  if (lengths_at != start_of_data + blocks * skip)
    refuse(path,
           fmt::format("its table of lengths is at byte {}; expected {}", lengths_at, start_of_data + blocks * skip));
  if (blocks > (header.file_bytes - lengths_at) / (8 * header.tasks) - 1)
    refuse(path, fmt::format("it has {} bytes; the lengths of {} tasks in {} blocks should follow byte {}: its end is "
                             "missing",
                             header.file_bytes, n, blocks, lengths_at));
  std::vector<char> table(8 * n * (static_cast<std::size_t>(blocks) + 1));
  read_all(descriptor.get(), table.data(), static_cast<std::int64_t>(table.size()), lengths_at, path);
  const auto entry = [&](std::size_t row, std::size_t task) {
    return number_at<std::int64_t>(&table[8 * (row * n + task)], header.swapped);
  };

  if (number == 0) {
    const std::int64_t mapping_at = lengths_at + static_cast<std::int64_t>(table.size());
    const std::int64_t most = (header.file_bytes - mapping_at - 4) / 8;
    std::int64_t all = header.tasks;
    if (header.files > 1) {
      char count[4];
      read_all(descriptor.get(), count, 4, mapping_at, path);
      all = number_at<std::int32_t>(count, header.swapped);
      if (all < header.files || all < header.tasks || all > most)
        refuse(path, fmt::format("it tells of {} tasks in {} files, and the end of the file has room for {}", all,
                                 header.files, most));
      std::vector<char> pairs(8 * static_cast<std::size_t>(all));
      read_all(descriptor.get(), pairs.data(), static_cast<std::int64_t>(pairs.size()), mapping_at + 4, path);
      for (std::size_t at = 0; at < pairs.size(); at += 4)
        places.push_back(number_at<std::int32_t>(&pairs[at], header.swapped));
    } else {
      for (std::int64_t task = 0; task < all; ++task)
        places.insert(places.end(), {0, -1}); // no mapping: any place of the one file
    }
    tasks_.resize(static_cast<std::size_t>(all));
  }

  std::int64_t start = start_of_data;
  for (std::size_t task = 0; task < n; start += number64(n + task), ++task) {
    const std::int64_t rank = number64(task);
    if (rank < 0 || rank >= tasks() || tasks_[static_cast<std::size_t>(rank)].file >= 0)
      refuse(path,
             fmt::format("its stream {} is that of task {}; expected 0 to {}, each once", task, rank, tasks() - 1));
    const auto place = 2 * static_cast<std::size_t>(rank);
    if (places[place] != number || (header.files > 1 && places[place + 1] != static_cast<std::int64_t>(task)))
      refuse(files_[0].path, fmt::format("it puts task {} at place {} of file {}; {} has it at place {}", rank,
                                         places[place + 1], places[place], path, task));
    const std::int64_t used_blocks = entry(0, task);
    if (used_blocks < 0 || used_blocks > blocks)
      refuse(path, fmt::format("task {} has {} blocks; expected 0 to {}", rank, used_blocks, blocks));
    Task &ours = tasks_[static_cast<std::size_t>(rank)];
    ours.file = number, ours.start = start, ours.skip = skip;
    std::int64_t end = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t used = entry(static_cast<std::size_t>(block) + 1, task);
      const std::int64_t room = block < used_blocks ? number64(n + task) : 0;
      if (used < 0 || used > room)
        refuse(path, fmt::format("task {} uses {} bytes of block {}; expected 0 to {}", rank, used, block, room));
      if (block < used_blocks)
        ours.ends.push_back(end += used);
    }
  }
}

const SionReader::Task &SionReader::task(int number) const {
  if (number < 0 || number >= tasks())
    throw InputError(fmt::format("{} has {} tasks; there is no task {}", files_[0].path, tasks(), number));
  return tasks_[static_cast<std::size_t>(number)];
}

std::int64_t SionReader::size(int number) const {
  const auto &ends = task(number).ends;
  return ends.empty() ? 0 : ends.back();
}

std::vector<std::int64_t> SionReader::used(int number) const {
  std::vector<std::int64_t> result;
  std::int64_t begin = 0;
  for (const std::int64_t end : task(number).ends)
    result.push_back(end - begin), begin = end;
  return result;
}

void SionReader::read(int number, std::int64_t offset, std::int64_t size, void *data) const {
  const auto &[file, start, skip, ends] = task(number);
  const auto &[path, descriptor] = files_[static_cast<std::size_t>(file)];
  if (offset < 0 || size < 0 || offset > this->size(number) - size)
    refuse(path, fmt::format("bytes {} to {} of task {} were asked for, and its stream has {}", offset, offset + size,
                             number, this->size(number)));
  char *to = static_cast<char *>(data);
  auto block = std::upper_bound(ends.begin(), ends.end(), offset);
  for (; size > 0; ++block) {
    const std::int64_t begin = block == ends.begin() ? 0 : *(block - 1);
    const std::int64_t part = std::min(size, *block - offset);
    read_all(descriptor.get(), to, part, start + (block - ends.begin()) * skip + offset - begin, path);
    to += part, offset += part, size -= part;
  }
}

std::vector<SionReader::Pair> SionReader::pairs(int number) const {
  const std::string &path = files_[static_cast<std::size_t>(task(number).file)].path;
  if (!key_value_)
    refuse(path, "its streams are not made of keys and values");
  const bool swapped = big_endian_data_ != (std::endian::native == std::endian::big);
  std::vector<Pair> result;
  for (std::int64_t at = 0, end = size(number); at < end;) {
    char head[16];
    if (end - at < 16)
      refuse(path, fmt::format("the stream of task {} ends within the head of a pair", number));
    read(number, at, 16, head);
    const auto key = number_at<std::uint64_t>(head, swapped), length = number_at<std::uint64_t>(head + 8, swapped);
    if (length > static_cast<std::uint64_t>(end - at - 16))
      refuse(path, fmt::format("a value of task {} has {} bytes, and its stream only {} more", number, length,
                               end - at - 16));
    result.push_back({key, at + 16, static_cast<std::int64_t>(length)});
    at += 16 + static_cast<std::int64_t>(length);
  }
  return result;
}

} // namespace tailrace::io
