#pragma once

#include <tailrace/grid/box.hpp>

namespace tailrace::grid {

/// The lines of a block along one direction. Memory is an array [outer][points][stride], and lines are its first
/// `inner` columns; neighbouring columns are neighbours in memory.
struct Lines {
  std::int64_t outer, points, inner, stride;
  std::int64_t row = 0; ///< if not 0, columns are taken together only within rows of this length

  Lines with_points(std::int64_t n) const { return {outer, n, inner, stride, row}; }
  /// The same, for work that takes columns in pairs: the pairs are then those of any number of ranks.
  Lines in_pairs(std::int64_t length) const { return {outer, points, inner, stride, length % 2 == 0 ? 0 : length}; }

  /// All lines of a block of `count` points along direction d.
  static Lines along(int d, const Index3 &count) {
    switch (d) {
    case 0:
      return {count[1] * count[2], count[0], 1, 1};
    case 1:
      return {count[2], count[1], count[0], count[0]};
    default:
      return {1, count[2], count[0] * count[1], count[0] * count[1]};
    }
  }
};

} // namespace tailrace::grid
