#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tailrace::io {

/// The series that a new one replaces: set aside under PATH.replaced until the new one has its first step. A record,
/// PATH.replaced.json, exists from before the first renaming until after the last removal, so that the next writer can
/// finish the work of a killed one. All functions are local, for the rank that holds the lock of the series.
class ReplacedSeries {
public:
  explicit ReplacedSeries(const std::string &path, bool sync = false);
  ReplacedSeries(const ReplacedSeries &) = delete;
  ReplacedSeries &operator=(const ReplacedSeries &) = delete;

  /// Whether a program is replacing a series at the path, or was killed while it did.
  bool is_there() const;
  /// Removes the draft of a record, left by a program that was killed while it wrote it.
  void remove_draft() const;
  /// After a program was killed: removes the old series if `begun` returns true, because the new one has a step, and
  /// otherwise puts it back. Throws IoError.
  void finish(const std::function<bool()> &begun);

  /// Renames the file or directory at the path, which must exist. `beside`: the endings of files that belong to it:
  /// PATH.ending, or PATH with the ending in place of its own. Throws IoError; then everything is as before.
  void set_aside(const std::vector<std::string> &beside = {});
  /// Renames these files in the directory at the path; all others stay there.
  void set_aside_in(const std::vector<std::string> &names);
  /// Whether something is set aside.
  bool holds() const { return holds_; }

  /// Removes what is set aside. If something cannot be removed now, the next writer removes it.
  void remove() noexcept;
  /// Puts back what is set aside, in place of the new series; nothing after `remove`. Throws IoError.
  void put_back();
  /// The same after an error, which is the one to tell: if it fails, the next writer puts it back.
  void put_back_if_possible() noexcept;

  /// Where the earlier series is, for a reader: a sentence, or "" if there is none, or if that cannot be examined. It
  /// is added to errors, and must not hide them by one of its own.
  static std::string told(const std::string &path) noexcept;

private:
  struct Move {
    std::string from, to;
  };
  std::vector<Move> moves() const;
  void rename_all();
  void write_record(const char *state) const;
  void read_record(std::string &state);
  void forget();

  std::string path_, aside_, record_;
  bool sync_, holds_ = false;
  bool is_replaced_ = false;                ///< the new series has a step: nothing is put back any more
  std::vector<std::string> beside_, names_; ///< names_: empty when the whole file or directory is set aside
};

} // namespace tailrace::io
