#pragma once

#include <tailrace/support/file_descriptor.hpp>

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

  /// A look at the file at `path`, which keeps a writer from changing what is there while it lasts. A writer that is in
  /// the middle of a step is not in the way, one that ends it is waited for; one that is dead is rolled back.
  class Look {
  public:
    /// Throws IoError as `recover` does.
    Look(const std::string &path, double patience);
    /// There was a writer, or there is one by now: what cannot be read may be there at a second look.
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
