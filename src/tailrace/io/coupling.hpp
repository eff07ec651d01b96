#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// One program of a coupling, as its rank 0 measured it. Seconds of wall time.
struct CouplingSide {
  std::int64_t ranks = 0;
  std::int64_t steps = 0;                     ///< written, or read completely
  double elapsed = 0;                         ///< from the first contact until now or the end
  double compute = 0, wait = 0, transfer = 0; ///< own work; waiting for the other side; transferring steps
  std::string state;                          ///< "open" or "closed"; for a reader also "lost" or "dropped"
  std::string host;
  std::int64_t process = 0;
};

/// The cost of a stream for its writer and its readers. Only rank 0 has these figures.
struct Coupling {
  enum class Role { none, writer, reader };
  Role role = Role::none; ///< none: not a stream, or not rank 0
  CouplingSide own;
  std::vector<CouplingSide> others; ///< a writer's readers, in the order in which they connected; a reader's writer
  std::int64_t dropped = 0;         ///< a writer: steps for which there was no room; a reader: all steps that it missed
  std::int64_t skipped = 0;         ///< steps left out to keep within the `share`
  std::int64_t unread = 0;          ///< steps while there was no reader
};

/// A step that did not go out: "dropped" (there was no room), "skipped" (to keep within the `share`) or "unread" (there
/// was no reader).
struct LeftOut {
  std::int64_t index = 0;
  double time = 0;
  std::string why;
};

} // namespace tailrace::io
