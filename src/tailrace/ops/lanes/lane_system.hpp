#pragma once

#include <tailrace/ops/lanes/per_lane.hpp>
#include <tailrace/ops/line_equations.hpp>

#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace tailrace::ops {

/// The numbers of rows of a lane for which kernels are compiled. They suit powers of two and, between walls, one more.
inline constexpr int row_counts[] = {1, 2, 3, 5, 8, 9, 16, 17, 33};
inline constexpr int most_rows_per_lane = 33;

/// The smallest of them for lines of so many points; throws InputError for a line that is longer than all lanes.
int rows_per_lane(std::int64_t points);

/// Calls visit(rows) with one of them as a constant.
template <class Visit> void with_rows_per_lane(int rows, const Visit &visit) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((rows == row_counts[i] ? visit(std::integral_constant<int, row_counts[i]>{}) : void()), ...);
  }(std::make_index_sequence<std::size(row_counts)>{});
}

/// The equations of a line, prepared for lanes that have consecutive rows of it each.
///
/// The interior rows are g (I - r S)(I - r S^T): each half is a recurrence, which starts from zero in every lane; what
/// the lanes before it contribute follows by doubling (Hillis and Steele 1986), exactly for any r. Open lines begin and
/// end the recurrence at the first and the last interior row. To that is added  a r^(j - first) + b r^(last - j), which
/// the interior rows do not see; a, b and the results of the end rows come from a small matrix.
template <class T> struct LaneSystem {
  LaneSystem(const LineEquations &equations, int rows);

  static constexpr int most_end_rows = 4, most_weights = 6, most_ends = 2 * most_end_rows + 2, doublings = 5;

  /// The right-hand side of an end row: weights of the points from `first` on; none: that of the interior.
  struct End {
    int first = 0, count = 0;
    T weights[most_weights] = {};
  };

  Operation operation;
  int pair_count;
  bool periodic;
  int points_in, points_out, rows;
  int first, last; ///< interior rows
  T pairs[4];      ///< over g
  T r, power[most_rows_per_lane + 1];
  int steps;                                                     ///< doublings until powers of r have died away
  T ahead[doublings][warp_lanes], behind[doublings][warp_lanes]; ///< r^(rows of 2^s lanes), up to and from a lane
  T from_start[warp_lanes], from_end[warp_lanes];                ///< r^(rows before a lane), r^(rows after it)
  T wrap;                                                        ///< periodic: 1 / (1 - r^n), else 0
  int lower, upper;                                              ///< rows at the ends
  End ends[2 * most_end_rows];                                   ///< the lower ones, then the upper ones
  /// From the right-hand sides of the lower rows, the interior's values at `first` and `last`, and the right-hand sides
  /// of the upper rows, to the results of the lower rows, a, b, and the results of the upper rows.
  T to_ends[most_ends][most_ends];
  T low[warp_lanes], high[warp_lanes]; ///< r^(row - first) before a lane's rows, r^(last - row) after them, or 0
  const T *metric = nullptr;           ///< of each row, in memory of the one who solves; none: 1

  /// Rows that a lane has.
  TAILRACE_LANES int count(int lane) const {
    const int left = points_out - lane * rows;
    return left < 0 ? 0 : left < rows ? left : rows;
  }

private:
  void prepare_recurrences(double ratio);
  void prepare_ends(const LineEquations &equations);
};

} // namespace tailrace::ops
