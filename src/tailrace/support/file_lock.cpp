#include <tailrace/support/file_lock.hpp>

#include <tailrace/support/process_identity.hpp>
#include <tailrace/support/wait_until.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

namespace tailrace {

namespace fs = std::filesystem;

namespace {

std::string lock_path(const std::string &target) {
  std::error_code why; // of all names of the target, so that they give one lock
  fs::path clean = fs::absolute(target, why);
  if (!why)
    clean = fs::weakly_canonical(clean, why);
  if (why)
    throw file_error("write", target, why.value());
  if (!clean.has_filename())
    clean = clean.parent_path();
  return clean.string() + ".lock";
}

constexpr double patience = 3; ///< seconds to wait for a holder that is ending

IoError held(const std::string &target, const std::string &lock, const std::string &who, const std::string &fix) {
  return IoError(
      fmt::format("cannot write {}: {} is writing it (it holds {}). To fix this, {}", target, who, lock, fix));
}

/// What a lock file says: who took the lock, and when.
struct Record {
  ProcessIdentity who;
  std::string since;
  std::string text() const { return fmt::format("{} (since {})", who.text(), since); }
};

std::string own_record() {
  const ProcessIdentity own = this_process();
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char since[32] = {};
  std::strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return fmt::format("{} {} {} {}\n", own.pid, own.begun, since, own.host);
}

std::optional<Record> record_in(const FileDescriptor &file) {
  char text[4096];
  const ssize_t size = ::pread(file.get(), text, sizeof text, 0);
  std::istringstream words(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))));
  Record found;
  if (words >> found.who.pid >> found.who.begun >> found.since >> found.who.host)
    return found;
  return std::nullopt;
}

/// Who holds a lock. The holder writes its record just after it took the lock, unless the file is not its own.
std::string wait_for_record(const FileDescriptor &file) {
  std::optional<Record> found;
  const bool told = wait_until(0.2, [&] {
    found = record_in(file);
    return found && found->who.life() != ProcessIdentity::Life::dead;
  });
  return told ? found->text() : "another program";
}

/// Takes the lock, and waits a little for its holder: a program that was killed may still be ending. Only this process
/// itself is not waited for.
Taken take_soon(const FileDescriptor &file, short kind) {
  Taken taken = Taken::held;
  wait_until(patience, [&] {
    taken = take_lock(file, kind);
    const auto found = record_in(file);
    return taken != Taken::held || (found && found->who == this_process());
  });
  return taken;
}

/// `uv.lock` beside an output `uv`.
IoError of_something_else(const std::string &target, const std::string &lock) {
  return IoError(
      fmt::format("cannot write {}: its lock would be {}, and that is a file of something else. To fix this, "
                  "write elsewhere, or move the file away",
                  target, lock));
}

bool is_empty_file(const FileDescriptor &file) {
  struct stat open{};
  return ::fstat(file.get(), &open) == 0 && S_ISREG(open.st_mode) && open.st_size == 0;
}

/// Where the lock itself does not tell: throws if the record in it may be that of a living process.
void check_record(const std::string &target, const std::string &lock, const FileDescriptor &file) {
  const auto found = record_in(file);
  if (!found || found->who.life() == ProcessIdentity::Life::dead)
    return;
  throw held(target, lock, found->text(),
             fmt::format("wait until it ends; if it does not run any more, which cannot be seen from this node on this "
                         "file system, remove {}",
                         lock));
}

std::string read_mounts() {
  std::ifstream file("/proc/self/mountinfo");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file system as a line of the mount table describes it, see proc(5).
struct Mount {
  std::string point, type, options; ///< options: with commas around each
};

Mount mount_in(const std::string &line) {
  std::istringstream words(line);
  Mount found;
  std::string word;
  for (int number = 1; words >> word && word != "-"; ++number) // any number of optional words before the "-"
    if (number == 5)
      found.point = word;
  words >> found.type;
  while (words >> word)
    found.options = "," + word + ",";
  return found;
}

/// Types of file systems that one node uses alone, or whose locks hold on all nodes unless an option says otherwise.
/// BeeGFS, 9p and FUSE are not among them: their options do not tell.
bool has_locks_for_all(const std::string &type) {
  static const std::set<std::string> known{"bcachefs", "btrfs", "exfat", "ext2",    "ext3",  "ext4",     "f2fs",
                                           "fuseblk",  "jfs",   "ntfs3", "overlay", "ramfs", "reiserfs", "rootfs",
                                           "tmpfs",    "ufs",   "vfat",  "xfs",     "zfs", // one node
                                           "ceph",     "gfs2",  "gpfs",  "lustre",  "nfs",   "nfs4",     "ocfs2"};
  return known.contains(type);
}

} // namespace

