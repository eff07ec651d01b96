#include <tailrace/io/hdf5/journal/journal.hpp>

#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/wait_until.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

namespace tailrace::io {

using Life = ProcessIdentity::Life;

namespace {

/// Opens the target of a link; refuses a link that has replaced the target meanwhile.
FileDescriptor open_file(const std::string &path) {
  std::error_code why;
  const std::string found = std::filesystem::canonical(path, why).string();
  if (why)
    throw file_error("open", path, why.value());
  return {found, O_RDWR | O_NOFOLLOW};
}

/// The journal that a dead writer left, now held by this process; nothing when there is none. Throws IoError when the
/// writer still lives after `seconds`. Where the file system has no locks, the writer's own record tells.
JournalFile take_over(const std::string &path, double seconds) {
  JournalFile journal;
  ProcessIdentity writer;
  const bool taken = wait_until(seconds, [&] {
    journal = JournalFile::open(path, true);
    if (!journal)
      return true;
    writer = journal.state().writer;
    const Taken lock = journal.lock();
    const bool lives = lock == Taken::held ||
                       (lock == Taken::unsupported && writer != ProcessIdentity() && writer.life() != Life::dead);
    return !lives && journal.in_place(); // else it was removed after our open
  });
  if (!taken)
    throw IoError(fmt::format("cannot write {}: {} is writing it (it holds {}). To fix this, wait until it ends", path,
                              writer.text(), JournalFile::name(path)));
  return journal;
}

void hold_off(const FileDescriptor &file) {
  wait_until(Journal::patience_with_readers, [&] { return JournalFile::lock_change(file, F_WRLCK) != Taken::held; });
}

} // namespace

Journal::Journal(const std::string &path, bool sync)
    : path_(path), sync_(sync), file_(open_file(path)), journal_(path, sync) {}

Journal::~Journal() {
  if (!saved_)
    journal_.remove();
}

void Journal::save(const std::map<std::int64_t, std::vector<char>> &changes,
                   const std::map<std::int64_t, std::int64_t> &marks, std::int64_t end) {
  SavedState state{end, {}};
  const auto read = [&](std::int64_t offset, std::size_t size) {
    std::vector<char> bytes(size);
    read_all(file_.get(), bytes.data(), static_cast<std::int64_t>(size), offset, path_);
    return bytes;
  };
  for (const auto &[offset, after] : changes)
    state.pieces[offset] = {read(offset, after.size()), after};
  for (const auto &[offset, size] : marks) {
    const auto next = state.pieces.lower_bound(offset);
    const bool changes_here =
        (next != state.pieces.end() && next->first < offset + size) ||
        (next != state.pieces.begin() &&
         std::prev(next)->first + static_cast<std::int64_t>(std::prev(next)->second.before.size()) > offset);
    if (changes_here)
      continue;
    const auto same = read(offset, static_cast<std::size_t>(size));
    state.pieces[offset] = {same, same};
  }
  journal_.save(&state);
  saved_ = std::move(state);
}

void Journal::begin_commit() { hold_off(file_); }

FileDescriptor Journal::hold_off_readers(const std::string &path) {
  if (!std::filesystem::exists(path))
    return {};
  FileDescriptor file = open_file(path);
  hold_off(file);
  return file;
}

void Journal::commit() {
  if (sync_ && ::fsync(file_.get()) != 0)
    throw file_error("sync", path_, errno);
  journal_.save(nullptr);
  saved_.reset();
  JournalFile::lock_change(file_, F_UNLCK);
}

void Journal::roll_back() {
  if (saved_)
    saved_->put_back(file_.get(), path_);
  commit();
}

void Journal::recover(const std::string &path, double seconds) {
  const JournalFile journal = take_over(path, seconds);
  if (!journal)
    return;
  const FileDescriptor file = open_file(path);
  if (const auto saved = journal.saved_of(file.get(), path))
    saved->put_back(file.get(), path);
  journal.remove();
}

void Journal::discard(const std::string &path) {
  if (const JournalFile journal = take_over(path, 0))
    journal.remove();
}

} // namespace tailrace::io
