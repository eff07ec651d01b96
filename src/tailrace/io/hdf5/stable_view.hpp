#pragma once

#include <tailrace/io/hdf5/journal_file.hpp>
#include <tailrace/io/hdf5/saved_state.hpp>

#include <chrono>
#include <optional>
#include <string>

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
  /// Whether the object has lived for longer than a writer waits for readers. What is read then was found before.
  bool expired() const;

private:
  std::string path_;
  JournalFile journal_;
  JournalFile::State state_;
  std::optional<SavedState> saved_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace tailrace::io
