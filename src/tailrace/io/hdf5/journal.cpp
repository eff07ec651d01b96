#include <tailrace/io/hdf5/journal.hpp>

#include <tailrace/io/storage/files.hpp>

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
#include <string_view>
#include <thread>

namespace tailrace::io {

namespace {

/// The first bytes of a journal; after it come the pieces: offset, size, bytes. It is written after the pieces, by one
/// call, which a kill does not interrupt. When it is all zero or missing, nothing is saved.
struct Header {
  std::int64_t magic = 0;
  std::int64_t end = 0;   ///< size of the file
  std::int64_t bytes = 0; ///< of all pieces
  std::uint64_t hash = 0; ///< of the pieces, with the two above
};
static_assert(sizeof(Header) == 32);
constexpr std::int64_t magic = 0x326a'6563'6172'6c74; // "tlracej2"

Header header_of(std::string_view pieces, std::int64_t end) {
  const auto bytes = static_cast<std::int64_t>(pieces.size());
  return {magic, end, bytes, XXH64(pieces.data(), pieces.size(), static_cast<std::uint64_t>(end ^ bytes))};
}

std::string journal_path(const std::string &path) { return path + ".journal"; }

void append(std::string &text, const std::int64_t value) {
  text.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Locks the byte of the journal that means "what was there is being changed" (F_WRLCK) or "is being read" (F_RDLCK),
/// or releases it (F_UNLCK). False: another process holds it. On a file system without such locks it is always true.
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

/// Calls `done` until it returns true, for at most so many seconds. Returns whether it did.
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

/// Writes pieces back into an open file.
void put_back(std::string_view pieces, std::int64_t end, int file, const std::string &path) {
  const auto next = [&pieces] {
    std::int64_t value = 0;
    std::memcpy(&value, pieces.data(), sizeof value);
    pieces.remove_prefix(sizeof value);
    return value;
  };
  while (!pieces.empty()) {
    const std::int64_t offset = next(), size = next();
    write_all(file, pieces.data(), size, offset, path);
    pieces.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::ftruncate(file, end) != 0 || ::fsync(file) != 0)
    throw file_error("restore", path, errno);
}

/// After the death of a writer: restores the file if something was saved, and removes the journal.
void restore(const std::string &path, const std::string &journal) {
  const std::string text = read_file(journal);
  Header found;
  std::memcpy(static_cast<void *>(&found), text.data(), std::min(text.size(), sizeof found));
  if (found.magic != 0) {
    const std::string_view pieces =
        std::string_view(text).substr(std::min(text.size(), sizeof found), static_cast<std::size_t>(found.bytes));
    const Header expected = header_of(pieces, found.end);
    if (std::memcmp(&found, &expected, sizeof found) != 0)
      throw IoError(
          fmt::format("cannot restore {}: its journal {} is damaged. To fix this, remove the journal; the file may "
                      "then lack steps or not open",
                      path, journal));
    put_back(pieces, found.end, FileDescriptor(path, O_WRONLY).get(), path);
  }
  ::unlink(journal.c_str());
}

/// The journal, or nothing when there is none.
FileDescriptor open_journal(const std::string &path) {
  const std::string journal = journal_path(path);
  for (const int flags : {O_RDWR, O_RDONLY})
    if (const int fd = ::open(journal.c_str(), flags | O_CLOEXEC); fd >= 0)
      return FileDescriptor(fd);
    else if (errno == ENOENT)
      break;
    else if (flags == O_RDONLY)
      throw file_error("open", journal, errno);
  return {};
}

/// Restores the file when no process holds its journal. False: one does, the writer or another that restores it.
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

Journal::Journal(const std::string &path, bool sync) : path_(path), sync_(sync), file_(path, O_RDWR) {
  if (::access(journal_path(path).c_str(), F_OK) == 0)
    throw still_written(path); // created since the last check
  // It is locked before it is renamed, so that others never find it without a lock.
  const std::string draft = journal_path(path) + ".tmp";
  journal_ = FileDescriptor(draft, O_RDWR | O_CREAT | O_TRUNC);
  ::flock(journal_.get(), LOCK_EX | LOCK_NB);
  if (std::rename(draft.c_str(), journal_path(path).c_str()) != 0) {
    const int code = errno;
    ::unlink(draft.c_str());
    throw file_error("create", journal_path(path), code);
  }
  if (sync)
    sync_parent(path);
}

Journal::~Journal() {
  if (end_ < 0 && !is_removed(journal_.get())) // if removed, the file of that name is another writer's
    ::unlink(journal_path(path_).c_str());
}

void Journal::save(const std::map<std::int64_t, std::int64_t> &ranges, std::int64_t end) {
  saved_.clear();
  for (const auto &[offset, size] : ranges) {
    append(saved_, offset);
    append(saved_, size);
    saved_.resize(saved_.size() + static_cast<std::size_t>(size));
    read_all(file_.get(), saved_.data() + saved_.size() - size, size, offset, path_);
  }
  const Header header = header_of(saved_, end);
  write(saved_.data(), saved_.size(), sizeof header);
  write(&header, sizeof header, 0); // after all that it refers to
  end_ = end;
}

void Journal::write(const void *data, std::size_t size, std::size_t offset) {
  const std::string journal = journal_path(path_);
  write_all(journal_.get(), data, static_cast<std::int64_t>(size), static_cast<std::int64_t>(offset), journal);
  if (sync_ && ::fsync(journal_.get()) != 0)
    throw file_error("sync", journal, errno);
}

void Journal::begin_commit() {
  wait_until(2, [&] { return lock_change(journal_.get(), F_WRLCK); });
}

void Journal::commit() {
  const Header nothing;
  write(&nothing, sizeof nothing, 0);
  end_ = -1;
  lock_change(journal_.get(), F_UNLCK);
}

void Journal::roll_back() {
  if (end_ >= 0)
    put_back(saved_, end_, file_.get(), path_);
  commit();
}

void Journal::recover(const std::string &path, double patience) {
  const bool free = wait_until(patience, [&] {
    const FileDescriptor journal = open_journal(path);
    return !journal || recover_from(journal.get(), path);
  });
  if (!free)
    throw still_written(path);
}

Journal::ReadLock::ReadLock(const std::string &path, double patience) : path_(path) {
  const bool free = wait_until(patience, [&] {
    journal_ = open_journal(path);
    if (!journal_)
      return true; // there is no writer
    if (!recover_from(journal_.get(), path))
      return lock_change(journal_.get(), F_RDLCK);
    journal_ = FileDescriptor();
    return true;
  });
  if (!free)
    throw still_written(path);
}

bool Journal::ReadLock::disturbed() const { return journal_ || ::access(journal_path(path_).c_str(), F_OK) == 0; }

} // namespace tailrace::io
