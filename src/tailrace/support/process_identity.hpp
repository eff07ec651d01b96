#pragma once

#include <cstdint>
#include <string>

namespace tailrace {

/// Which process wrote a record, so that others can tell whether it still lives. A later process with the same number
/// is not taken for it. All functions are local.
struct ProcessIdentity {
  std::string host;       ///< name of the host; empty: not known
  std::int64_t pid = 0;   ///< number of the process on that host
  std::int64_t begun = 0; ///< when it began, in ticks of that host's kernel; 0: not known

  /// unknown: it is on another host, or this host does not show its processes.
  enum class Life { unknown, alive, dead };
  Life life() const;
  /// For messages: "process 12 of this host", "process 12 on node7", "an unknown process".
  std::string text() const;

  bool operator==(const ProcessIdentity &) const = default;
};

/// The identity of this process.
ProcessIdentity this_process();

} // namespace tailrace