Taken take_lock(const FileDescriptor &file, short kind, std::int64_t begin, std::int64_t length) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(begin);
  lock.l_len = static_cast<off_t>(length);
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0)
    return Taken::yes;
  return errno == EAGAIN || errno == EACCES ? Taken::held : Taken::unsupported;
}

bool FileLock::reach_other_nodes(const std::string &path, const std::string &mounts) {
  std::istringstream lines(mounts);
  Mount best;
  for (std::string line; std::getline(lines, line);) {
    const Mount mount = mount_in(line);
    const bool above = !mount.point.empty() && path.rfind(mount.point, 0) == 0 &&
                       (mount.point.back() == '/' || path[mount.point.size()] == '/');
    if (above && mount.point.size() >= best.point.size())
      best = mount;
  }
  for (const char *local : {",localflock,", ",nolock,", ",local_lock=all,", ",local_lock=posix,"})
    if (best.options.find(local) != std::string::npos)
      return false;
  return has_locks_for_all(best.type);
}

FileLock::FileLock(const std::string &target) : path_(lock_path(target)), process_(::getpid()) {
  while (!open(target) || !take(target)) { // another program has removed the file meanwhile
  }
  if (!ours_)
    return;
  const std::string record = own_record(); // over the earlier one, so that the file is never empty
  // Without space on the disk the lock holds nevertheless; it then does not say who holds it.
  if (const auto size = static_cast<ssize_t>(record.size());
      ::pwrite(file_.get(), record.data(), record.size(), 0) == size) {
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), size);
  }
}

/// Opens the lock file, or creates it. False: try again. Without a file after that, there can be none, and the note
/// says so.
bool FileLock::open(const std::string &target) {
  constexpr int always = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  only_reads_ = false;
  file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | always, 0666));
  ours_ = static_cast<bool>(file_);
  const int why = errno;
  if (ours_)
    return true;
  if (why == ENAMETOOLONG)
    throw IoError(fmt::format("cannot write {}: the name of its lock, {}, is too long. To fix this, choose a shorter "
                              "name",
                              target, path_));
  file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | always));
  if (!file_ && (errno == EACCES || errno == EROFS)) { // of another user
    only_reads_ = true;
    file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | always));
  }
  if (file_)
    return true;
  if (errno == ELOOP || errno == EISDIR || errno == ENXIO)
    throw of_something_else(target, path_);
  if (why == EEXIST && errno == EACCES)
    throw IoError(fmt::format("cannot write {}: whether another user is writing it cannot be seen, because {} may not "
                              "be read. To fix this, ask its owner to remove it, or to let others read it",
                              target, path_));
  if (why == EEXIST && errno == ENOENT)
    return false;
  note_ = fmt::format("a second writer of {} would not be noticed: {}", target,
                      file_error("open", path_, errno == ENOENT ? why : errno).what());
  return true;
}

/// Takes the lock on the open file. False: the file has lost its name before that, so that the lock counts no more.
bool FileLock::take(const std::string &target) {
  if (!file_)
    return true;
  const Taken taken = take_soon(file_, only_reads_ ? F_RDLCK : F_WRLCK);
  if (taken == Taken::held)
    throw held(target, path_, wait_for_record(file_), "wait until it ends, or write elsewhere");
  if (!ours_ && !is_empty_file(file_) && !record_in(file_))
    throw of_something_else(target, path_);
  const bool reaches = taken == Taken::yes && reach_other_nodes(path_, read_mounts());
  if (!reaches)
    check_record(target, path_, file_);
  try {
    if (!is_at(file_, path_))
      return false;
  } catch (const IoError &) {
    if (taken == Taken::yes) // else another program may hold the file that this one has made
      release();
    throw;
  }
  ours_ = ours_ || (!only_reads_ && record_in(file_));
  if (!reaches)
    note_ =
        fmt::format("the locks of the file system of {} {}: a writer on another node {} would not be noticed", target,
                    taken == Taken::yes ? "may hold within a node only" : "do not work",
                    ours_ ? "that begins at the same moment"
                          : fmt::format("(or on this one, without locks; {} is not ours to say who writes)", path_));
  else if (only_reads_)
    note_ = fmt::format("{} belongs to another user: a third writer that may only read it, as this one, would not be "
                        "noticed. To fix this, remove it while nobody writes",
                        path_);
  return true;
}

void FileLock::release() noexcept {
  try {
    if (ours_ && file_ && process_ == ::getpid() && is_at(file_, path_)) // a copy made by fork does not hold it
      ::unlink(path_.c_str());
  } catch (const IoError &) { // a file that cannot be examined may be another program's; that of ours is no obstacle
  }
  file_ = FileDescriptor();
}

} // namespace tailrace
