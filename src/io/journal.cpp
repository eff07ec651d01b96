#include <tailrace/io/journal.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace tailrace::io {

namespace {

// Layout: magic, size of the file, number of pieces; per piece offset, size, bytes; at the end a hash of all before.
constexpr std::int64_t magic = 0x6c6a'6563'6172'6c74; // "tlracejl"

std::string journal_path(const std::string &path) { return path + ".journal"; }

std::int64_t size_of_file(int fd, const std::string &path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0)
    throw file_error("read", path, errno);
  return info.st_size;
}

void append(std::vector<char> &text, const std::int64_t value) {
  const char *bytes = reinterpret_cast<const char *>(&value);
  text.insert(text.end(), bytes, bytes + sizeof value);
}

void restore(const std::string &path, const std::string &journal) {
  const std::string text = read_file(journal);
  const char *at = text.data();
  const auto next = [&at] {
    std::int64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  std::uint64_t sum = 0;
  if (text.size() >= 4 * sizeof sum)
    std::memcpy(&sum, text.data() + text.size() - sizeof sum, sizeof sum);
  if (text.size() < 4 * sizeof sum || sum != XXH64(text.data(), text.size() - sizeof sum, 0) || next() != magic)
    throw IoError(
        fmt::format("cannot restore {}: its journal {} is damaged. To fix this, remove the journal; the file may "
                    "then lack steps or not open",
                    path, journal));
  const Descriptor file(path, O_WRONLY);
  const std::int64_t size = next();
  for (std::int64_t pieces = next(); pieces > 0; --pieces) {
    const std::int64_t offset = next(), length = next();
    write_all(file.get(), at, length, offset, path);
    at += length;
  }
  if (::ftruncate(file.get(), size) != 0 || ::fsync(file.get()) != 0)
    throw file_error("restore", path, errno);
  ::unlink(journal.c_str());
}

} // namespace

Journal::Journal(const std::string &path, const std::map<std::int64_t, std::int64_t> &kept, bool sync) : path_(path) {
  const Descriptor file(path, O_RDONLY);
  const std::int64_t size = size_of_file(file.get(), path);
  std::vector<char> text, pieces;
  std::int64_t count = 0, begin = 0;
  const auto save = [&](std::int64_t end) {
    if (end <= begin)
      return;
    append(pieces, begin);
    append(pieces, end - begin);
    pieces.resize(pieces.size() + static_cast<std::size_t>(end - begin));
    read_all(file.get(), pieces.data() + pieces.size() - (end - begin), end - begin, begin, path);
    ++count;
  };
  for (const auto &[offset, length] : kept) {
    save(std::min(offset, size));
    begin = offset + length;
  }
  save(size);
  append(text, magic);
  append(text, size);
  append(text, count);
  text.insert(text.end(), pieces.begin(), pieces.end());
  append(text, static_cast<std::int64_t>(XXH64(text.data(), text.size(), 0)));

  // Renamed into place, so that a journal is either whole or not there.
  const std::string draft = journal_path(path) + ".tmp";
  journal_ = Descriptor(draft, O_WRONLY | O_CREAT | O_TRUNC);
  ::flock(journal_.get(), LOCK_EX | LOCK_NB);
  try {
    write_all(journal_.get(), text.data(), static_cast<std::int64_t>(text.size()), 0, draft);
    if (sync && ::fsync(journal_.get()) != 0)
      throw file_error("sync", draft, errno);
    if (std::rename(draft.c_str(), journal_path(path).c_str()) != 0)
      throw file_error("create", journal_path(path), errno);
  } catch (const IoError &) {
    ::unlink(draft.c_str());
    throw;
  }
  if (sync)
    sync_parent(path);
}

void Journal::commit() {
  ::unlink(journal_path(path_).c_str());
  journal_ = Descriptor();
}

void Journal::roll_back() {
  restore(path_, journal_path(path_));
  journal_ = Descriptor();
}

void Journal::recover(const std::string &path, double patience) {
  const std::string journal = journal_path(path);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    if (::access(journal.c_str(), F_OK) != 0)
      return;
    const Descriptor left(journal, O_RDONLY);
    if (::flock(left.get(), LOCK_EX | LOCK_NB) == 0) {
      struct stat info{};
      if (::fstat(left.get(), &info) == 0 && info.st_nlink == 0)
        return; // the writer finished between our open and our lock
      return restore(path, journal);
    }
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(patience))
      throw IoError(fmt::format("cannot open {}: another program is writing it (it holds {})", path, journal));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace tailrace::io
