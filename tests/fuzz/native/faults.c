/* Makes one system call of a process fail, or be cut short: loaded before libc (LD_PRELOAD), and told by ctypes or by the
 * environment which call of which kind. Only calls on files count whose path holds a given text. inject_faults.py
 * compiles and uses it. A call that libc makes inside itself is not seen. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kinds of calls, in the order of KINDS in inject_faults.py. */
enum { WRITE, SYNC, OPEN, RENAME, CUT, ALLOCATE, CLOSE, READ, UNLINK, MAKE, LOCK, MAP, STAT, KINDS };
enum { NOTHING = -1, MOST = 65536 };

static int armed = NOTHING, code, again, cut;
static long target, seen, fired;
static char place[1024] = "//nowhere", what[64];
static char ours[MOST]; /* which descriptors are of files in the place */

void fault_place(const char *text) { snprintf(place, sizeof place, "%s", text); }

/* The call of this number, from 1, of one kind fails with `error`; with `sticky`, all from it on; with `shortened` 1, it
 * does half of what it was asked to; with 2, a write says that it did all, and does nothing, as a system that loses data. */
void fault_arm(int kind, long number, int error, int sticky, int shortened) {
  seen = fired = 0;
  what[0] = 0;
  code = error;
  again = sticky;
  cut = shortened;
  target = number;
  __sync_synchronize();
  armed = kind;
}
void fault_off(void) { armed = NOTHING; }
long fault_fired(void) { return fired; }
const char *fault_what(void) { return what; }

/* TAILRACE_FAULT="rank kind number error sticky shortened place": from the start of the program, on one rank. */
__attribute__((constructor)) static void from_environment(void) {
  const char *text = getenv("TAILRACE_FAULT"), *own = getenv("OMPI_COMM_WORLD_RANK");
  int rank, kind, error, sticky, shortened, length = 0;
  long number;
  if (!text || sscanf(text, "%d %d %ld %d %d %d %n", &rank, &kind, &number, &error, &sticky, &shortened, &length) != 6)
    return;
  if (rank != (own ? atoi(own) : 0))
    return;
  fault_place(text + length);
  fault_arm(kind, number, error, sticky, shortened);
}

static int in_place(const char *path) { return path && strstr(path, place) != NULL; }
static int is_ours(int file) { return file >= 0 && file < MOST && ours[file]; }
static void mark(int file, int as) {
  if (file >= 0 && file < MOST)
    ours[file] = (char)as;
}

/* Whether this call is the one. */
static int hit(int kind, const char *name) {
  if (armed != kind)
    return 0;
  long number = __sync_add_and_fetch(&seen, 1);
  if (number != target && !(again && number >= target))
    return 0;
  if (!fired)
    snprintf(what, sizeof what, "%s", name);
  __sync_add_and_fetch(&fired, 1);
  return 1;
}

static size_t half(size_t size) { return size > 1 ? size / 2 : size; }

#define REAL(result, name, ...)                                                                                        \
  static result (*real)(__VA_ARGS__);                                                                                  \
  if (!real)                                                                                                           \
    real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)
#define FAIL(condition, kind, name, result)                                                                            \
  if ((condition) && hit(kind, name)) {                                                                                \
    errno = code;                                                                                                      \
    return result;                                                                                                     \
  }
/* The mode, an optional argument of open. */
#define MODE(flags)                                                                                                    \
  int mode = 0;                                                                                                        \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                             \
    va_list list;                                                                                                      \
    va_start(list, flags);                                                                                             \
    mode = va_arg(list, int);                                                                                          \
    va_end(list);                                                                                                      \
  }

