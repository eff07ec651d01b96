#pragma once

#include <tailrace/ops/sweep.hpp>

namespace tailrace::flow {

/// Consecutive lines of a pencil, as a tile holds them: lane l of bundle b is line first + b * lanes + l.
struct LineRange {
  std::int64_t first, count;
};

/// The lines in a tile of a sweep over `lines`, whose first one is number `first_line` of the pencil and whose results
/// have `points_out` points.
template <class T, class Tile>
LineRange lines_of(const Tile &tile, const grid::Lines &lines, std::int64_t points_out, std::int64_t first_line) {
  const std::int64_t block = points_out * lines.stride;
  const std::int64_t outer = tile.this_out / block, column = tile.this_out % block;
  const std::int64_t left = lines.stride == 1 ? lines.outer - outer : lines.inner - column;
  return {first_line + outer * lines.inner + column, std::min<std::int64_t>(left, tile.bundles * lanes<T>)};
}

/// The stretches of solid nodes on the lines of a pencil, and the values that they are given: linear combinations of
/// fluid nodes of the same line, or zero. Lines are numbered in the order of memory.
template <class T> class SolidLines {
public:
  static constexpr int most_sources = 4; ///< fluid nodes that determine a value

  /// Nodes first, first + 1, ... of a line, `count` of them; on a periodic line they may continue at its start.
  struct Stretch {
    std::int64_t first, count;
    int sources = 0;
    std::array<std::int64_t, most_sources> source{}; ///< the fluid nodes
    std::vector<T> weights = {};                     ///< `sources` numbers for each solid node
  };

  /// `points`: nodes on a line.
  explicit SolidLines(std::int64_t points = 0) : points_(points) {}

  /// Adds the next line, with its stretches.
  void add_line(const std::vector<Stretch> &stretches) {
    stretches_.insert(stretches_.end(), stretches.begin(), stretches.end());
    starts_.push_back(static_cast<std::int64_t>(stretches_.size()));
  }

  /// Whether there are solid nodes on any of these lines.
  bool meets(const LineRange &range) const {
    return starts_[static_cast<std::size_t>(range.first)] <
           starts_[static_cast<std::size_t>(range.first + range.count)];
  }

  /// For each lane of the bundles of a tile, all bits set where its line has solid nodes.
  using LaneMask = decltype(Vec<T>{} < Vec<T>{});
  std::array<LaneMask, ops::tile_bundles> lanes_that_meet(const LineRange &range) const {
    std::array<LaneMask, ops::tile_bundles> masks{};
    for (std::int64_t l = 0; l < range.count; ++l)
      masks[static_cast<std::size_t>(l / lanes<T>)][l % lanes<T>] = meets({range.first + l, 1}) ? -1 : 0;
    return masks;
  }

  /// Replaces the values at the solid nodes of a line; node j of it is values[j * stride].
  void rebuild(std::int64_t line, T *values, std::int64_t stride) const {
    const auto number = static_cast<std::size_t>(line);
    for (std::int64_t s = starts_[number]; s < starts_[number + 1]; ++s) {
      const Stretch &stretch = stretches_[static_cast<std::size_t>(s)];
      const T *weight = stretch.weights.data();
      for (std::int64_t k = 0; k < stretch.count; ++k) {
        T sum = 0;
        for (int i = 0; i < stretch.sources; ++i)
          sum += *weight++ * values[stretch.source[static_cast<std::size_t>(i)] * stride];
        values[(stretch.first + k) % points_ * stride] = sum;
      }
    }
  }

  /// The same for all lines of a tile: of one input, or of any other bundles that hold those lines.
  void rebuild(const LineRange &range, Vec<T> *const (&bundles)[ops::tile_bundles]) const {
    if (!meets(range))
      return;
    for (std::int64_t l = 0; l < range.count; ++l)
      rebuild(range.first + l, reinterpret_cast<T *>(bundles[l / lanes<T>]) + l % lanes<T>, lanes<T>);
  }

private:
  std::int64_t points_;
  std::vector<std::int64_t> starts_{0}; ///< of each line in stretches_, and the end
  std::vector<Stretch> stretches_;
};

} // namespace tailrace::flow
