#include <tailrace/io/hdf5/journal/stable_view.hpp>

#include <tailrace/io/hdf5/journal/journal.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/wait_until.hpp>

#include <fcntl.h>
#include <sys/stat.h>

namespace tailrace::io {

namespace {

constexpr double patience_of_reader = 1; // seconds to wait for the end of a change; then the state before it is read

} // namespace

StableView::StableView(const std::string &path) : path_(path), file_(path, O_RDONLY) {
  wait_until(patience_of_reader, [&] { return JournalFile::lock_change(file_, F_RDLCK) != Taken::held; });
  stamp_ = stamp_of_file();
  journal_ = JournalFile::open(path, false);
  if (!journal_)
    return;
  for (int attempt = 0;; ++attempt) {
    state_ = journal_.state();
    try {
      saved_ = journal_.saved_of(file_.get(), path);
      stamp_.journal = state_;
      stamp_.settled = !saved_; // the journal counts the changes, however shortly one follows another
      return;
    } catch (const IoError &) { // a writer may have gone on, where locks do not reach it
      if (attempt == 10 || journal_.state() == state_)
        throw;
    }
  }
}

StableView::Stamp StableView::stamp_of_file() const {
  struct stat now = {};
  if (::stat(path_.c_str(), &now) != 0)
    return {};
  return {now.st_ino, now.st_size, now.st_mtim.tv_sec, now.st_mtim.tv_nsec, {}, settled(now)};
}

bool StableView::changed() const {
  const JournalFile now = JournalFile::open(path_, false);
  if (!journal_ && !now)
    return stamp_of_file() != stamp_;
  return (now ? now.state() : JournalFile::State()) != state_;
}

bool StableView::expired() const {
  return std::chrono::steady_clock::now() - begin_ > std::chrono::duration<double>(Journal::patience_with_readers);
}

} // namespace tailrace::io
