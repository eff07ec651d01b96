#pragma once

#include <tailrace/support/file_descriptor.hpp>

#include <string>

namespace tailrace {

/// The right to write one file or directory, for one process at a time: a lock on the file `<target>.lock`, which says
/// who holds it. The kernel releases the lock when the process ends, also when it is killed; what then remains of the
/// file is no obstacle. The file is removed on release. Local.
///
/// Some file systems have no locks, or locks that hold only within a node (Lustre mounted with localflock, NFS with
/// local_lock). There the file itself counts: a record of a living process of this host, or of any process of another
/// host, is an obstacle, and `note` says what cannot be seen.
class FileLock {
public:
  /// Takes the lock, for which it waits up to three seconds. `target` need not exist. Throws IoError that says who
  /// holds it.
  explicit FileLock(const std::string &target);
  ~FileLock() { release(); }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  /// Gives the right back. A second call does nothing.
  void release() noexcept;

  /// What this lock does not protect from; "" when it protects from all other writers.
  const std::string &note() const { return note_; }

  /// What a mount table (the text of /proc/self/mountinfo) says of the locks at the absolute `path`: true when they
  /// hold between the nodes that share the file system, as far as is known.
  static bool reach_other_nodes(const std::string &path, const std::string &mounts);

private:
  std::string path_, note_;
  FileDescriptor file_;
};

} // namespace tailrace
