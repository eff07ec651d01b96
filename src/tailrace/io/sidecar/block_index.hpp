#pragma once

#include <tailrace/io/types.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// How a sidecar lists the blocks of a variable that is stored block by block: the number of the file or stream, the
/// offset in it in bytes, and the block as z, y, x, nz, ny, nx.
using StoredNumbers = std::vector<std::array<std::int64_t, 8>>;

/// A stored block, and what a reader wants of it.
struct StoredBlock {
  std::int64_t number = 0, offset = 0;
  Box block, part;
};

/// The blocks of `described`, a variable in a sidecar, that hold points of `box`, those of a file together. Throws
/// IoError, which names `path`, the sidecar, for a block outside the shape, and when they do not make up the box.
/// Local.
std::vector<StoredBlock> blocks_that_meet(const nlohmann::json &described, const VariableInfo &variable, const Box &box,
                                          const std::string &path);

} // namespace tailrace::io
