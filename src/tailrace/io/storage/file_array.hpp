#pragma once

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/storage/writeback.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <string>

namespace tailrace::io {

/// Writes a block into an array that begins at byte `offset` of an open file, in logical order, x fastest, and adds it
/// to its checksum if there is one. The array covers the indices `whole`: the variable's shape, or less. `writeback` is
/// told, if not null. Local.
void write_block(int fd, const std::string &path, std::int64_t offset, const Box &whole, const Block &block,
                 Writeback *writeback = nullptr);

/// Reads `box` of an array of `shape` that starts at byte `offset` of an open file into contiguous memory. Local.
/// Throws IoError.
void read_box(int fd, const std::string &path, std::int64_t offset, const Index3 &shape, const Box &box,
              std::size_t size, void *data);

/// Reads `part` of an array that covers the indices `whole` and begins at byte `offset` of an open file, and stores it
/// at its place in `data`, a contiguous array over `box`. Both boxes contain the part. Local.
void read_part(int fd, const std::string &path, std::int64_t offset, const Box &whole, const Box &part, const Box &box,
               std::size_t size, void *data);

} // namespace tailrace::io
