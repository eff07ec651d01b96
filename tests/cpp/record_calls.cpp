// A library for LD_PRELOAD that records in which order a program changes and syncs files. Each call that changes or
// syncs something below the directory TAILRACE_RECORD_BELOW appends a line to the file TAILRACE_RECORD_TO, after it
// succeeded: the number of the process, the name of the call, the path, and its offset and size or the new path.
// record_calls_until kills the process after so many calls.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <class Function> Function real(const char *name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::string path_of(int fd) {
  char path[PATH_MAX];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return size < 0 ? std::string() : std::string(path, static_cast<std::size_t>(size));
}

std::string absolute(int directory, const char *path) {
  char here[PATH_MAX];
  if (path[0] == '/')
    return path;
  std::string whole = directory != AT_FDCWD ? path_of(directory) : std::string(::getcwd(here, sizeof here));
  whole += '/';
  whole += path;
  return whole;
}

std::atomic<int> calls_left = 0; ///< until the process is killed; 0: never

void record(const char *call, const std::string &path, const std::string &more = {}) {
  static const char *below = std::getenv("TAILRACE_RECORD_BELOW"), *to = std::getenv("TAILRACE_RECORD_TO");
  if (below == nullptr || to == nullptr || path.compare(0, std::strlen(below), below) != 0)
    return;
  static const int log = ::open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const std::string line =
      std::to_string(::getpid()) + "\t" + call + "\t" + path + (more.empty() ? "" : "\t" + more) + "\n";
  static const auto write = real<ssize_t (*)(int, const void *, size_t)>("write");
  [[maybe_unused]] const ssize_t done = write(log, line.data(), line.size()); // one call, so that lines stay whole
  if (calls_left > 0 && --calls_left == 0)
    ::kill(::getpid(), SIGKILL);
}

/// Records a call on a descriptor that returned `result`, and returns that.
template <class Result> Result after(Result result, const char *call, int fd, const std::string &more = {}) {
  if (result >= 0)
    record(call, path_of(fd), more);
  return result;
}

/// Opens by `call`, and records a file that this creates.
template <class Open> int open_and_record(int directory, const char *path, int flags, Open call) {
  const bool there = (flags & O_CREAT) == 0 || ::faccessat(directory, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  const int fd = call();
  return there ? fd : after(fd, "create", fd);
}

std::string range(off_t offset, ssize_t size) { return std::to_string(offset) + "\t" + std::to_string(size); }

} // namespace

extern "C" {

void record_calls_until(int calls) { calls_left = calls; }

int open64(const char *path, int flags, ...) {
  static const auto call = real<int (*)(const char *, int, mode_t)>("open64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t); // not given without O_CREAT, and then not used
  va_end(more);
  return open_and_record(AT_FDCWD, path, flags, [&] { return call(path, flags, mode); });
}

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open64(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size) {
  static const auto call = real<ssize_t (*)(int, const void *, size_t)>("write");
  return after(call(fd, data, size), "write", fd);
}

ssize_t writev(int fd, const iovec *parts, int count) {
  static const auto call = real<ssize_t (*)(int, const iovec *, int)>("writev");
  return after(call(fd, parts, count), "write", fd);
}

int mkdir(const char *path, mode_t mode) noexcept {
  static const auto call = real<int (*)(const char *, mode_t)>("mkdir");
  const int result = call(path, mode);
  if (result == 0)
    record("create", absolute(AT_FDCWD, path));
  return result;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  static const auto call = real<ssize_t (*)(int, const void *, size_t, off64_t)>("pwrite64");
  const ssize_t done = call(fd, data, size, offset);
  return after(done, "write", fd, range(offset, done));
}

ssize_t pwritev64(int fd, const iovec *parts, int count, off64_t offset) {
  static const auto call = real<ssize_t (*)(int, const iovec *, int, off64_t)>("pwritev64");
  const ssize_t done = call(fd, parts, count, offset);
  return after(done, "write", fd, range(offset, done));
}
ssize_t pwritev(int fd, const iovec *parts, int count, off_t offset) { return pwritev64(fd, parts, count, offset); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

int ftruncate64(int fd, off64_t size) noexcept {
  static const auto call = real<int (*)(int, off64_t)>("ftruncate64");
  return after(call(fd, size), "truncate", fd, std::to_string(size));
}
int ftruncate(int fd, off_t size) noexcept { return ftruncate64(fd, size); }

int truncate64(const char *path, off64_t size) noexcept {
  static const auto call = real<int (*)(const char *, off64_t)>("truncate64");
  const int result = call(path, size);
  if (result == 0)
    record("truncate", absolute(AT_FDCWD, path), std::to_string(size));
  return result;
}

int truncate(const char *path, off_t size) noexcept { return truncate64(path, size); }

int fsync(int fd) {
  static const auto call = real<int (*)(int)>("fsync");
  return after(call(fd), "sync", fd);
}

int fdatasync(int fd) {
  static const auto call = real<int (*)(int)>("fdatasync");
  return after(call(fd), "sync", fd);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) noexcept {
  static const auto call = real<int (*)(int, const char *, int, const char *)>("renameat");
  const std::string source = absolute(from_directory, from), target = absolute(to_directory, to);
  const int result = call(from_directory, from, to_directory, to);
  if (result == 0)
    record("rename", source, target);
  return result;
}
int rename(const char *from, const char *to) noexcept { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int directory, const char *path, int flags) noexcept {
  static const auto call = real<int (*)(int, const char *, int)>("unlinkat");
  const std::string target = absolute(directory, path);
  const int result = call(directory, path, flags);
  if (result == 0)
    record("unlink", target);
  return result;
}
int unlink(const char *path) noexcept { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) noexcept { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

} // extern "C"
