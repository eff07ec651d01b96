#pragma once

#include <tailrace/support/communicator.hpp>
#include <tailrace/support/watchdog.hpp>

#include <optional>
#include <string>

namespace tailrace::io {

/// Ends the program, with `why`, when nobody has changed a file for `seconds` while the object lives: for calls of a
/// library in which all ranks write it, and which may not come back when that fails on one of them. Rank 0 watches, if
/// there are others. A file system that does not answer, and a program that is stopped, take no time. Local.
class FileWatch {
public:
  FileWatch(const Communicator &comm, const std::string &path, double seconds, const std::string &why);

private:
  std::optional<Deadline> ticks_;
};

} // namespace tailrace::io