#define OPEN_PATH(name)                                                                                                \
  int name(const char *path, int flags, ...) {                                                                         \
    REAL(int, name, const char *, int, ...);                                                                           \
    MODE(flags)                                                                                                        \
    const int one = in_place(path);                                                                                    \
    FAIL(one, OPEN, #name, -1)                                                                                         \
    const int file = real(path, flags, mode);                                                                          \
    mark(file, one);                                                                                                   \
    return file;                                                                                                       \
  }
OPEN_PATH(open)
OPEN_PATH(open64)

#define OPEN_AT(name)                                                                                                  \
  int name(int folder, const char *path, int flags, ...) {                                                             \
    REAL(int, name, int, const char *, int, ...);                                                                      \
    MODE(flags)                                                                                                        \
    const int one = in_place(path) || is_ours(folder);                                                                 \
    FAIL(one, OPEN, #name, -1)                                                                                         \
    const int file = real(folder, path, flags, mode);                                                                  \
    mark(file, one);                                                                                                   \
    return file;                                                                                                       \
  }
OPEN_AT(openat)
OPEN_AT(openat64)

#define OPEN_STREAM(name)                                                                                              \
  FILE *name(const char *path, const char *how) {                                                                      \
    REAL(FILE *, name, const char *, const char *);                                                                    \
    const int one = in_place(path);                                                                                    \
    FAIL(one, OPEN, #name, NULL)                                                                                       \
    FILE *file = real(path, how);                                                                                      \
    if (file)                                                                                                          \
      mark(fileno(file), one);                                                                                         \
    return file;                                                                                                       \
  }
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

int dup(int file) {
  REAL(int, dup, int);
  const int copy = real(file);
  mark(copy, is_ours(file));
  return copy;
}

ssize_t write(int file, const void *data, size_t size) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (is_ours(file) && hit(WRITE, "write")) {
    if (!cut) {
      errno = code;
      return -1;
    }
    if (cut == 2)
      return lseek(file, (off_t)size, SEEK_CUR) < 0 ? -1 : (ssize_t)size;
    size = half(size);
  }
  return real(file, data, size);
}

#define WRITE_AT(name)                                                                                                 \
  ssize_t name(int file, const void *data, size_t size, off_t at) {                                                    \
    REAL(ssize_t, name, int, const void *, size_t, off_t);                                                             \
    if (is_ours(file) && hit(WRITE, #name)) {                                                                          \
      if (!cut) {                                                                                                      \
        errno = code;                                                                                                  \
        return -1;                                                                                                     \
      }                                                                                                                \
      if (cut == 2)                                                                                                    \
        return (ssize_t)size;                                                                                          \
      size = half(size);                                                                                               \
    }                                                                                                                  \
    return real(file, data, size, at);                                                                                 \
  }
WRITE_AT(pwrite)
WRITE_AT(pwrite64)

ssize_t writev(int file, const struct iovec *pieces, int count) {
  REAL(ssize_t, writev, int, const struct iovec *, int);
  if (is_ours(file) && hit(WRITE, "writev")) {
    ssize_t all = 0;
    for (int piece = 0; piece < count; ++piece)
      all += (ssize_t)pieces[piece].iov_len;
    if (cut == 2)
      return lseek(file, all, SEEK_CUR) < 0 ? -1 : all;
    if (cut)
      return syscall(SYS_write, file, pieces[0].iov_base, half(pieces[0].iov_len));
    errno = code;
    return -1;
  }
  return real(file, pieces, count);
}

#define WRITEV_AT(name)                                                                                                \
  ssize_t name(int file, const struct iovec *pieces, int count, off_t at) {                                            \
    REAL(ssize_t, name, int, const struct iovec *, int, off_t);                                                        \
    if (is_ours(file) && hit(WRITE, #name)) {                                                                          \
      if (cut)                                                                                                         \
        return syscall(SYS_pwrite64, file, pieces[0].iov_base, half(pieces[0].iov_len), at);                           \
      errno = code;                                                                                                    \
      return -1;                                                                                                       \
    }                                                                                                                  \
    return real(file, pieces, count, at);                                                                              \
  }
WRITEV_AT(pwritev)
WRITEV_AT(pwritev64)

#define ON_FILE(name, kind)                                                                                            \
  int name(int file) {                                                                                                 \
    REAL(int, name, int);                                                                                              \
    FAIL(is_ours(file), kind, #name, -1)                                                                               \
    return real(file);                                                                                                 \
  }
ON_FILE(fsync, SYNC)
ON_FILE(fdatasync, SYNC)

int rename(const char *from, const char *to) {
  REAL(int, rename, const char *, const char *);
  FAIL(in_place(to), RENAME, "rename", -1)
  return real(from, to);
}
int renameat(int folder, const char *from, int there, const char *to) {
  REAL(int, renameat, int, const char *, int, const char *);
  FAIL(in_place(to) || is_ours(there), RENAME, "renameat", -1)
  return real(folder, from, there, to);
}
int renameat2(int folder, const char *from, int there, const char *to, unsigned flags) {
  REAL(int, renameat2, int, const char *, int, const char *, unsigned);
  FAIL(in_place(to) || is_ours(there), RENAME, "renameat2", -1)
  return real(folder, from, there, to, flags);
}
int link(const char *from, const char *to) {
  REAL(int, link, const char *, const char *);
  FAIL(in_place(to), RENAME, "link", -1)
  return real(from, to);
}

#define CUT_FILE(name)                                                                                                 \
  int name(int file, off_t size) {                                                                                     \
    REAL(int, name, int, off_t);                                                                                       \
    FAIL(is_ours(file), CUT, #name, -1)                                                                                \
    return real(file, size);                                                                                           \
  }
CUT_FILE(ftruncate)
CUT_FILE(ftruncate64)
#define CUT_PATH(name)                                                                                                 \
  int name(const char *path, off_t size) {                                                                             \
    REAL(int, name, const char *, off_t);                                                                              \
    FAIL(in_place(path), CUT, #name, -1)                                                                               \
    return real(path, size);                                                                                           \
  }
CUT_PATH(truncate)
CUT_PATH(truncate64)

#define ALLOCATE_FILE(name)                                                                                            \
  int name(int file, int how, off_t begin, off_t size) {                                                               \
    REAL(int, name, int, int, off_t, off_t);                                                                           \
    FAIL(is_ours(file), ALLOCATE, #name, -1)                                                                           \
    return real(file, how, begin, size);                                                                               \
  }
ALLOCATE_FILE(fallocate)
ALLOCATE_FILE(fallocate64)
#define POSIX_ALLOCATE(name)                                                                                           \
  int name(int file, off_t begin, off_t size) {                                                                        \
    REAL(int, name, int, off_t, off_t);                                                                                \
    FAIL(is_ours(file), ALLOCATE, #name, code)                                                                         \
    return real(file, begin, size);                                                                                    \
  }
POSIX_ALLOCATE(posix_fallocate)
POSIX_ALLOCATE(posix_fallocate64)

int close(int file) { /* Linux closes the file also when it returns an error */
  REAL(int, close, int);
  const int one = is_ours(file);
  mark(file, 0);
  const int result = real(file);
  FAIL(one, CLOSE, "close", -1)
  return result;
}
int fclose(FILE *stream) {
  REAL(int, fclose, FILE *);
  const int file = fileno(stream), one = is_ours(file);
  mark(file, 0);
  const int result = real(stream);
  FAIL(one, CLOSE, "fclose", EOF)
  return result;
}

ssize_t read(int file, void *data, size_t size) {
  REAL(ssize_t, read, int, void *, size_t);
  if (is_ours(file) && hit(READ, "read")) {
    if (!cut) {
      errno = code;
      return -1;
    }
    size = half(size);
  }
  return real(file, data, size);
}

#define READ_AT(name)                                                                                                  \
  ssize_t name(int file, void *data, size_t size, off_t at) {                                                          \
    REAL(ssize_t, name, int, void *, size_t, off_t);                                                                   \
    if (is_ours(file) && hit(READ, #name)) {                                                                           \
      if (!cut) {                                                                                                      \
        errno = code;                                                                                                  \
        return -1;                                                                                                     \
      }                                                                                                                \
      size = half(size);                                                                                               \
    }                                                                                                                  \
    return real(file, data, size, at);                                                                                 \
  }
READ_AT(pread)
READ_AT(pread64)

ssize_t readv(int file, const struct iovec *pieces, int count) {
  REAL(ssize_t, readv, int, const struct iovec *, int);
  if (is_ours(file) && hit(READ, "readv")) {
    if (cut)
      return syscall(SYS_read, file, pieces[0].iov_base, half(pieces[0].iov_len));
    errno = code;
    return -1;
  }
  return real(file, pieces, count);
}

#define ON_PATH(name, kind)                                                                                            \
  int name(const char *path) {                                                                                         \
    REAL(int, name, const char *);                                                                                     \
    FAIL(in_place(path), kind, #name, -1)                                                                              \
    return real(path);                                                                                                 \
  }
ON_PATH(unlink, UNLINK)
ON_PATH(remove, UNLINK)
ON_PATH(rmdir, UNLINK)
int unlinkat(int folder, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int);
  FAIL(in_place(path) || is_ours(folder), UNLINK, "unlinkat", -1)
  return real(folder, path, flags);
}
int mkdir(const char *path, mode_t mode) {
  REAL(int, mkdir, const char *, mode_t);
  FAIL(in_place(path), MAKE, "mkdir", -1)
  return real(path, mode);
}

int flock(int file, int how) {
  REAL(int, flock, int, int);
  FAIL(is_ours(file), LOCK, "flock", -1)
  return real(file, how);
}
#define CONTROL(name)                                                                                                  \
  int name(int file, int command, ...) {                                                                               \
    REAL(int, name, int, int, ...);                                                                                    \
    va_list list;                                                                                                      \
    va_start(list, command);                                                                                           \
    void *argument = va_arg(list, void *);                                                                             \
    va_end(list);                                                                                                      \
    const int locks =                                                                                                  \
        command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;                \
    FAIL(is_ours(file) && locks, LOCK, #name, -1)                                                                      \
    return real(file, command, argument);                                                                              \
  }
CONTROL(fcntl)
CONTROL(fcntl64)

#define MAP_CALL(name)                                                                                                 \
  void *name(void *at, size_t size, int protection, int flags, int file, off_t begin) {                                \
    REAL(void *, name, void *, size_t, int, int, int, off_t);                                                          \
    FAIL(is_ours(file), MAP, #name, MAP_FAILED)                                                                        \
    return real(at, size, protection, flags, file, begin);                                                             \
  }
MAP_CALL(mmap)
MAP_CALL(mmap64)

#define STAT_PATH(name, type)                                                                                          \
  int name(const char *path, struct type *found) {                                                                     \
    REAL(int, name, const char *, struct type *);                                                                      \
    FAIL(in_place(path), STAT, #name, -1)                                                                              \
    return real(path, found);                                                                                          \
  }
STAT_PATH(stat, stat)
STAT_PATH(lstat, stat)
STAT_PATH(stat64, stat64)
STAT_PATH(lstat64, stat64)
#define STAT_FILE(name, type)                                                                                          \
  int name(int file, struct type *found) {                                                                             \
    REAL(int, name, int, struct type *);                                                                               \
    FAIL(is_ours(file), STAT, #name, -1)                                                                               \
    return real(file, found);                                                                                          \
  }
STAT_FILE(fstat, stat)
STAT_FILE(fstat64, stat64)
#define STAT_AT(name, type)                                                                                            \
  int name(int folder, const char *path, struct type *found, int flags) {                                              \
    REAL(int, name, int, const char *, struct type *, int);                                                            \
    FAIL(in_place(path) || is_ours(folder), STAT, #name, -1)                                                           \
    return real(folder, path, found, flags);                                                                           \
  }
STAT_AT(fstatat, stat)
STAT_AT(fstatat64, stat64)
