#pragma once

#include <tailrace/io/storage/files.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace tailrace::io {

/// A rollback journal: what a file was before it was changed in place. It lives beside the file as `<path>.journal`
/// as long as the file has a writer, and keeps others from writing it too. It is empty but for the moments in which
/// bytes that were there are changed; a crash in one of them leaves it full, and `recover` puts the file back.
/// Everything here is local, for one rank.
class Journal {
public:
  /// Says that the file at `path` has a writer from now on. With `sync` all that follows is on the disk when it
  /// returns.
  Journal(const std::string &path, bool sync);
  /// The writer is done. A journal that could not be rolled back stays.
  ~Journal();
  Journal(const Journal &) = delete;
  Journal &operator=(const Journal &) = delete;

  /// Keeps these bytes of the file (offset -> size) as they are now. What lies behind `end` goes when it is put back.
  void save(const std::map<std::int64_t, std::int64_t> &ranges, std::int64_t end);
  /// To be called before the first of the saved bytes is changed: new readers wait from now on, and those that are
  /// there are waited for, though not for ever: one that hangs must not stop the writer.
  void begin_commit();
  /// The change is complete: what was saved is forgotten.
  void commit();
  /// Puts back what was saved.
  void roll_back();

  /// Puts the file at `path` back as it was when a crash left a journal beside it. Throws IoError when somebody is
  /// still writing the file after `patience` seconds.
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
    Descriptor journal_;
  };

private:
  void write(const void *data, std::size_t size, std::size_t offset);

  std::string path_;
  bool sync_;
  Descriptor journal_; ///< locked while it is open, which tells others that the writer lives
  Descriptor file_;
  std::string saved_;     ///< pieces, as they are in the journal
  std::int64_t end_ = -1; ///< of the file, while something is saved
};

} // namespace tailrace::io
