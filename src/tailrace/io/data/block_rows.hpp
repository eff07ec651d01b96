#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/io/types.hpp>
#include <tailrace/support/communicator.hpp>

#include <array>
#include <cstddef>
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

/// How many blocks of a variable are described by text. More are in tables of numbers.
constexpr std::size_t most_in_lines = 64;

/// As files describe a block: number, offset, z, y, x, nz, ny, nx, checksum. Local.
using BlockNumbers = std::array<std::int64_t, 9>;
BlockNumbers numbers_of(const BlockRow &block);
BlockRow block_of(const BlockNumbers &numbers);

/// A block of a variable of the open step, which is known by its place in the order of writing.
struct VariableBlock {
  std::size_t variable = 0;
  BlockRow block;
};
/// The blocks of each of the `variables` by all ranks, in the order of the ranks; on other ranks than 0 without blocks.
/// Collective.
std::vector<BlockRows> gather_blocks(const std::vector<VariableBlock> &ours, std::size_t variables,
                                     const Communicator &comm);

/// The blocks of the variables of a step, by name.
using StepBlocks = std::map<std::string, BlockRows>;

/// JSON: [[z, y, x, nz, ny, nx, sum], ...]. Local.
std::string checksums_to_json(const BlockRows &rows);
/// JSON: name -> those of the variable. Local.
std::string checksums_to_json(const StepBlocks &blocks);

} // namespace tailrace::io
