#pragma once

#include <tailrace/ops/lanes/lane_system.hpp>
#include <tailrace/ops/lanes/padded_line.hpp>

namespace tailrace::ops {

/// Results of the rows of a lane.
template <class T, int rows> struct LaneRows {
  T row[rows];
};

namespace detail {

/// How far a scheme reaches from its output point.
template <Operation op, int pairs>
inline constexpr int reach_low = is_staggered(op) && !to_node(op) ? 1 - pairs : -pairs;
template <Operation op, int pairs> inline constexpr int reach_high = to_node(op) ? pairs - 1 : pairs;

/// What the recurrence brings into each lane from those before it, or after it where `up` is false, if `end` is what it
/// gives there from zero at the last row of each lane.
template <bool up, class T> TAILRACE_LANES PerLane<T> carried(const LaneSystem<T> &s, PerLane<T> end) {
  constexpr int next = up ? 1 : -1;
  TAILRACE_UNROLL
  for (int step = 0; step < LaneSystem<T>::doublings; ++step)
    if (step < s.steps) {
      const PerLane<T> before = Warp::rotate(end, next * (1 << step));
      Warp::each([&](int lane) { end[lane] += (up ? s.ahead : s.behind)[step][lane] * before[lane]; });
    }
  PerLane<T> in = Warp::rotate(end, next);
  Warp::each([&](int lane) { in[lane] = lane == (up ? 0 : warp_lanes - 1) ? T(0) : in[lane]; });
  if (!s.periodic)
    return in;
  const T around = s.wrap * Warp::of(end, up ? (s.points_out - 1) / s.rows : 0); // the last lane that has rows
  Warp::each([&](int lane) { in[lane] += (up ? s.from_start : s.from_end)[lane] * around; });
  return in;
}

/// The right-hand side of one of the end rows, of which `line` has the points.
template <class T, Operation op, int pairs, class Line>
TAILRACE_LANES T end_right_hand_side(const LaneSystem<T> &s, const Line &line, int end) {
  const typename LaneSystem<T>::End &row = s.ends[end];
  if (row.count == 0)
    return right_hand_side<T, op, pairs>(PointsAt<Line>{line, end < s.lower ? end : s.last + 1 + end - s.lower},
                                         s.pairs);
  T sum = 0;
  for (int k = 0; k < row.count; ++k)
    sum += row.weights[k] * line[row.first + k];
  return sum;
}

/// Adds what the ends of an open line give to its interior, and puts the results of the end rows.
template <class T, Operation op, int pairs, class Line, int rows>
TAILRACE_LANES void add_ends(const LaneSystem<T> &s, const Line &line, PerLane<LaneRows<T, rows>> &x) {
  PerLane<T> given, at_first, at_last;
  Warp::each([&](int lane) {
    at_first[lane] = at_last[lane] = 0;
    TAILRACE_UNROLL
    for (int j = 0; j < rows; ++j) {
      at_first[lane] = lane * rows + j == s.first ? x[lane].row[j] : at_first[lane];
      at_last[lane] = lane * rows + j == s.last ? x[lane].row[j] : at_last[lane];
    }
  });
  const bool interior = s.first <= s.last;
  const T value_first = interior ? Warp::of(at_first, s.first / rows) : T(0);
  const T value_last = interior ? Warp::of(at_last, s.last / rows) : T(0);
  Warp::each([&](int lane) {
    const int end = lane < s.lower ? lane : lane - 2;
    given[lane] = lane == s.lower ? value_first : lane == s.lower + 1 ? value_last : T(0);
    if ((lane < s.lower || lane >= s.lower + 2) && end < s.lower + s.upper)
      given[lane] = end_right_hand_side<T, op, pairs>(s, line, end);
  });
  PerLane<T> found; // each lane has one of the results, see LaneSystem::to_ends
  Warp::each([&](int lane) { found[lane] = 0; });
  for (int k = 0; k < s.lower + s.upper + 2; ++k) {
    const T one = Warp::of(given, k);
    Warp::each([&](int lane) { found[lane] += lane < LaneSystem<T>::most_ends ? s.to_ends[lane][k] * one : T(0); });
  }
  const T a = Warp::of(found, s.lower), b = Warp::of(found, s.lower + 1);
  Warp::each([&](int lane) {
    T power = a * s.low[lane];
    TAILRACE_UNROLL
    for (int j = 0; j < rows; ++j) {
      const int at = lane * rows + j;
      power = at == s.first ? a : power * s.r;
      x[lane].row[j] += power;
    }
    power = b * s.high[lane];
    TAILRACE_UNROLL
    for (int j = rows - 1; j >= 0; --j) {
      const int at = lane * rows + j;
      power = at == s.last ? b : power * s.r;
      x[lane].row[j] += power;
    }
  });
  TAILRACE_UNROLL
  for (int end = 0; end < LaneSystem<T>::most_end_rows; ++end) {
    const T below = Warp::of(found, end), above = Warp::of(found, s.lower + 2 + end);
    Warp::each([&](int lane) {
      TAILRACE_UNROLL
      for (int j = 0; j < rows; ++j) {
        const int at = lane * rows + j;
        T &row = x[lane].row[j];
        row = end < s.lower && at == end ? below : end < s.upper && at == s.last + 1 + end ? above : row;
      }
    });
  }
}

} // namespace detail

/// Applies a scheme to a line with its ghost points; each lane gets the results of its rows. The lanes have met before,
/// and need to meet before the line is changed. `pairs` may be more than the scheme has: the others weigh nothing.
template <class T, Operation op, int pairs, class Line, int rows>
TAILRACE_LANES void solve_line(const LaneSystem<T> &s, const Line &line, PerLane<LaneRows<T, rows>> &x) {
  Window<T, Line, rows, detail::reach_low<op, pairs>, detail::reach_high<op, pairs>> around(line);
  PerLane<T> end;
  Warp::each([&](int lane) {
    T y = 0;
    end[lane] = 0;
    around.begin(lane);
    TAILRACE_UNROLL
    for (int j = 0; j < rows; ++j) {
      const int at = lane * rows + j;
      around.advance(lane, j);
      y = (at < s.first ? T(0) : right_hand_side<T, op, pairs>(around.at(lane), s.pairs)) + s.r * y;
      x[lane].row[j] = y;
      end[lane] = at <= s.last ? y : end[lane]; // rows behind it may have read ghosts without meaning
    }
  });
  PerLane<T> in = detail::carried<true>(s, end);
  Warp::each([&](int lane) {
    T y = 0;
    TAILRACE_UNROLL
    for (int j = rows - 1; j >= 0; --j) {
      const int at = lane * rows + j;
      y = at < s.first || at > s.last ? T(0) : (x[lane].row[j] + s.power[j + 1] * in[lane]) + s.r * y;
      x[lane].row[j] = y;
    }
    end[lane] = y;
  });
  in = detail::carried<false>(s, end);
  Warp::each([&](int lane) {
    const int count = s.count(lane);
    TAILRACE_UNROLL
    for (int j = 0; j < rows; ++j)
      if (j < count && lane * rows + j <= s.last)
        x[lane].row[j] += s.power[count - j] * in[lane];
  });
  if (!s.periodic)
    detail::add_ends<T, op, pairs>(s, line, x);
  if (s.metric != nullptr)
    Warp::each([&](int lane) {
      TAILRACE_UNROLL
      for (int j = 0; j < rows; ++j)
        if (lane * rows + j < s.points_out)
          x[lane].row[j] *= s.metric[lane * rows + j];
    });
}

} // namespace tailrace::ops
