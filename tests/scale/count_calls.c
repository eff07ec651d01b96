/* Counts what a rank asks of the file system and of MPI: loaded before the other libraries (LD_PRELOAD) by
 * grow_with_ranks.py. Calls on files count where their path holds the text given to count_below. What a library sends
 * in several messages for one collective call counts as one, with the bytes that this rank receives by it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
  OPENS,
  LOOKS,
  NAMES,
  SYNCS,
  READ,
  WRITTEN,
  COLLECTIVES,
  MESSAGES,
  RECEIVED,
  SENT,
  SOCKETS,
  COUNTS,
  MOST = 65536
};

static int64_t counts[COUNTS];
static char place[1024] = ""; /* at the start all files */
static char ours[MOST];       /* what a descriptor is: 1 a file in the place */

void count_below(const char *text) { snprintf(place, sizeof place, "%s", text); }
/* Copies what was counted since the last call. */
void count_take(int64_t *into) {
  for (int i = 0; i < COUNTS; ++i)
    into[i] = __sync_lock_test_and_set(&counts[i], 0);
}

static void add(int what, int64_t amount) { __sync_fetch_and_add(&counts[what], amount); }
static int in_place(const char *path) { return path && strstr(path, place) != NULL && strncmp(path, "/proc", 5) != 0; }
static int is_ours(int file) { return file >= 0 && file < MOST && ours[file]; }
static int is_socket(int file) {
  struct stat about;
  return file >= 0 && fstat(file, &about) == 0 && S_ISSOCK(about.st_mode);
}

#define REAL(result, name, ...)                                                                                        \
  static result (*real)(__VA_ARGS__);                                                                                  \
  if (!real)                                                                                                           \
  real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int opened(int file, int one) {
  if (one)
    add(OPENS, 1);
  if (file >= 0 && file < MOST)
    ours[file] = (char)one;
  return file;
}

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
    return opened(real(path, flags, mode), in_place(path));                                                            \
  }
#define OPEN_AT(name)                                                                                                  \
  int name(int folder, const char *path, int flags, ...) {                                                             \
    REAL(int, name, int, const char *, int, ...);                                                                      \
    MODE(flags)                                                                                                        \
    return opened(real(folder, path, flags, mode), in_place(path) || (path[0] != '/' && is_ours(folder)));             \
  }
#define OPEN_STREAM(name)                                                                                              \
  FILE *name(const char *path, const char *how) {                                                                      \
    REAL(FILE *, name, const char *, const char *);                                                                    \
    FILE *file = real(path, how);                                                                                      \
    opened(file ? fileno(file) : -1, in_place(path));                                                                  \
    return file;                                                                                                       \
  }
OPEN_PATH(open)
OPEN_PATH(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

DIR *opendir(const char *path) {
  REAL(DIR *, opendir, const char *);
  DIR *folder = real(path);
  if (in_place(path))
    add(OPENS, 1);
  return folder;
}

int close(int file) {
  REAL(int, close, int);
  if (file >= 0 && file < MOST)
    ours[file] = 0;
  return real(file);
}

/* Calls that look at a name, and calls that change one. */
#define LOOK(result, name, what, path, parameters, arguments)                                                          \
  result name parameters {                                                                                             \
    static result(*real) parameters;                                                                                   \
    if (!real)                                                                                                         \
      real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                                            \
    if (in_place(path))                                                                                                \
      add(what, 1);                                                                                                    \
    return real arguments;                                                                                             \
  }
LOOK(int, stat, LOOKS, p, (const char *p, struct stat *s), (p, s))
LOOK(int, stat64, LOOKS, p, (const char *p, struct stat64 *s), (p, s))
LOOK(int, lstat, LOOKS, p, (const char *p, struct stat *s), (p, s))
LOOK(int, lstat64, LOOKS, p, (const char *p, struct stat64 *s), (p, s))
LOOK(int, fstatat, LOOKS, p, (int f, const char *p, struct stat *s, int flags), (f, p, s, flags))
LOOK(int, fstatat64, LOOKS, p, (int f, const char *p, struct stat64 *s, int flags), (f, p, s, flags))
LOOK(int, access, LOOKS, p, (const char *p, int mode), (p, mode))
LOOK(int, faccessat, LOOKS, p, (int f, const char *p, int mode, int flags), (f, p, mode, flags))
LOOK(int, statfs, LOOKS, p, (const char *p, struct statfs *s), (p, s))
LOOK(int, statfs64, LOOKS, p, (const char *p, struct statfs64 *s), (p, s))
LOOK(ssize_t, readlink, LOOKS, p, (const char *p, char *to, size_t size), (p, to, size))
LOOK(char *, realpath, LOOKS, p, (const char *p, char *to), (p, to))
LOOK(int, unlink, NAMES, p, (const char *p), (p))
LOOK(int, unlinkat, NAMES, p, (int f, const char *p, int flags), (f, p, flags))
LOOK(int, remove, NAMES, p, (const char *p), (p))
LOOK(int, rmdir, NAMES, p, (const char *p), (p))
LOOK(int, mkdir, NAMES, p, (const char *p, mode_t mode), (p, mode))
LOOK(int, rename, NAMES, p, (const char *p, const char *to), (p, to))
LOOK(int, truncate, NAMES, p, (const char *p, off_t size), (p, size))

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict about) {
  REAL(int, statx, int, const char *, int, unsigned, struct statx *);
  if (in_place(path))
    add(LOOKS, 1);
  return real(folder, path, flags, mask, about);
}

