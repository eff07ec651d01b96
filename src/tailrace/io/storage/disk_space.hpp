#pragma once

#include <cstdint>
#include <string>

namespace tailrace::io {

/// Throws IoError when the disk of `path` has no space for `bytes` more and the metadata of a step of `ranks` ranks. To
/// be called before a library that would hang on a full disk. Quotas are not seen here. Local.
void check_free_space(const std::string &path, std::int64_t bytes, int ranks);

/// Throws IoError when this process may not write a file of `size` bytes (its RLIMIT_FSIZE). Local.
void check_file_limit(const std::string &path, std::int64_t size);

/// Allocates the disk blocks of `bytes` bytes from byte `from` on of an existing file, so that a later write cannot
/// fail for lack of space: quotas and full disks of this node are found here. The file keeps its size. Throws IoError,
/// also for RLIMIT_FSIZE. Does nothing on file systems that cannot preallocate. Local.
void preallocate(const std::string &path, std::int64_t from, std::int64_t bytes);
/// The same from the end of the file on. When there is no file yet, only RLIMIT_FSIZE is checked.
void preallocate_behind(const std::string &path, std::int64_t bytes);
/// preallocate for an open file, without the check of RLIMIT_FSIZE.
void preallocate(int fd, const std::string &path, std::int64_t from, std::int64_t bytes);
/// The same, but only from 1 MiB on, where it makes the next write faster: Linux then copies into the page cache in
/// three quarters of the time, because it need not reserve a block for every page.
void preallocate_large(int fd, const std::string &path, std::int64_t from, std::int64_t bytes);
/// The same for an existing file that is not open; it is opened only when `bytes` is large enough.
void preallocate_large(const std::string &path, std::int64_t from, std::int64_t bytes);
/// Frees what is preallocated beyond the end of a file that nobody else is writing. Local.
void release_preallocated(const std::string &path) noexcept;

} // namespace tailrace::io
