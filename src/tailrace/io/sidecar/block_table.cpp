#include <tailrace/io/sidecar/block_table.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

namespace tailrace::io {

namespace {

constexpr std::size_t page_rows = 64;
using Entry = std::array<std::int64_t, 7>; // of the directory: the numbers of a block without its place

template <class T> std::int64_t bytes_of(const std::vector<T> &values) {
  return static_cast<std::int64_t>(values.size() * sizeof(T));
}

template <class T> std::uint64_t sum_of(const std::vector<T> &values) {
  RunningChecksum sum;
  sum.add(values.data(), values.size() * sizeof(T));
  return sum.number();
}

Entry entry_of(const Box &around, std::uint64_t sum) {
  const BlockNumbers numbers = numbers_of({0, 0, around, sum});
  Entry entry{};
  std::copy(numbers.begin() + 2, numbers.end(), entry.begin());
  return entry;
}

BlockRow block_of(const Entry &entry) {
  BlockNumbers numbers{};
  std::copy(entry.begin(), entry.end(), numbers.begin() + 2);
  return io::block_of(numbers);
}

/// The smallest box around all boxes of the rows.
Box around(const BlockRow *rows, std::size_t count) {
  Box box = rows[0].box;
  for (std::size_t at = 1; at < count; ++at)
    for (int d = 0; d < 3; ++d) {
      const std::int64_t end = std::max(box.end(d), rows[at].box.end(d));
      box.start[d] = std::min(box.start[d], rows[at].box.start[d]);
      box.count[d] = end - box.start[d];
    }
  return box;
}

std::size_t pages_of(std::int64_t rows) { return (static_cast<std::size_t>(rows) + page_rows - 1) / page_rows; }

} // namespace

nlohmann::json write_table(const FileDescriptor &file, const std::string &path, const BlockRows &rows,
                           std::int64_t &end) {
  std::vector<BlockNumbers> all;
  std::vector<Entry> directory;
  for (std::size_t first = 0; first < rows.size(); first += page_rows) {
    const std::size_t count = std::min(page_rows, rows.size() - first);
    std::vector<BlockNumbers> page;
    std::transform(rows.begin() + static_cast<std::ptrdiff_t>(first),
                   rows.begin() + static_cast<std::ptrdiff_t>(first + count), std::back_inserter(page), numbers_of);
    directory.push_back(entry_of(around(&rows[first], count), sum_of(page)));
    all.insert(all.end(), page.begin(), page.end());
  }
  const nlohmann::json described{end, rows.size(), fmt::format("{:016x}", sum_of(directory))};
  write_all(file.get(), all.data(), bytes_of(all), end, path);
  write_all(file.get(), directory.data(), bytes_of(directory), end + bytes_of(all), path);
  end += bytes_of(all) + bytes_of(directory);
  return described;
}

void check_table(const nlohmann::json &described) {
  const std::int64_t offset = whole_number(described.at(0)), rows = whole_number(described.at(1));
  described.at(2).get_ref<const std::string &>();
  if (offset < 0 || rows < 1 || offset > most_bytes ||
      rows > most_bytes / static_cast<std::int64_t>(sizeof(BlockNumbers)))
    throw IoError(fmt::format("its table of blocks has offset {} and {} rows", offset, rows));
}

BlockTable::BlockTable(const std::string &path, const nlohmann::json &described, VariableInfo variable)
    : path_(path), variable_(std::move(variable)), file_(path, O_RDONLY | O_NOFOLLOW) {
  check_table(described);
  offset_ = whole_number(described.at(0));
  rows_ = whole_number(described.at(1));
  const std::int64_t begin = offset_ + rows_ * static_cast<std::int64_t>(sizeof(BlockNumbers));
  const std::size_t pages = pages_of(rows_);
  struct stat found{};
  if (::fstat(file_.get(), &found) != 0)
    throw file_error("read", path_, errno);
  if (begin + static_cast<std::int64_t>(pages * sizeof(Entry)) > found.st_size) // before memory is taken for it
    throw IoError(fmt::format("cannot read {}: it has {} bytes; expected {} blocks from byte {} on", path_,
                              found.st_size, rows_, offset_));
  std::vector<Entry> directory(pages);
  read_all(file_.get(), directory.data(), bytes_of(directory), begin, path_);
  if (fmt::format("{:016x}", sum_of(directory)) != described.at(2).get_ref<const std::string &>())
    throw IoError(fmt::format("cannot read {}: the directory at byte {} differs from its checksum", path_, begin));
  for (const Entry &entry : directory) {
    const BlockRow page = block_of(entry);
    check_block(page, variable_);
    pages_.push_back({page.box, page.sum});
  }
}

const BlockRows &BlockTable::rows_of(std::size_t page) const {
  if (held_ == page)
    return held_rows_;
  held_.reset();
  held_rows_.clear();
  const std::size_t first = page * page_rows;
  std::vector<BlockNumbers> rows(std::min(page_rows, static_cast<std::size_t>(rows_) - first));
  const std::int64_t begin = offset_ + static_cast<std::int64_t>(first * sizeof(BlockNumbers));
  read_all(file_.get(), rows.data(), bytes_of(rows), begin, path_);
  if (sum_of(rows) != pages_[page].sum)
    throw IoError(fmt::format("cannot read {}: the blocks at byte {} differ from their checksum", path_, begin));
  for (const BlockNumbers &row : rows) {
    held_rows_.push_back(io::block_of(row));
    check_block(held_rows_.back(), variable_);
  }
  held_ = page;
  return held_rows_;
}

/// Adds the blocks of a page that hold points of `box`. Returns how many points those are.
std::int64_t BlockTable::add_from(std::size_t page, const Box &box, BlockRows &found) const {
  std::int64_t points = 0;
  for (const BlockRow &row : rows_of(page))
    if (const Box part = row.box.intersect(box); !part.empty()) {
      found.push_back(row);
      points += part.size();
    }
  return points;
}

BlockRows BlockTable::near(const Box &box) const {
  // Who goes from block to block finds most of them in the page at hand, and need not look at others around it.
  if (BlockRows found; held_ && add_from(*held_, box, found) == box.size())
    return found;
  BlockRows found;
  for (std::size_t page = 0; page < pages_.size(); ++page)
    if (!pages_[page].around.intersect(box).empty())
      add_from(page, box, found);
  return found;
}

} // namespace tailrace::io
