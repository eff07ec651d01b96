#pragma once

#include <tailrace/io/types.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// Throws IoError if a block of `described`, a variable in a sidecar, is not in a file or stream 0 to numbers - 1 or
/// not inside the shape, and a JSON exception if it has no blocks. Local.
void check_blocks(const nlohmann::json &described, const VariableInfo &variable, std::int64_t numbers);

/// A stored block, and the part of it that a reader needs.
struct StoredBlock {
  std::int64_t number = 0, offset = 0;
  Box block, part;
};

/// The blocks of `described`, a variable in a sidecar, that hold points of `box`, grouped by file. Throws IoError with
/// `path`, the name of the sidecar, if the blocks do not fill the box. Local.
std::vector<StoredBlock> blocks_that_meet(const nlohmann::json &described, const VariableInfo &variable, const Box &box,
                                          const std::string &path);

} // namespace tailrace::io
