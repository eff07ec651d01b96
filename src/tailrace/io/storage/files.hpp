#pragma once

#include <tailrace/io/types.hpp>
#include <tailrace/support/communicator.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// The kind of target that an engine writes: a file or a directory.
enum class Kind { file, directory };

/// Throws IoError if a series at `path` cannot be opened in `mode`: no parent directory, no permission, the wrong kind
/// of target, or nothing to read. Local.
void check_target(const std::string &path, Mode mode, Kind kind);

// What cannot be examined must not be taken for missing: a series that a file server does not show for a moment would
// be begun again. So these throw IoError unless the system says that there is nothing, or that this user may not look,
// which opening a file there says again. All local.
bool is_directory(const std::string &path); ///< following links
bool is_there(const std::string &path);     ///< without following links: also a link that leads nowhere
bool is_link(const std::string &path);
bool is_regular(const std::string &path); ///< without following links
/// The size of a file; nothing if there is no file.
std::optional<std::int64_t> bytes_of(const std::string &path);

/// A new file, open to write.
struct NewFile {
  std::string path;
  FileDescriptor file;
};
/// Creates a file beside `path` with a free name: `<path>.tmp`, or that with a number behind it. `mode`:
/// permissions, less the umask. Local. Throws IoError.
NewFile create_draft(const std::string &path, int mode = 0666);
/// Whether create_draft may have made a file of this name for `path`; a killed program leaves such files. Local.
bool is_draft_of(const std::string &name, const std::string &path);

/// Replaces the file at `path` by `text` atomically: readers see the old or the new text, also when the program is
/// killed, and with `sync` also after a power cut. `mode`: permissions of the new file, less the umask. Returns the new
/// file, open to write, which another program may have replaced by then. Local.
FileDescriptor replace_file(const std::string &path, const std::string &text, bool sync, int mode = 0666);
/// The whole file. Local. Throws IoError.
std::string read_file(const std::string &path);
std::string read_file(const FileDescriptor &file, const std::string &path);

/// Waits until the file or directory at `path` is on the disk. Local.
void sync_path(const std::string &path);
/// sync_path for the directory of `path`, so that its name survives a power cut too.
void sync_parent(const std::string &path);

/// Reads at most `size` bytes, fewer only at the end of the file; returns their number. Local. Throws IoError.
std::size_t read_some(int fd, void *data, std::size_t size, std::int64_t offset, const std::string &path);
/// The first bytes of a file, at most `size`; empty if it does not exist, is a directory, or may not be read. Throws
/// IoError if it is no file, because opening it again in another way could wait forever, and for any other error.
/// Local.
std::string start_of(const std::string &path, std::size_t size);
/// Whether a file has only zeros, or nothing, from byte `begin` to its end. Local. Throws IoError.
bool has_zeros_from(const FileDescriptor &file, std::int64_t begin, const std::string &path);
/// Writes or reads all of [data, data + size) at byte `offset` of the file. Local. Throws IoError, which names `path`.
void write_all(int fd, const void *data, std::int64_t size, std::int64_t offset, const std::string &path);
void read_all(int fd, void *data, std::int64_t size, std::int64_t offset, const std::string &path);

/// Whether a file changed so long ago that another change would give it another time. The clock of a file system goes
/// in steps of up to 10 ms, of some (FAT) of 2 s.
bool settled(const struct stat &file);

} // namespace tailrace::io
