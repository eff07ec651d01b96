#pragma once

#include <cstdint>
#include <string>

namespace tailrace::io {

/// Throws IoError when the disk of `path` has no room for `bytes` more and the metadata of a step of `ranks` ranks: to
/// be found before a library is called that would hang. Quotas do not show here. Local.
void check_room(const std::string &path, std::int64_t bytes, int ranks);

/// Throws IoError when this process may not write a file of `size` bytes (its RLIMIT_FSIZE). Local.
void check_file_limit(const std::string &path, std::int64_t size);

/// Takes the blocks of `bytes` bytes from byte `from` on for a file that is there, so that writing them finds room:
/// quotas and full disks of this node show here. The file keeps its size. Throws IoError, also for RLIMIT_FSIZE; file
/// systems that cannot reserve are left alone. Local.
void reserve_room(const std::string &path, std::int64_t from, std::int64_t bytes);
/// The same behind what the file holds already; where there is no file yet only the limit is looked at.
void reserve_room_behind(const std::string &path, std::int64_t bytes);
/// reserve_room of an open file, without RLIMIT_FSIZE.
void reserve_room(int fd, const std::string &path, std::int64_t from, std::int64_t bytes);
/// The same where it pays for what is written next, from 1 MiB on: Linux then copies into the page cache in three
/// quarters of the time, for it need not book a block for every page.
void reserve_large(int fd, const std::string &path, std::int64_t from, std::int64_t bytes);
/// The same of a file that is there, which is opened for nothing less.
void reserve_large(const std::string &path, std::int64_t from, std::int64_t bytes);
/// Gives back what is reserved behind the end of a file that nobody else is writing. Local.
void release_room(const std::string &path) noexcept;

} // namespace tailrace::io
