#pragma once

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// One rank's part of a variable, in the type it is stored in.
struct Block {
  std::string name;
  Type type = Type::float64;
  Placement place;
  const void *data = nullptr; ///< first value of `place.memory`
  bool list = false;          ///< the shape may differ from that of the step before, and hold nothing
  /// Null, or what the engine feeds all bytes of the block to, in logical order: as it writes them, while they are in
  /// the cache, or by add_block.
  RunningChecksum *checksum = nullptr;
};

/// So many bytes of a block are summed and then written at once: they stay in the cache between the two.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

/// Where files are cut into chunks, those of at least `large_chunk_bytes` start at multiples of
/// `large_chunk_alignment`, because the system handles whole huge pages faster. This costs at most a sixteenth of their
/// size.
constexpr std::int64_t large_chunk_bytes = std::int64_t{32} << 20;
constexpr std::int64_t large_chunk_alignment = std::int64_t{2} << 20;

/// Adds the values of `place.block`, of `size` bytes each, to a checksum in logical order. Local.
void add_block(RunningChecksum &sum, const Placement &place, std::size_t size, const void *data);

/// Whether values of one type can be converted to another: integers to floating point, but not the other way.
bool convertible(Type from, Type to);
/// Copies the block out of its memory box into contiguous memory, converted from one type to another. Local.
void convert_block(const Placement &place, Type from, Type to, const void *data, void *target);

/// Converts `count` contiguous values from one type to another. Local.
void convert(Type from, const void *source, Type to, void *target, std::int64_t count);

/// The placement of a rank's array in a variable that holds only the points of `region`. With a stride of 1 the array
/// is used as it is; otherwise the chosen points are copied to `packed`, and `data` is set to it. Throws InputError for
/// a region outside the shape. Local.
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
/// Throws InputError for a placement that is not valid: a shape without points (which only a list may have), a block
/// outside the shape, a memory box that does not contain the block, or no data.
void check_placement(const std::string &name, const Placement &place, const void *data, bool list = false);

/// Throws InputError for a grid whose number of coordinates is not that of its points, or whose coordinates do not
/// increase.
void check_grid(const GridDescription &grid);

} // namespace tailrace::io
