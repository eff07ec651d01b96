#include <tailrace/io/hdf5/stable_view.hpp>

#include <tailrace/io/hdf5/journal.hpp>
#include <tailrace/io/hdf5/wait_until.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>

namespace tailrace::io {

namespace {

constexpr double patience = 1; // seconds to wait for the end of a change; then the state before it is read

} // namespace

StableView::StableView(const std::string &path) : path_(path) {
  wait_until(patience, [&] {
    journal_ = JournalFile::open(path, false);
    return !journal_ || journal_.lock(JournalFile::Byte::change, F_RDLCK) != JournalFile::Taken::held;
  });
  if (!journal_)
    return;
  const FileDescriptor file(path, O_RDONLY);
  for (int attempt = 0;; ++attempt) {
    state_ = journal_.state();
    try {
      saved_ = journal_.saved_of(file.get(), path);
      return;
    } catch (const IoError &) { // a writer may have gone on, where locks do not reach it
      if (attempt == 10 || journal_.state() == state_)
        throw;
    }
  }
}

bool StableView::changed() const {
  const JournalFile now = JournalFile::open(path_, false);
  return (now ? now.state() : JournalFile::State()) != state_;
}

bool StableView::expired() const {
  return std::chrono::steady_clock::now() - begin_ > std::chrono::duration<double>(Journal::patience_with_readers);
}

} // namespace tailrace::io
