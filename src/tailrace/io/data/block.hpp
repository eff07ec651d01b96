#pragma once

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/types.hpp>

#include <algorithm>
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

/// No file is larger, and below it sums of sizes and positions do not overflow.
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

/// In files that consist of chunks, chunks of at least `large_chunk_bytes` start at multiples of
/// `large_chunk_alignment`, because the system handles whole huge pages faster. This costs at most a sixteenth of their
/// size.
constexpr std::int64_t large_chunk_bytes = std::int64_t{32} << 20;
constexpr std::int64_t large_chunk_alignment = std::int64_t{2} << 20;

/// Adds the values of `place.block`, of `size` bytes each, to a checksum in logical order. Local.
void add_block(RunningChecksum &sum, const Placement &place, std::size_t size, const void *data);

/// Whether values of one type can be converted to another: to the same, or, if they are not complex, to float32 or
/// float64.
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

/// Calls `work` with the pieces of a box, boxes of at most `most` points each, in logical order.
template <class Work> void for_each_piece(const Box &box, std::int64_t most, Work work) {
  if (box.empty())
    return;
  const std::int64_t columns = std::min(box.count[0], most), rows = std::max<std::int64_t>(1, most / box.count[0]);
  const std::int64_t planes = std::max<std::int64_t>(1, rows / box.count[1]);
  for (std::int64_t k = box.start[2]; k < box.end(2); k += planes)
    for (std::int64_t j = box.start[1]; j < box.end(1); j += rows)
      for (std::int64_t i = box.start[0]; i < box.end(0); i += columns)
        work(
            Box{{i, j, k},
                {std::min(columns, box.end(0) - i), std::min(rows, box.end(1) - j), std::min(planes, box.end(2) - k)}});
}
std::vector<Box> pieces_of(const Box &box, std::int64_t most);

/// "(0:17, 4:8, 0:9)": the ranges of a box in x, y and z.
std::string describe(const Box &box);
/// "17 x 12 x 9".
std::string describe(const Index3 &shape);

/// Throws InputError for a name that a variable cannot have.
void check_name(const std::string &name);
/// Throws InputError for a name that an attribute cannot have. Valid: a variable's name, or "variable/attribute".
void check_attribute_name(const std::string &name);
/// Throws InputError for a shape that no variable has: one without points, which only a list may have, or with more
/// points than any file holds.
void check_shape(const std::string &name, const Index3 &shape, bool list = false);
/// Throws InputError for a placement that is not valid: a shape as above, a block
/// outside the shape, a memory box that does not contain the block, or no data.
void check_placement(const std::string &name, const Placement &place, const void *data, bool list = false);

/// Throws InputError for a grid without points, whose number of coordinates is not that of its points, whose
/// coordinates do not increase, or which has coordinates in some directions and very many points in another.
void check_grid(const GridDescription &grid);

} // namespace tailrace::io