#define SYNC(name)                                                                                                     \
  int name(int file) {                                                                                                 \
    REAL(int, name, int);                                                                                              \
    if (is_ours(file))                                                                                                 \
      add(SYNCS, 1);                                                                                                   \
    return real(file);                                                                                                 \
  }
SYNC(fsync)
SYNC(fdatasync)

static ssize_t moved(int file, int what, ssize_t size) {
  if (size > 0 && is_ours(file))
    add(what, size);
  else if (size > 0 && what == READ && is_socket(file))
    add(SOCKETS, size);
  return size;
}
#define MOVE(name, what, parameters, arguments)                                                                        \
  ssize_t name parameters {                                                                                            \
    static ssize_t(*real) parameters;                                                                                  \
    if (!real)                                                                                                         \
      real = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name);                                                           \
    return moved(f, what, real arguments);                                                                             \
  }
MOVE(read, READ, (int f, void *d, size_t n), (f, d, n))
MOVE(pread, READ, (int f, void *d, size_t n, off_t at), (f, d, n, at))
MOVE(pread64, READ, (int f, void *d, size_t n, off64_t at), (f, d, n, at))
MOVE(readv, READ, (int f, const struct iovec *v, int n), (f, v, n))
MOVE(preadv, READ, (int f, const struct iovec *v, int n, off_t at), (f, v, n, at))
MOVE(preadv64, READ, (int f, const struct iovec *v, int n, off64_t at), (f, v, n, at))
MOVE(write, WRITTEN, (int f, const void *d, size_t n), (f, d, n))
MOVE(pwrite, WRITTEN, (int f, const void *d, size_t n, off_t at), (f, d, n, at))
MOVE(pwrite64, WRITTEN, (int f, const void *d, size_t n, off64_t at), (f, d, n, at))
MOVE(writev, WRITTEN, (int f, const struct iovec *v, int n), (f, v, n))
MOVE(pwritev, WRITTEN, (int f, const struct iovec *v, int n, off_t at), (f, v, n, at))
MOVE(pwritev64, WRITTEN, (int f, const struct iovec *v, int n, off64_t at), (f, v, n, at))
MOVE(recv, READ, (int f, void *d, size_t n, int flags), (f, d, n, flags))

/* ---- MPI ---- */
static int64_t bytes(int64_t count, MPI_Datatype type) {
  int size = 0;
  if (type != MPI_DATATYPE_NULL)
    PMPI_Type_size(type, &size);
  return count > 0 ? count * size : 0;
}
static int64_t all(const int *n, MPI_Comm comm) {
  int size = 0;
  int64_t sum = 0;
  PMPI_Comm_size(comm, &size);
  for (int i = 0; n && i < size; ++i)
    sum += n[i];
  return sum;
}
static int ranks(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}
static int is(int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}
#define COLLECTIVE(name, got, parameters, arguments)                                                                   \
  int MPI_##name parameters {                                                                                          \
    if (ranks(c) > 1) {                                                                                                \
      add(COLLECTIVES, 1);                                                                                             \
      add(RECEIVED, got);                                                                                              \
    }                                                                                                                  \
    return PMPI_##name arguments;                                                                                      \
  }
