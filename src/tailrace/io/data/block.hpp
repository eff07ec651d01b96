#pragma once

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// One rank's part of a variable, in its stored type.
struct Block {
  std::string name;
  Type type = Type::float64;
  Placement place;
  const void *data = nullptr; ///< first value of `place.memory`
  bool list = false;          ///< may change its shape in each step, and may be empty
  /// Null, or the checksum to which the engine adds all bytes of the block in logical order: while it writes them,
  /// because they are in the cache then, or with add_block.
  RunningChecksum *checksum = nullptr;
};

/// The engine sums and then writes this many bytes at a time, so that they stay in the cache in between.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

/// In files that consist of chunks, chunks of at least `large_chunk_bytes` start at multiples of
/// `large_chunk_alignment`, because the system handles whole huge pages faster. This costs at most a sixteenth of their
/// size.
constexpr std::int64_t large_chunk_bytes = std::int64_t{32} << 20;
constexpr std::int64_t large_chunk_alignment = std::int64_t{2} << 20;

/// Adds the values of `place.block`, of `size` bytes each, to a checksum in logical order. Local.
void add_block(RunningChecksum &sum, const Placement &place, std::size_t size, const void *data);

/// Whether values of one type can be converted to another: only to the same type or to floating point.
bool convertible(Type from, Type to);
/// Copies the block out of its memory box into contiguous memory and converts it to another type. Local.
void convert_block(const Placement &place, Type from, Type to, const void *data, void *target);

/// Converts `count` contiguous values from one type to another. Local.
void convert(Type from, const void *source, Type to, void *target, std::int64_t count);

/// The placement of a rank's array in a variable that holds only the points of `region`. With a stride of 1 the array
/// is used without a copy; otherwise the chosen points are copied to `packed`, and `data` points there. Throws
/// InputError for a region outside the shape. Local.
Placement place_in_region(const std::string &name, const Placement &place, const Region &region, std::size_t size,
                          const void *&data, std::vector<char> &packed);

/// Splits a box into boxes of at most `most` points each, which follow each other in logical order.
std::vector<Box> pieces_of(const Box &box, std::int64_t most);

/// "(0:17, 4:8, 0:9)": the ranges of a box in x, y and z.
std::string describe(const Box &box);
/// "17 x 12 x 9".
std::string describe(const Index3 &shape);

/// Throws InputError for a name that a variable cannot have.
void check_name(const std::string &name);
/// Throws InputError for a name that an attribute cannot have. Valid: a variable's name, or "variable/attribute".
void check_attribute_name(const std::string &name);
/// Throws InputError for a placement that is not valid: a shape without points (which only a list may have), a block
/// outside the shape, a memory box that does not contain the block, or no data.
void check_placement(const std::string &name, const Placement &place, const void *data, bool list = false);

/// Throws InputError for a grid whose number of coordinates is not that of its points, or whose coordinates do not
/// increase.
void check_grid(const GridDescription &grid);

} // namespace tailrace::io
