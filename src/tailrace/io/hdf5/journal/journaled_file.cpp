#include <tailrace/io/hdf5/journal/journaled_file.hpp>

#include <tailrace/io/hdf5/journal/journaled_driver.hpp>
#include <tailrace/support/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>

namespace tailrace::io {

JournaledFile::JournaledFile(const std::string &path, std::int64_t alignment, bool sync)
    : path_(path), alignment_(alignment), sync_(sync), opened_(path, O_RDONLY) {}

void JournaledFile::check_in_place() const {
  if (!is_at(opened_, path_))
    throw IoError(fmt::format("cannot write {}: it was removed, or replaced by another file, while it was written. To "
                              "fix this, put it back, or begin again under another name",
                              path_));
}

void JournaledFile::begin() {
  check_in_place();
  changing_ = true;
  if (!journal_) {
    Journal::recover(path_, 0); // of a change that could not be taken back, see `discard`
    journal_.emplace(path_, sync_);
  }
  if (!file_)
    file_ = h5::change_file(path_, alignment_);
}

void JournaledFile::commit(const std::map<std::int64_t, std::int64_t> &marks) {
  check_in_place();
  journal_->save(h5::changes(file_, path_), marks, h5::old_end(file_));
  journal_->begin_commit();
  h5::apply(file_);
  journal_->commit();
  changing_ = false;
  h5::trim(file_);
}

void JournaledFile::discard() noexcept {
  changing_ = false;
  h5::discard(file_);
  try {
    if (journal_)
      journal_->roll_back();
  } catch (const IoError &) { // the journal stays, and the next program that writes the file rolls back
  }
  journal_.reset();
}

} // namespace tailrace::io
