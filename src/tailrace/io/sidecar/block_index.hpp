#pragma once

#include <tailrace/io/data/block_rows.hpp>
#include <tailrace/io/types.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

// The blocks of a variable that is stored block by block. A sidecar lists a few in its lines: [number of the file or
// stream, offset in bytes, z, y, x, nz, ny, nx]; many are in a table (block_table.hpp). All functions are local.

/// As in a line of the sidecar.
nlohmann::json block_to_json(const BlockRow &block);

/// Throws IoError for a block that is not inside the shape, or has an impossible number or offset.
void check_block(const BlockRow &block, const VariableInfo &variable, std::int64_t numbers = INT64_MAX);

/// The blocks of `described`, a variable in a sidecar. Throws a JSON exception if it has none.
BlockRows blocks_in_line(const nlohmann::json &described);

/// check_block for all of them, in a file or stream 0 to numbers - 1.
void check_blocks(const nlohmann::json &described, const VariableInfo &variable, std::int64_t numbers);

/// A stored block, and the part of it that a reader needs.
struct StoredBlock {
  std::int64_t number = 0, offset = 0;
  Box block, part;
};

/// The blocks that hold points of `box`, grouped by file. Throws IoError with `path`, the name of the sidecar, if the
/// blocks do not fill the box.
std::vector<StoredBlock> blocks_that_meet(const BlockRows &blocks, const VariableInfo &variable, const Box &box,
                                          const std::string &path);

} // namespace tailrace::io
