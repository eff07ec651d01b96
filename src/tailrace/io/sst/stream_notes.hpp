#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace tailrace::io {

/// The notes of a stream. Notes while it is open are also printed at once: a simulation may run for days. Local.
class StreamNotes {
public:
  explicit StreamNotes(const OpenRequest &request) : stream_(request.path), notes_(*request.notes) {}

  /// Adds a note, unless it is empty or was added before.
  void tell(const std::string &note, bool at_once = true) {
    if (note.empty() || std::find(told_.begin(), told_.end(), note) != told_.end())
      return;
    told_.push_back(note);
    notes_.push_back(note);
    if (at_once)
      fmt::print(stderr, "tailrace: stream {}: {}\n", stream_, note);
  }

private:
  std::string stream_;
  Notes &notes_;
  std::vector<std::string> told_;
};

} // namespace tailrace::io
