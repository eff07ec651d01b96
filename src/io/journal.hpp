#pragma once

#include <tailrace/io/files.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace tailrace::io {

/// A rollback journal: what a file was before it was changed in place. It lives beside the file as `<path>.journal`
/// while a step is written; a crash leaves it there, and `recover` puts the file back. Everything here is local, for
/// one rank.
class Journal {
public:
  /// Saves all bytes of the file at `path` except `kept` (offset -> size), which the owner promises not to change.
  /// With `sync` the journal is on the disk when this returns.
  Journal(const std::string &path, const std::map<std::int64_t, std::int64_t> &kept, bool sync);
  /// To be called before the first byte of what was there is changed: new readers wait from now on, and those that are
  /// there are waited for, though not for ever: one that hangs must not stop the writer.
  void begin_commit();
  /// The change is complete: the journal goes.
  void commit();
  /// Puts the file back as it was.
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
    Descriptor journal_;
  };

private:
  std::string path_;
  Descriptor journal_; ///< locked while it is open, which tells others that the writer lives
};

} // namespace tailrace::io
