#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/storage/writeback.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <string>

namespace tailrace::io {

/// Writes a block into an array in an open file. The array starts at byte `offset`, covers the indices `whole` (the
/// variable's shape, or less) and is in logical order, x fastest. Adds the block to its checksum, if it has one, and
/// reports the bytes to `writeback`, if it is not null. Local. Throws IoError.
void write_block(int fd, const std::string &path, std::int64_t offset, const Box &whole, const Block &block,
                 Writeback *writeback = nullptr);

/// Reads `box` of an array of `shape` that starts at byte `offset` of an open file into contiguous memory. Local.
/// Throws IoError.
void read_box(int fd, const std::string &path, std::int64_t offset, const Index3 &shape, const Box &box,
              std::size_t size, void *data);

/// Reads `part` of an array that covers the indices `whole` and starts at byte `offset` of an open file to its place in
/// `data`, a contiguous array over `box`. The part must be inside both boxes. Local. Throws IoError.
void read_part(int fd, const std::string &path, std::int64_t offset, const Box &whole, const Box &part, const Box &box,
               std::size_t size, void *data);

} // namespace tailrace::io
