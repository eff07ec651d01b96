#pragma once

#include <tailrace/ops/lanes/per_lane.hpp>
#include <tailrace/ops/scheme_rows.hpp>

namespace tailrace::ops {

/// A line with its ghost points in memory that the lanes share, `rows` points for each of them. Where that is an even
/// number, a place is left out after so many points: lanes which read their points of one number use different banks.
template <class T, int rows> class PaddedLine {
public:
  static constexpr int place(int point) {
    return point + line_ghosts + (rows % 2 == 0 ? (point + line_ghosts) / rows : 0);
  }
  /// Values that the memory of a line has.
  static constexpr int room = place(warp_lanes * rows + line_ghosts) + 1;

  TAILRACE_LANES explicit PaddedLine(T *memory) : memory_(memory) {}
  TAILRACE_LANES T &operator[](std::int64_t point) const { return memory_[place(static_cast<int>(point))]; }

private:
  T *memory_;
};

/// The points of a line as they are seen from one of them.
template <class Line> struct PointsAt {
  const Line &line;
  int point;
  TAILRACE_LANES auto operator[](std::int64_t k) const { return line[point + k]; }
};

/// The products of two lines, as a line.
template <class T, int rows> struct ProductLine {
  PaddedLine<T, rows> a, b;
  TAILRACE_LANES T operator[](std::int64_t point) const { return a[point] * b[point]; }
};

/// The points around one of a lane's rows, which moves on row by row: each is read once.
template <class T, class Line, int rows, int low, int high> class Window {
public:
  TAILRACE_LANES explicit Window(const Line &line) : line_(line) {}
  /// Before the first row of a lane.
  TAILRACE_LANES void begin(int lane) {
    TAILRACE_UNROLL
    for (int k = low; k < high; ++k)
      around_[lane].values[k - low + 1] = line_[lane * rows + k]; // the first step moves them
  }
  TAILRACE_LANES void advance(int lane, int row) {
    TAILRACE_UNROLL
    for (int k = low; k < high; ++k)
      around_[lane].values[k - low] = around_[lane].values[k - low + 1];
    around_[lane].values[high - low] = line_[lane * rows + row + high];
  }
  /// The value k points from the row.
  struct Points {
    T values[high - low + 1];
    TAILRACE_LANES T operator[](int k) const { return values[k - low]; }
  };
  TAILRACE_LANES const Points &at(int lane) const { return around_[lane]; }

private:
  Line line_;
  PerLane<Points> around_;
};

} // namespace tailrace::ops
