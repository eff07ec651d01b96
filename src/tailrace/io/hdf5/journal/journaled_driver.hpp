#pragma once

#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/hdf5/journal/chunk_tree.hpp>
#include <tailrace/io/hdf5/journal/saved_state.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Files that HDF5 changes in memory only. HDF5 writes its metadata at any time and over old metadata; here it writes
/// to a driver of ours, which keeps everything until `apply`. Until then the file is unchanged, and then it is known
/// which of its bytes will change. Large pieces of new data beyond the old end go to the file at once. Everything is
/// local and serial.
namespace tailrace::io::h5 {

/// Opens a file to change it, and cuts off what an unfinished step left beyond its end. `alignment`: see
/// h5::access_list.
Handle change_file(const std::string &path, std::int64_t alignment);
/// Creates a new file, or empties an existing one.
Handle create_file(const std::string &path);
/// Opens a file to read, without HDF5's locks: as it was before the change to which `saved` belongs, or as it is if
/// that is nullptr. `saved` must live until this returns.
Handle read_file(const std::string &path, const SavedState *saved);

/// The chunks of a dataset, in a file that this driver has just opened. Throws IoError when their index is damaged.
std::vector<StoredChunk> chunks_of(hid_t file, hid_t dataset, const std::string &path);

/// Where the chunk that begins at an index of the dataset is stored, by one way down the tree: HDF5's own answer visits
/// all chunks before it. Throws IoError when it is not stored.
StoredChunk place_of_chunk(hid_t file, hid_t dataset, const hsize_t *index, const std::string &path);

/// The size of the file when it was opened, or after the last `apply`.
std::int64_t old_end(hid_t file);
/// What `apply` will write before the old end: offset -> new bytes. Makes HDF5 flush all changes first.
std::map<std::int64_t, std::vector<char>> changes(hid_t file, const std::string &path);
/// Writes the flushed changes. After an IoError the file is neither old nor new, and must be discarded. What is now
/// beyond the end stays, because a rollback needs it.
void apply(hid_t file);
/// Why the system has last refused to read a part of the file; "" if it has not. HDF5 may keep that to itself.
std::string failure_of(hid_t file);
/// After `apply`, when no rollback can follow: cuts off what is beyond the end. If that fails, the next open does it.
void trim(hid_t file) noexcept;
/// Closes the file without the changes that were not applied.
void discard(Handle &file) noexcept;

} // namespace tailrace::io::h5
