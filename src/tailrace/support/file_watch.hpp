#pragma once

#include <tailrace/support/communicator.hpp>
#include <tailrace/support/watchdog.hpp>

#include <optional>
#include <string>

namespace tailrace {

/// Ends the program, with `why`, when nobody has changed a file for `seconds` while the object lives. For calls of a
/// library in which all ranks write the file, and which may never return when the write fails on one rank. Rank 0
/// watches, if there are other ranks. The time in which the file system does not answer, or in which the program is
/// stopped, does not count. Local.
class FileWatch {
public:
  FileWatch(const Communicator &comm, const std::string &path, double seconds, const std::string &why);

private:
  std::optional<Watchdog> ticks_;
};

} // namespace tailrace
