#pragma once

#include <tailrace/io/hdf5/journal/journal_file.hpp>
#include <tailrace/io/hdf5/journal/saved_state.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// The rollback journal of a file that is changed in place. It is the file `<path>.journal`; it exists while the file
/// has a writer, and keeps other writers out. It has saved bytes only while old bytes are changed: a crash in such a
/// moment leaves them in the journal. The next writer restores the file (`recover`), and until then readers see the old
/// bytes (StableView). Everything here is local, for one rank.
class Journal {
public:
  /// From now on the file at `path` has a writer. With `sync`, every later call returns only when its changes are on
  /// the disk. Throws IoError when there is a journal.
  Journal(const std::string &path, bool sync);
  /// The writer has finished. A journal that could not be rolled back stays.
  ~Journal();
  Journal(const Journal &) = delete;
  Journal &operator=(const Journal &) = delete;

  /// Saves the old bytes where the file will have these bytes (offset -> new bytes), all before `end`. A rollback also
  /// cuts the file to `end`. `marks`: bytes that do not change (offset -> size), by which the journal knows its file.
  void save(const std::map<std::int64_t, std::vector<char>> &changes, const std::map<std::int64_t, std::int64_t> &marks,
            std::int64_t end);
  /// To be called before the first of the saved bytes is changed. New readers wait from now on. This waits for present
  /// readers, but for two seconds only: a reader that hangs must not stop the writer.
  void begin_commit();
  /// The change is complete: discards what was saved.
  void commit();
  /// Restores what was saved.
  void roll_back();

  /// For a program that will write the file at `path`: restores it when a crash left a journal beside it, and removes
  /// the journal. Throws IoError when another process is still writing the file after `seconds`, and when the
  /// journal is damaged or belongs to another file or another state of it; then nothing is changed.
  static void recover(const std::string &path, double seconds);
  /// The same for a program that will replace the whole file: removes the journal without restoring the file.
  static void discard(const std::string &path);

  /// The file at `path`, if it is there, with a lock that its readers wait for; this waits for present readers as
  /// begin_commit does. For a program that replaces the whole file.
  static FileDescriptor hold_off_readers(const std::string &path);

  /// For how many seconds a commit waits for readers.
  static constexpr double patience_with_readers = 2;

private:
  std::string path_;
  bool sync_;
  FileDescriptor file_;
  JournalFile journal_;
  std::optional<SavedState> saved_;
};

} // namespace tailrace::io
