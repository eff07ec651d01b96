#include <tailrace/io/hdf5/journal/journal_file.hpp>

#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr char mark[8] = {'t', 'l', 'r', 'a', 'c', 'e', 'j', '3'};

struct stat status_of(int fd, const std::string &name) {
  struct stat info{};
  if (::fstat(fd, &info) != 0)
    throw file_error("read", name, errno);
  return info;
}

// Locks are on bytes: in the journal, and in the changed file where no file ends.
constexpr std::int64_t writer_lives = 1, change_under_way = std::int64_t{1} << 62;

bool has_mark(const FileDescriptor &file) {
  char first[sizeof mark] = {};
  return ::pread(file.get(), first, sizeof first, 0) > 0 && std::memcmp(first, mark, sizeof mark) == 0;
}

/// Where the count of changes of a new journal begins, so that no two journals of a process have the same.
std::int64_t first_change() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace

/// The first bytes of a journal, written by one call, which a kill does not interrupt. A journal that is empty
/// or has only zeros is one whose writer was killed before it had written this.
struct JournalFile::Header {
  char begin[sizeof mark] = {};
  char host[256] = {};
  std::int64_t pid = 0, begun = 0;
  std::int64_t changes = 0;
  std::int64_t end = -1;  ///< size of the file; -1 when nothing is saved
  std::int64_t bytes = 0; ///< of what is saved
  char unused[200] = {};
  std::uint64_t hash = 0; ///< of what is saved, and of this

  std::uint64_t expected_hash(std::string_view saved) const {
    return XXH64(saved.data(), saved.size(), XXH64(this, offsetof(Header, hash), 0));
  }
};

std::string JournalFile::name(const std::string &path) {
  std::error_code none;
  const std::string target = is_link(path) ? fs::weakly_canonical(path, none).string() : path;
  return (target.empty() ? path : target) + ".journal";
}

JournalFile::JournalFile(const std::string &path, bool sync)
    : name_(name(path)), fd_(::open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)), sync_(sync),
      changes_(first_change()) {
  if (!fd_ && errno != EEXIST)
    throw file_error("create", name_, errno);
  // A program that found the new journal before it was locked takes it for that of a dead writer, and removes it.
  try {
    if (!fd_ || lock() == Taken::held || !in_place())
      throw IoError(fmt::format("cannot write {}: another program has begun to write it ({})", path, name_));
    save(nullptr);
    if (sync)
      sync_parent(name_);
  } catch (...) {
    remove();
    throw;
  }
}

JournalFile JournalFile::open(const std::string &path, bool to_write) {
  const std::string name = JournalFile::name(path);
  FileDescriptor fd(::open(name.c_str(), (to_write ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT)
    return {};
  if (!fd && errno != ELOOP)
    throw file_error("open", name, errno);
  const bool regular = fd && S_ISREG(status_of(fd.get(), name).st_mode);
  // The mark again behind the zeros, of which all must be read: its writer may put it there meanwhile.
  const bool ours = regular && (has_mark(fd) || has_zeros_from(fd, 0, name) || has_mark(fd));
  if (!ours)
    throw IoError(
        fmt::format("cannot open {}: where its journal would be, {} is something else. To fix this, move that "
                    "away",
                    path, name));
  return {name, std::move(fd), false};
}

Taken JournalFile::lock() const { return take_lock(fd_, F_WRLCK, writer_lives, 1); }

Taken JournalFile::lock_change(const FileDescriptor &file, short kind) {
  return take_lock(file, kind, change_under_way, 1);
}

bool JournalFile::in_place() const { return is_at(fd_, name_); }

void JournalFile::remove() const noexcept {
  try {
    if (in_place())
      ::unlink(name_.c_str());
  } catch (const IoError &) { // it stays, as that of a writer that was killed
  }
}

void JournalFile::write(const void *data, std::size_t size, std::size_t offset) const {
  write_all(fd_.get(), data, static_cast<std::int64_t>(size), static_cast<std::int64_t>(offset), name_);
  if (sync_ && ::fsync(fd_.get()) != 0)
    throw file_error("sync", name_, errno);
}

void JournalFile::save(const SavedState *state) {
  const std::string saved = state ? state->encoded() : std::string();
  const ProcessIdentity own = this_process();
  Header header;
  std::copy(std::begin(mark), std::end(mark), header.begin);
  own.host.copy(header.host, sizeof header.host - 1);
  header.pid = own.pid;
  header.begun = own.begun;
  header.changes = ++changes_;
  header.end = state ? state->end : -1;
  header.bytes = static_cast<std::int64_t>(saved.size());
  header.hash = header.expected_hash(saved);
  if (state)
    write(saved.data(), saved.size(), sizeof header);
  write(&header, sizeof header, 0); // after all that it refers to
}

JournalFile::Header JournalFile::header() const {
  Header header;
  if (status_of(fd_.get(), name_).st_size >= static_cast<off_t>(sizeof header))
    read_all(fd_.get(), static_cast<void *>(&header), sizeof header, 0, name_);
  return header;
}

JournalFile::State JournalFile::state() const {
  const Header header = this->header();
  const std::size_t length = ::strnlen(header.host, sizeof header.host);
  return {{{header.host, length}, header.pid, header.begun}, header.changes};
}

std::optional<SavedState> JournalFile::saved() const {
  static_assert(sizeof(Header) == 512);
  const Header header = this->header();
  if (header.begin[0] == 0)
    return std::nullopt;
  const auto room = status_of(fd_.get(), name_).st_size - static_cast<std::int64_t>(sizeof header);
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(header.bytes, 0, room)), '\0');
  read_all(fd_.get(), text.data(), static_cast<std::int64_t>(text.size()), sizeof header, name_);
  try {
    if (header.hash != header.expected_hash(text))
      throw IoError("its checksum is wrong");
    if (header.end < 0)
      return std::nullopt;
    return SavedState::decoded(text, header.end);
  } catch (const IoError &error) {
    throw IoError(
        fmt::format("the journal {} is damaged: {}. To fix this, move the journal away; the file may then lack "
                    "steps or not open",
                    name_, error.what()));
  }
}

std::optional<SavedState> JournalFile::saved_of(int file, const std::string &path) const {
  auto found = saved();
  if (found && !found->belongs_to(file, path))
    throw IoError(fmt::format("the journal {}, left by {}, belongs to another file than {}, or to another state of it; "
                              "nothing was changed. To fix this, bring back the file that the journal belongs to, or "
                              "move the journal away",
                              name_, state().writer.text(), path));
  return found;
}

} // namespace tailrace::io
