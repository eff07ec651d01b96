#pragma once

#include <tailrace/support/file_descriptor.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace tailrace::io {

/// A rollback journal: the old bytes of a file that is being changed in place. It is the file `<path>.journal`, which
/// exists as long as the file has a writer, and keeps others from writing it. It is empty except while old bytes are
/// changed: a crash in such a moment leaves them in the journal, and `recover` restores the file. Everything here is
/// local, for one rank.
class Journal {
public:
  /// From now on the file at `path` has a writer. With `sync`, every later call returns only when its changes are on
  /// the disk.
  Journal(const std::string &path, bool sync);
  /// The writer has finished. A journal that could not be rolled back stays.
  ~Journal();
  Journal(const Journal &) = delete;
  Journal &operator=(const Journal &) = delete;

  /// Saves these bytes of the file (offset -> size). A rollback also cuts the file to `end`.
  void save(const std::map<std::int64_t, std::int64_t> &ranges, std::int64_t end);
  /// To be called before the first of the saved bytes is changed. New readers wait from now on. This waits for present
  /// readers, but for two seconds only: a reader that hangs must not stop the writer.
  void begin_commit();
  /// The change is complete: discards what was saved.
  void commit();
  /// Restores what was saved.
  void roll_back();

  /// Restores the file at `path` when a crash left a journal beside it. Throws IoError when another process is still
  /// writing the file after `patience` seconds.
  static void recover(const std::string &path, double patience);

  /// Keeps a writer from changing what the file at `path` holds as long as the object lives. A writer in the middle of
  /// a step is no obstacle; the end of a step is waited for; what a dead writer left is rolled back.
  class ReadLock {
  public:
    /// Throws IoError as `recover` does.
    ReadLock(const std::string &path, double patience);
    /// There was a writer, or there is one now: what could not be read may be readable under a new lock.
    bool disturbed() const;

  private:
    std::string path_;
    FileDescriptor journal_;
  };

private:
  void write(const void *data, std::size_t size, std::size_t offset);

  std::string path_;
  bool sync_;
  FileDescriptor journal_; ///< locked while it is open, which tells others that the writer lives
  FileDescriptor file_;
  std::string saved_;     ///< pieces, as they are in the journal
  std::int64_t end_ = -1; ///< of the file, while something is saved
};

} // namespace tailrace::io
