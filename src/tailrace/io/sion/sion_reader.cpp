#include <tailrace/io/sion/container.hpp>
#include <tailrace/io/sion/format.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace tailrace::io {

using namespace sion;

namespace {

/// The number at `from`; `swapped`: its bytes are in the other order.
template <class T> T number_at(const char *from, bool swapped) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (swapped)
    std::reverse(bytes, bytes + sizeof(T));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw IoError(fmt::format("cannot read {}: {}", path, why));
}

std::int64_t size_of_file(int fd, const std::string &path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0)
    throw file_error("read", path, errno);
  if (!S_ISREG(status.st_mode))
    refuse(path, "it is a directory; expected a SION container");
  return status.st_size;
}

} // namespace

struct SionReader::Header {
  bool swapped = false, big_endian_data = false;
  std::int64_t file_bytes = 0, block_bytes = 0, tasks = 0, key_values = 0;
  int files = 0;
};

SionReader::SionReader(const std::string &path) {
  files_.push_back({path, FileDescriptor(path, O_RDONLY | O_NOFOLLOW)});
  const Header first = read_header(0, 0);
  key_value_ = first.key_values == inline_key_values;
  big_endian_data_ = first.big_endian_data;
  std::vector<std::int64_t> places; // file and place in the file of every task, from the tables of the files
  read_tasks(0, first, places);
  for (int number = 1; number < first.files; ++number) {
    const std::string name = SionLayout::file(path, number);
    files_.push_back({name, FileDescriptor(name, O_RDONLY | O_NOFOLLOW)});
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

  // From here to the end of the data, no sum can overflow: each stays below the size of the file.
  const std::int64_t start_of_data = rounded_up(header_bytes + 16 * header.tasks, header.block_bytes);
  std::int64_t skip = 0;
  for (std::size_t task = 0; task < n; ++task) {
    const std::int64_t chunk = number64(n + task);
    if (chunk < 0 || chunk > header.file_bytes - skip)
      refuse(path, fmt::format("task {} has chunks of {} bytes; expected a size that the file of {} bytes can hold",
                               task, chunk, header.file_bytes));
    skip += chunk; // no multiple of the block size: in SIONlib's collective mode tasks share blocks
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
        places.insert(places.end(), {0, -1}); // no mapping: any place in the only file
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
    refuse(path, fmt::format("{} bytes from byte {} of task {} were asked for, and its stream has {}", size, offset,
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
