#include <tailrace/support/file_lock.hpp>

#include <tailrace/support/process_identity.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>

namespace tailrace {

namespace fs = std::filesystem;

namespace {

enum class Taken { yes, held, unsupported };

/// An open file description's own lock: unlike those of POSIX it also excludes other opens of the same process.
Taken take(int fd) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0)
    return Taken::yes;
  return errno == EAGAIN || errno == EACCES ? Taken::held : Taken::unsupported;
}

std::string lock_path(const std::string &target) {
  fs::path clean = fs::weakly_canonical(fs::absolute(target)); // so that all names of the target give one lock
  if (!clean.has_filename())
    clean = clean.parent_path();
  return clean.string() + ".lock";
}

/// Whether `path` still names the open file: whoever held the lock may have removed it.
bool names(const std::string &path, int fd) {
  struct stat named{}, open{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && named.st_ino == open.st_ino &&
         named.st_dev == open.st_dev;
}

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

std::optional<Record> record_in(int fd) {
  char text[4096];
  const ssize_t size = ::pread(fd, text, sizeof text, 0);
  std::istringstream words(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))));
  Record found;
  if (words >> found.who.pid >> found.who.begun >> found.since >> found.who.host)
    return found;
  return std::nullopt;
}

/// Who holds a lock. The holder writes its record just after it took the lock.
std::string wait_for_record(int fd) {
  for (int attempt = 0; attempt < 40; ++attempt) {
    if (const auto found = record_in(fd))
      return found->text();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return "another program";
}

/// Takes the lock, and waits a little for its holder: a program that was killed may still be ending. Only this process
/// itself is not waited for.
Taken take_soon(int fd) {
  constexpr std::chrono::seconds patience{3};
  const auto end = std::chrono::steady_clock::now() + patience;
  for (Taken taken = take(fd);; taken = take(fd)) {
    const auto found = record_in(fd);
    if (taken != Taken::held || (found && found->who == this_process()) || std::chrono::steady_clock::now() > end)
      return taken;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Throws if the file is of something else: `uv.lock` beside an output `uv`.
void check_ours(const std::string &target, const std::string &lock, int fd) {
  struct stat open{};
  if (::fstat(fd, &open) == 0 && S_ISREG(open.st_mode) && (open.st_size == 0 || record_in(fd)))
    return;
  throw IoError(fmt::format("cannot write {}: its lock would be {}, and that is a file of something else. To fix this, "
                            "write elsewhere, or move the file away",
                            target, lock));
}

/// Where the lock itself does not tell: throws if the record in it may be that of a living process.
void check_record(const std::string &target, const std::string &lock, int fd) {
  const auto found = record_in(fd);
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

} // namespace

bool FileLock::reach_other_nodes(const std::string &path, const std::string &mounts) {
  std::istringstream lines(mounts);
  std::string best, options;
  for (std::string line;
       std::getline(lines, line);) { // proc(5): the fifth word is the mount point, the last the options
    std::istringstream words(line);
    std::string word, point, last;
    for (int number = 1; words >> word; ++number, last = word)
      if (number == 5)
        point = word;
    const bool above = path.rfind(point, 0) == 0 && (point.back() == '/' || path[point.size()] == '/');
    if (!point.empty() && above && point.size() >= best.size())
      best = point, options = "," + last + ",";
  }
  for (const char *local : {",localflock,", ",nolock,", ",local_lock=all,", ",local_lock=posix,"})
    if (options.find(local) != std::string::npos)
      return false;
  return true;
}

FileLock::FileLock(const std::string &target) : path_(lock_path(target)) {
  while (true) {
    const int opened = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (opened < 0) {
      note_ = fmt::format("a second writer of {} would not be noticed: {}", target,
                          file_error("open", path_, errno).what());
      return;
    }
    file_ = FileDescriptor(opened);
    const Taken taken = take_soon(file_.get());
    if (taken == Taken::held)
      throw held(target, path_, wait_for_record(file_.get()), "wait until it ends, or write elsewhere");
    check_ours(target, path_, file_.get());
    const bool reaches = taken == Taken::yes && reach_other_nodes(path_, read_mounts());
    if (!reaches)
      check_record(target, path_, file_.get());
    if (!names(path_, file_.get()))
      continue;
    if (!reaches)
      note_ = fmt::format("the locks of the file system of {} {}: a writer on another node that begins at the same "
                          "moment would not be noticed",
                          target, taken == Taken::yes ? "hold within a node only" : "do not work");
    break;
  }
  const std::string record = own_record();
  // Without space on the disk the lock holds nevertheless; it then does not say who holds it.
  if (::ftruncate(file_.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(file_.get(), record.data(), record.size(), 0);
  }
}

void FileLock::release() noexcept {
  if (file_ && names(path_, file_.get()))
    ::unlink(path_.c_str());
  file_ = FileDescriptor();
}

} // namespace tailrace
