#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tailrace::grid {

/// Three numbers, one per direction, always in the order x, y, z.
using Index3 = std::array<std::int64_t, 3>;

inline std::int64_t product(const Index3 &n) { return n[0] * n[1] * n[2]; }

/// A block of a global grid: indices `start[d] <= i < start[d] + count[d]`. In an array over a box x varies fastest and
/// z slowest.
struct Box {
  Index3 start{0, 0, 0};
  Index3 count{0, 0, 0};

  std::int64_t size() const { return product(count); }
  bool empty() const { return count[0] == 0 || count[1] == 0 || count[2] == 0; }
  std::int64_t end(int d) const { return start[d] + count[d]; }

  /// The points that are in both boxes; empty (a count of 0) if there are none.
  Box intersect(const Box &other) const {
    Box both;
    for (int d = 0; d < 3; ++d) {
      both.start[d] = std::max(start[d], other.start[d]);
      both.count[d] = std::max<std::int64_t>(0, std::min(end(d), other.end(d)) - both.start[d]);
    }
    return both;
  }
  bool contains(const Box &other) const {
    for (int d = 0; d < 3; ++d)
      if (other.start[d] < start[d] || other.end(d) > end(d))
        return false;
    return true;
  }
  bool operator==(const Box &) const = default;
};

} // namespace tailrace::grid