#define SENDS(name, last, ...)                                                                                         \
  int MPI_##name(const void *d, int n, MPI_Datatype t, int to, int tag, MPI_Comm c last) {                             \
    add(MESSAGES, 1);                                                                                                  \
    add(SENT, bytes(n, t));                                                                                            \
    return PMPI_##name(d, n, t, to, tag, c __VA_ARGS__);                                                               \
  }
#define WITH_REQUEST , MPI_Request *q
SENDS(Send, )
SENDS(Ssend, )
SENDS(Rsend, )
SENDS(Isend, WITH_REQUEST, , q)
SENDS(Issend, WITH_REQUEST, , q)
int MPI_Start(MPI_Request *q) {
  add(MESSAGES, 1);
  return PMPI_Start(q);
}
int MPI_Startall(int n, MPI_Request *q) {
  add(MESSAGES, n);
  return PMPI_Startall(n, q);
}

COLLECTIVE(Barrier, 0, (MPI_Comm c), (c))
COLLECTIVE(Bcast, bytes(n, t), (void *d, int n, MPI_Datatype t, int root, MPI_Comm c), (d, n, t, root, c))
COLLECTIVE(Ibcast, bytes(n, t), (void *d, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q),
           (d, n, t, root, c, q))
COLLECTIVE(Ibarrier, 0, (MPI_Comm c, MPI_Request *q), (c, q))
COLLECTIVE(Reduce, is(root, c) ? bytes(n, t) : 0,
           (const void *d, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (d, r, n, t, o, root, c))
COLLECTIVE(Allreduce, bytes(n, t), (const void *d, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           (d, r, n, t, o, c))
COLLECTIVE(Iallreduce, bytes(n, t),
           (const void *d, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q), (d, r, n, t, o, c, q))
COLLECTIVE(Scan, bytes(n, t), (const void *d, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (d, r, n, t, o, c))
COLLECTIVE(Exscan, bytes(n, t), (const void *d, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           (d, r, n, t, o, c))
COLLECTIVE(Gather, is(root, c) ? bytes((int64_t)rn * ranks(c), rt) : 0,
           (const void *d, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
           (d, n, t, r, rn, rt, root, c))
COLLECTIVE(Gatherv, is(root, c) ? bytes(all(rn, c), rt) : 0,
           (const void *d, int n, MPI_Datatype t, void *r, const int *rn, const int *at, MPI_Datatype rt, int root,
            MPI_Comm c),
           (d, n, t, r, rn, at, rt, root, c))
COLLECTIVE(Allgather, bytes((int64_t)rn *ranks(c), rt),
           (const void *d, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
           (d, n, t, r, rn, rt, c))
COLLECTIVE(Allgatherv, bytes(all(rn, c), rt),
           (const void *d, int n, MPI_Datatype t, void *r, const int *rn, const int *at, MPI_Datatype rt, MPI_Comm c),
           (d, n, t, r, rn, at, rt, c))
COLLECTIVE(Scatter, bytes(rn, rt),
           (const void *d, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
           (d, n, t, r, rn, rt, root, c))
COLLECTIVE(Scatterv, bytes(rn, rt),
           (const void *d, const int *n, const int *at, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int root,
            MPI_Comm c),
           (d, n, at, t, r, rn, rt, root, c))
COLLECTIVE(Alltoall, bytes((int64_t)rn *ranks(c), rt),
           (const void *d, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
           (d, n, t, r, rn, rt, c))
COLLECTIVE(Alltoallv, bytes(all(rn, c), rt),
           (const void *d, const int *n, const int *at, MPI_Datatype t, void *r, const int *rn, const int *rat,
            MPI_Datatype rt, MPI_Comm c),
           (d, n, at, t, r, rn, rat, rt, c))
COLLECTIVE(Comm_dup, 0, (MPI_Comm c, MPI_Comm *to), (c, to))
COLLECTIVE(Comm_split, 8 * ranks(c), (MPI_Comm c, int colour, int key, MPI_Comm *to), (c, colour, key, to))
COLLECTIVE(Comm_split_type, 8 * ranks(c), (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm *to),
           (c, type, key, i, to))
COLLECTIVE(File_open, 0, (MPI_Comm c, const char *name, int mode, MPI_Info i, MPI_File *to), (c, name, mode, i, to))
