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

/// Locks the byte of the journal that means "what was there is being changed" (F_WRLCK) or "is being read" (F_RDLCK).
/// False: another has it. Where the file system knows no such locks, nobody can have it.
bool lock_change(int fd, short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool is_removed(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && info.st_nlink == 0;
}

/// Asks again and again until `done` or so many seconds are over. Says whether it was done.
template <class Done> bool wait_until(double seconds, Done done) {
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds))
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

IoError still_written(const std::string &path) {
  return IoError(fmt::format("cannot open {}: another program is writing it (it holds {})", path, journal_path(path)));
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

/// The journal, or nothing when there is none.
Descriptor open_journal(const std::string &path) {
  const std::string journal = journal_path(path);
  for (const int flags : {O_RDWR, O_RDONLY})
    if (const int fd = ::open(journal.c_str(), flags | O_CLOEXEC); fd >= 0)
      return Descriptor(fd);
    else if (errno == ENOENT)
      break;
    else if (flags == O_RDONLY)
      throw file_error("open", journal, errno);
  return {};
}

/// Restores the file when nobody holds its journal. False: somebody does, its writer or one who restores it.
bool recover_from(int journal, const std::string &path) {
  if (::flock(journal, LOCK_EX | LOCK_NB) != 0)
    return false;
  if (is_removed(journal))
    return true; // the writer finished between our open and our lock
  if (!lock_change(journal, F_WRLCK)) {
    ::flock(journal, LOCK_UN);
    return false;
  }
  restore(path, journal_path(path));
  return true;
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
  journal_ = Descriptor(draft, O_RDWR | O_CREAT | O_TRUNC);
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

void Journal::begin_commit() {
  wait_until(2, [&] { return lock_change(journal_.get(), F_WRLCK); });
}

void Journal::recover(const std::string &path, double patience) {
  const bool free = wait_until(patience, [&] {
    const Descriptor journal = open_journal(path);
    return !journal || recover_from(journal.get(), path);
  });
  if (!free)
    throw still_written(path);
}

Journal::Look::Look(const std::string &path, double patience) : path_(path) {
  const bool free = wait_until(patience, [&] {
    journal_ = open_journal(path);
    if (!journal_)
      return true; // no writer, or one that is between two steps
    if (!recover_from(journal_.get(), path))
      return lock_change(journal_.get(), F_RDLCK);
    journal_ = Descriptor();
    return true;
  });
  if (!free)
    throw still_written(path);
}

bool Journal::Look::disturbed() const { return journal_ || ::access(journal_path(path_).c_str(), F_OK) == 0; }

} // namespace tailrace::io
