#pragma once

#include <tailrace/device/launch.hpp>
#include <tailrace/grid/grid.hpp>

// Small kernels on whole fields, or on the planes at their ends.

namespace tailrace::gpu {

namespace detail {
inline constexpr int threads = 4 * ops::warp_lanes;
}

/// The planes at an end of direction d, `depth` of them from the end inwards, in this rank's part of a field on the
/// nodes; none where another rank has them.
struct EndPlanes {
  int depth, fast_points, slow_points;     ///< of the other two directions the one with nearer nodes, and the other
  std::int64_t first, inwards, fast, slow; ///< where they begin, and from node to node

  EndPlanes(const grid::Grid &grid, const grid::Box &part, int d, bool upper, int of_depth) {
    const auto &n = part.count;
    const bool has_it = upper ? part.end(d) == grid.nodes[d] : part.start[d] == 0;
    depth = has_it ? static_cast<int>(n[d] < of_depth ? n[d] : of_depth) : 0;
    const std::int64_t strides[3] = {1, n[0], n[0] * n[1]};
    const int f = d == 0 ? 1 : 0, s = 3 - d - f;
    fast_points = static_cast<int>(n[f]), slow_points = static_cast<int>(n[s]);
    fast = strides[f], slow = strides[s];
    first = upper ? (n[d] - 1) * strides[d] : 0;
    inwards = upper ? -strides[d] : strides[d];
  }
  std::int64_t size() const { return std::int64_t{depth} * slow_points * fast_points; }
  /// Calls act(number among these nodes, offset in the field) for those of a row.
  template <class Act> TAILRACE_LANES void row(int plane, int line, int first_point, int step, const Act &act) const {
    for (int i = first_point; i < fast_points; i += step)
      act((std::int64_t{plane} * slow_points + line) * fast_points + i,
          first + plane * inwards + line * slow + i * fast);
  }
  /// The same for all, on the host.
  template <class Act> void visit(const Act &act) const {
    for (int plane = 0; plane < depth; ++plane)
      for (int line = 0; line < slow_points; ++line)
        row(plane, line, 0, 1, act);
  }
};

template <class T> struct Clear {
  T *field;
  TAILRACE_LANES void operator()(std::int64_t, std::int64_t at) const { field[at] = 0; }
};
template <class T> struct Pack {
  const T *field;
  T *packed;
  TAILRACE_LANES void operator()(std::int64_t here, std::int64_t at) const { packed[here] = field[at]; }
};
template <class T> struct Unpack {
  const T *packed;
  T *field;
  TAILRACE_LANES void operator()(std::int64_t here, std::int64_t at) const { field[at] = packed[here]; }
};

namespace detail {
template <class Act> struct EachOfPlane {
  EndPlanes planes;
  Act act;
  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<threads>::each([&](int thread) { planes.row(place.y, place.x, thread, threads, act); });
  }
};

template <class T> struct AddToAll {
  T *field, by;
  std::int64_t size;
  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<threads>::each([&](int thread) {
      const std::int64_t at = std::int64_t{place.x} * threads + thread;
      if (at < size)
        field[at] += by;
    });
  }
};

/// A warp has a row: each lane adds up its share, and the lanes add up those in pairs.
template <class T> struct SumRows {
  const T *field;
  const double *weights;
  int points, rows;
  double *sums;
  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<threads>::each_warp([&](int warp) {
      const int row = place.x * ops::Block<threads>::warps + warp;
      if (row >= rows)
        return;
      ops::PerLane<double> sum;
      ops::Warp::each([&](int lane) {
        sum[lane] = 0;
        for (int i = lane; i < points; i += ops::warp_lanes)
          sum[lane] += weights[i] * static_cast<double>(field[std::int64_t{row} * points + i]);
      });
      for (int by = ops::warp_lanes / 2; by > 0; by /= 2) {
        const ops::PerLane<double> other = ops::Warp::rotate(sum, by);
        ops::Warp::each([&](int lane) { sum[lane] += other[lane]; });
      }
      ops::Warp::each([&](int lane) {
        if (lane == 0)
          sums[row] = sum[lane];
      });
    });
  }
};
} // namespace detail

/// Calls act(number, offset) for each node of the planes.
template <class Act> void each_of_plane(const device::Stream &stream, const EndPlanes &planes, const Act &act) {
  device::launch<detail::threads>(stream, {planes.slow_points, planes.depth}, 0, detail::EachOfPlane<Act>{planes, act});
}

template <class T> void add_to_all(const device::Stream &stream, T *field, std::int64_t size, T by) {
  const auto blocks = static_cast<int>((size + detail::threads - 1) / detail::threads);
  device::launch<detail::threads>(stream, {blocks, 1}, 0, detail::AddToAll<T>{field, by, size});
}

/// sums[row] = the sum of weights times the values of a row.
template <class T>
void sum_rows(const device::Stream &stream, const T *field, const double *weights, int points, int rows, double *sums) {
  constexpr int warps = ops::Block<detail::threads>::warps;
  device::launch<detail::threads>(stream, {(rows + warps - 1) / warps, 1}, 0,
                                  detail::SumRows<T>{field, weights, points, rows, sums});
}

} // namespace tailrace::gpu
