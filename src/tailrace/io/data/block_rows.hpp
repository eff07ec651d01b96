#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// A block of a variable: where it is stored, its points, and the checksum of its bytes.
struct BlockRow {
  std::int64_t number = 0, offset = 0; ///< of the file or stream, and of the first byte in it
  Box box;
  std::uint64_t sum = 0;
};
using BlockRows = std::vector<BlockRow>;

/// The blocks of the variables of a step, by name.
using StepBlocks = std::map<std::string, BlockRows>;

/// JSON: [[z, y, x, nz, ny, nx, sum], ...]. Local.
std::string checksums_to_json(const BlockRows &rows);
/// JSON: name -> those of the variable. Local.
std::string checksums_to_json(const StepBlocks &blocks);

} // namespace tailrace::io
