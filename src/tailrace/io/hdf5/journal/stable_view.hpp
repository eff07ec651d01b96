#pragma once

#include <tailrace/io/hdf5/journal/journal_file.hpp>
#include <tailrace/io/hdf5/journal/saved_state.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace tailrace::io {

/// The state of a file that a reader sees, whether or not it has a writer: as it is, or during a change, and after a
/// writer has died in it, as it was before. As long as the object lives, a writer does not begin a change, except after
/// Journal::patience_with_readers. Nothing on the disk is changed, so files and directories may be read-only. Local.
class StableView {
public:
  /// Throws IoError when the journal is damaged, or belongs to another file or another state of it.
  explicit StableView(const std::string &path);

  /// What was there before the change; nullptr when the file is to be read as it is.
  const SavedState *saved() const { return saved_ ? &*saved_ : nullptr; }
  /// Whether a writer began or ended a change meanwhile: what was read may be partly old and partly new.
  bool changed() const;
  /// Whether the object has lived for longer than a writer waits for readers: it may have added steps since.
  bool expired() const;

  /// Of the file itself, because a writer that came and went leaves no journal, and of the journal of one that is
  /// there.
  struct Stamp {
    std::uint64_t number = 0;
    std::int64_t bytes = 0, seconds = 0, nanoseconds = 0;
    JournalFile::State journal{};
    bool settled = false; ///< whether any later change gives the file another stamp
    bool operator==(const Stamp &other) const {
      return std::tie(number, bytes, seconds, nanoseconds, journal) ==
             std::tie(other.number, other.bytes, other.seconds, other.nanoseconds, other.journal);
    }
  };
  /// That of the file when this view began.
  const Stamp &seen() const { return stamp_; }

private:
  Stamp stamp_of_file() const;

  std::string path_;
  FileDescriptor file_; ///< holds the lock
  JournalFile journal_;
  JournalFile::State state_;
  Stamp stamp_;
  std::optional<SavedState> saved_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace tailrace::io
