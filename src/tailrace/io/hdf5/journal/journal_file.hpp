#pragma once

#include <tailrace/io/hdf5/journal/saved_state.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/file_lock.hpp>
#include <tailrace/support/process_identity.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// The open file `<path>.journal`: the writer of the file at `path`, and the bytes to restore if the writer dies now.
/// First a header of one disk sector, then the saved bytes. A journal is a regular file that begins with our mark;
/// symbolic links are not followed, and other files are neither changed nor removed. Local.
class JournalFile {
public:
  /// The journal of the file at `path`, beside the file that a symbolic link leads to.
  static std::string name(const std::string &path);

  /// No journal.
  JournalFile() = default;
  /// Creates it, for this process. Throws IoError when there is one already.
  JournalFile(const std::string &path, bool sync);
  /// Opens an existing one, to write where `to_write`; false when there is none. Throws IoError when what is there is
  /// no journal of ours.
  static JournalFile open(const std::string &path, bool to_write);
  explicit operator bool() const { return static_cast<bool>(fd_); }

  /// The lock that the writer holds as long as it lives.
  Taken lock() const;
  /// The lock of a writer that changes what readers see (F_WRLCK), and of each reader (F_RDLCK); F_UNLCK releases it.
  /// It is on the changed file itself, which must be open: readers may come when there is no writer and no journal.
  static Taken lock_change(const FileDescriptor &file, short kind);

  /// Whether this is still the file of that name.
  bool in_place() const;
  /// Removes the journal, if it is still in place.
  void remove() const noexcept;

  /// Saves a state, or with nullptr discards the saved one. With sync, each part is on the disk before the next.
  void save(const SavedState *state);

  /// Who writes, and a number that grows with each save and discard.
  struct State {
    ProcessIdentity writer;
    std::int64_t changes = 0;
    bool operator==(const State &) const = default;
  };
  State state() const;
  /// What is saved. Throws IoError when it is damaged, or is being written at this moment.
  std::optional<SavedState> saved() const;
  /// `saved` for the open file at `path`: throws IoError too when it belongs to another file or another state of it.
  std::optional<SavedState> saved_of(int file, const std::string &path) const;

private:
  struct Header;
  JournalFile(std::string name, FileDescriptor fd, bool sync)
      : name_(std::move(name)), fd_(std::move(fd)), sync_(sync) {}
  void write(const void *data, std::size_t size, std::size_t offset) const;
  Header header() const;

  std::string name_;
  FileDescriptor fd_;
  bool sync_ = false;
  std::int64_t changes_ = 0;
};

} // namespace tailrace::io
