#pragma once

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// Calls `visit(address, count)` for every row of the block, in logical order. Rows that touch come as one. Local.
template <class Visit> void for_each_row(const Placement &place, std::size_t size, const void *data, Visit visit) {
  const auto &[shape, block, memory] = place;
  if (block.empty())
    return;
  const auto bytes = static_cast<std::int64_t>(size);
  const char *base = static_cast<const char *>(data);
  if (block == memory)
    return visit(base, block.size());
  for (std::int64_t k = block.start[2]; k < block.end(2); ++k)
    for (std::int64_t j = block.start[1]; j < block.end(1); ++j) {
      const std::int64_t row = (j - memory.start[1]) + memory.count[1] * (k - memory.start[2]);
      visit(base + (block.start[0] - memory.start[0] + memory.count[0] * row) * bytes, block.count[0]);
    }
}

/// How much of a block is summed and then written at once, in bytes: so much stays in the cache between the two, and
/// where a file has a multiple of it, Linux keeps it in one huge page.
constexpr std::int64_t piece_bytes = std::int64_t{2} << 20;
/// Chunks of files begin at multiples of a piece from this size on: they then take a sixteenth more room at most.
constexpr std::int64_t large_chunk_bytes = 16 * piece_bytes;

/// Adds the values of `place.block` in logical order. Local.
void add_block(RunningChecksum &sum, const Placement &place, std::size_t size, const void *data);

/// Whether values of one type can be had as another: integers as floating point, but not the other way.
bool convertible(Type from, Type to);
/// Copies the block out of its memory box, changed from one type to another, into contiguous memory. Local.
void convert_block(const Placement &place, Type from, Type to, const void *data, void *target);

/// Changes `count` contiguous values from one type to the other. Local.
void convert(Type from, const void *source, Type to, void *target, std::int64_t count);

/// What a rank's placement of a variable becomes in a variable that holds the points of `region` only. Throws
/// InputError for a region outside the shape. The array serves as it is where every point counts, else `packed` takes
/// the chosen ones and `data` points there. Local.
Placement place_in_region(const std::string &name, const Placement &place, const Region &region, std::size_t size,
                          const void *&data, std::vector<char> &packed);

/// Cuts a box into boxes that follow each other in logical order, of at most `most` points each.
std::vector<Box> pieces_of(const Box &box, std::int64_t most);

/// "(0:17, 4:8, 0:9)": the ranges of a box in x, y and z.
std::string describe(const Box &box);
/// "17 x 12 x 9".
std::string describe(const Index3 &shape);

/// Throws InputError for a name that a variable cannot have.
void check_name(const std::string &name);
/// Throws InputError for a name that an attribute cannot have: a variable's name, or "variable/attribute".
void check_attribute_name(const std::string &name);
/// Throws InputError when a variable cannot be placed so: no such shape, a block outside it, memory that lacks the
/// block. Only a list may have no points at all.
void check_placement(const std::string &name, const Placement &place, const void *data, bool list = false);

/// Throws InputError for a grid whose coordinates are not as many as its points, or do not grow.
void check_grid(const GridDescription &grid);

} // namespace tailrace::io
