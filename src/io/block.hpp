#pragma once

#include <tailrace/io/types.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::io {

/// 64-bit xxHash of bytes that come piece by piece. Local.
class RunningChecksum {
public:
  RunningChecksum();
  void add(const void *data, std::size_t bytes);
  /// As 16 hexadecimal digits.
  std::string text() const;

private:
  std::shared_ptr<void> state_; ///< keeps xxhash.h out of this header
};

/// The checksum of the values of `place.block` in logical order. Local.
std::string checksum(const Placement &place, std::size_t size, const void *data);

/// Copies the block out of its memory box, changed from one type to another, into contiguous memory. Local.
std::vector<char> convert_block(const Placement &place, Type from, Type to, const void *data);

/// Changes `count` contiguous values from one type to the other. Local.
void convert(Type from, const void *source, Type to, void *target, std::int64_t count);

/// Cuts a box into boxes that follow each other in logical order, of at most `most` points each but at least one row.
std::vector<Box> pieces_of(const Box &box, std::int64_t most);

/// "(0:17, 4:8, 0:9)": the ranges of a box in x, y and z.
std::string describe(const Box &box);
/// "17 x 12 x 9".
std::string describe(const Index3 &shape);

/// Throws InputError for a name that a variable cannot have.
void check_name(const std::string &name);
/// Throws InputError when a variable cannot be placed so: no such shape, a block outside it, memory that lacks the
/// block.
void check_placement(const std::string &name, const Placement &place, const void *data);

} // namespace tailrace::io
