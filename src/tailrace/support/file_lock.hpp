#pragma once

#include <tailrace/support/file_descriptor.hpp>

#include <cstdint>
#include <string>

namespace tailrace {

/// How an attempt to take a lock ended.
enum class Taken { yes, held, unsupported };

/// Takes (F_RDLCK, F_WRLCK) or releases (F_UNLCK) the lock on `length` bytes of a file from `begin` on; length 0: on
/// all. Unlike the locks of POSIX, it also excludes other opens of the same process. Never waits. Local.
Taken take_lock(const FileDescriptor &file, short kind, std::int64_t begin = 0, std::int64_t length = 0);

/// The right to write one file or directory, for one process at a time: a lock on the file `<target>.lock`, which names
/// its holder. The kernel releases the lock when the process ends, also when it is killed; a remaining file is no
/// obstacle. The file is removed on release. An empty file of that name, as flock(1) makes it, is locked too, but
/// neither filled nor removed. Local.
///
/// Some file systems have no locks, or locks that hold only within a node (Lustre mounted with localflock, NFS with
/// local_lock, BeeGFS), or it is not known. There the file itself counts: a record of a living process of this host, or
/// of any process of another host, is an obstacle, and `note` says what cannot be seen.
class FileLock {
public:
  /// Takes the lock, for which it waits up to three seconds. `target` need not exist. Throws IoError that says who
  /// holds it.
  explicit FileLock(const std::string &target);
  ~FileLock() { release(); }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  /// Releases the lock. A second call does nothing.
  void release() noexcept;

  /// A note about writers that this lock does not keep out; "" if it keeps out all.
  const std::string &note() const { return note_; }

  /// What a mount table (the text of /proc/self/mountinfo) says of the locks at the absolute `path`: true when they
  /// are known to hold between the nodes that share the file system, or when no other node shares it.
  static bool reach_other_nodes(const std::string &path, const std::string &mounts);

private:
  bool open(const std::string &target);
  bool take(const std::string &target);

  std::string path_, note_;
  std::int64_t process_; ///< that took it
  FileDescriptor file_;
  bool only_reads_ = false; ///< the file is another user's, and this one may not write it
  bool ours_ = false;       ///< the file is a lock file of ours, so that it is filled and removed
};

} // namespace tailrace
