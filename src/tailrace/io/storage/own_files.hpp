#pragma once

#include <tailrace/support/file_descriptor.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>

namespace tailrace::io {

/// Files that this process writes, to notice that another program has removed, replaced or cut one of them: the system
/// lets us write on into a file without a name, and everything written to it is lost. All local.
class OwnFiles {
public:
  enum class State { open, closed };

  /// Notes a file, again when it has grown. While a file is open it keeps its identity on every file system, so that
  /// another file of the same name is found too.
  void note(const std::string &path, State state);
  /// Notes a file that is open here, also if another has taken its place at `path` already.
  void note(const std::string &path, const FileDescriptor &file);
  /// A file that was noted has at least so many bytes now. Asks nothing, so that it cannot fail.
  void grew(const std::string &path, std::int64_t bytes) noexcept;
  /// Throws IoError if a file is missing, is another one, or is shorter than when it was noted.
  void check() const;

private:
  struct Seen {
    State state = State::open;
    std::uint64_t device = 0, number = 0;
    std::int64_t bytes = 0;
    int error = 0; ///< errno, when it cannot be examined
  };
  static Seen look(const std::string &path, State state);
  static Seen seen(State state, const struct stat &found);
  std::map<std::string, Seen> files_;
};

} // namespace tailrace::io
