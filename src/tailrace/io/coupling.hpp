#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// One program of a coupling, as its rank 0 measured it. Seconds of wall time.
struct CouplingSide {
  std::int64_t ranks = 0;
  std::int64_t steps = 0;                     ///< given to the readers, or read to their end
  double elapsed = 0;                         ///< since the two met, up to now or the end
  double compute = 0, wait = 0, transfer = 0; ///< own work; waiting for the other side; moving steps
  std::string state;                          ///< "open" or "closed"; of a reader also "lost" or "dropped"
  std::string host;
  std::int64_t process = 0;
};

/// What a stream has cost, of both of its ends. Everything is rank 0's; the others know nothing of it.
struct Coupling {
  enum class Role { none, writer, reader };
  Role role = Role::none; ///< none: not a stream, or not rank 0
  CouplingSide own;
  std::vector<CouplingSide> others; ///< of a writer the readers, in the order they came; of a reader the writer
  std::int64_t dropped = 0;         ///< steps for which there was no room; of a reader: all steps that it missed
  std::int64_t skipped = 0;         ///< steps left out to keep to the `share`
  std::int64_t unread = 0;          ///< steps when there was no reader
};

/// A step that did not go out: "dropped" (there was no room), "skipped" (to keep to the `share`) or "unread" (there was
/// no reader).
struct LeftOut {
  std::int64_t index = 0;
  double time = 0;
  std::string why;
};

} // namespace tailrace::io
