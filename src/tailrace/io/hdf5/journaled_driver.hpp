#pragma once

#include <tailrace/io/h5/h5.hpp>

#include <cstdint>
#include <map>
#include <string>

/// Files that HDF5 changes in memory only. HDF5 writes its metadata when it pleases and where old ones are; here it
/// does so to a driver of ours, which keeps what it gets until `apply`. So the file is as it was until then, and by
/// then it is known which of its bytes will change. Large pieces of new data behind the old end go to the file at once.
/// Everything is local and serial.
namespace tailrace::io::h5 {

/// Opens a file to change it, and cuts off what a step that was not finished left behind its end. `alignment`: as of
/// access_list.
Handle change_file(const std::string &path, std::int64_t alignment);
/// Makes a new file, or empties the one that is there.
Handle create_file(const std::string &path);

/// Bytes of the file when it was opened, or after the last `apply`.
std::int64_t old_end(hid_t file);
/// Which bytes before the old end `apply` will change: offset -> bytes. Has HDF5 hand out all changes first.
std::map<std::int64_t, std::int64_t> changes(hid_t file, const std::string &path);
/// Writes the changes handed out. After an IoError the file is neither old nor new, and has to be discarded.
void apply(hid_t file);
/// Closes the file without what was not applied.
void discard(Handle &file) noexcept;

} // namespace tailrace::io::h5
