#pragma once

#include <tailrace/io/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// 64-bit xxHash of the values of `place.block` in logical order, as 16 hexadecimal digits. Local.
std::string checksum(const Placement &place, std::size_t size, const void *data);

/// Copies the block out of its memory box, changed from one type to another, into contiguous memory. Local.
std::vector<char> convert_block(const Placement &place, Type from, Type to, const void *data);

/// Changes `count` contiguous values from one type to the other. Local.
void convert(Type from, const void *source, Type to, void *target, std::int64_t count);

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
