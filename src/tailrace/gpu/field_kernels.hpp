#pragma once

#include <tailrace/device/launch.hpp>
#include <tailrace/flow/equations/node_rate.hpp>
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

/// A warp has a row: each lane joins the values of its share, and then those of the other lanes in pairs.
template <class Value, class Join> struct ReduceRows {
  Value value;
  Join join;
  int points, rows;
  double *found;
  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<threads>::each_warp([&](int warp) {
      const int row = place.x * ops::Block<threads>::warps + warp;
      if (row >= rows)
        return;
      ops::PerLane<double> all;
      ops::Warp::each([&](int lane) {
        all[lane] = 0;
        for (int i = lane; i < points; i += ops::warp_lanes)
          all[lane] = join(all[lane], value(row, i));
      });
      for (int by = ops::warp_lanes / 2; by > 0; by /= 2) {
        const ops::PerLane<double> other = ops::Warp::rotate(all, by);
        ops::Warp::each([&](int lane) { all[lane] = join(all[lane], other[lane]); });
      }
      ops::Warp::each([&](int lane) {
        if (lane == 0)
          found[row] = all[lane];
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

namespace detail {
template <class T> struct AddMultiple {
  T *field, factor;
  const T *other;
  std::int64_t row, plane;
  int first[3], last[3];
  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<threads>::each([&](int thread) {
      const std::int64_t start = (first[1] + place.x) * row + (first[2] + place.y) * plane;
      for (int i = first[0] + thread; i < last[0]; i += threads)
        field[start + i] += factor * other[start + i];
    });
  }
};
} // namespace detail

/// field += factor * other, at the nodes of a box in this rank's part.
template <class T>
void add_multiple(const device::Stream &stream, const grid::Box &part, const grid::Box &where, T *field, T factor,
                  const T *other) {
  detail::AddMultiple<T> body{field, factor, other, part.count[0], part.count[0] * part.count[1], {}, {}};
  for (int d = 0; d < 3; ++d) {
    body.first[d] = static_cast<int>(where.start[d] - part.start[d]);
    body.last[d] = static_cast<int>(where.end(d) - part.start[d]);
  }
  device::launch<detail::threads>(stream, {body.last[1] - body.first[1], body.last[2] - body.first[2]}, 0, body);
}

struct Plus {
  TAILRACE_LANES double operator()(double a, double b) const { return a + b; }
};
struct Larger {
  TAILRACE_LANES double operator()(double a, double b) const { return a < b ? b : a; }
};

/// A weight of the place in x times the value there.
template <class T> struct Weighted {
  const T *field;
  const double *weights;
  std::int64_t points;
  TAILRACE_LANES double operator()(int row, int i) const {
    return weights[i] * static_cast<double>(field[row * points + i]);
  }
};

/// A weight of the place in x times the product of the values of two fields there.
template <class T> struct WeightedProduct {
  const T *a, *b;
  const double *weights;
  std::int64_t points;
  TAILRACE_LANES double operator()(int row, int i) const {
    const std::int64_t at = row * points + i;
    return weights[i] * (static_cast<double>(a[at]) * static_cast<double>(b[at]));
  }
};

/// The size of a value; infinite where it is not a number.
template <class T> struct Size {
  const T *field;
  std::int64_t points;
  TAILRACE_LANES double operator()(int row, int i) const {
    const auto value = static_cast<double>(field[row * points + i]);
    return value == value ? (value < 0 ? -value : value) : std::numeric_limits<double>::infinity();
  }
};

/// See flow::node_rate; x, y, z: the inverse distances.
template <class T> struct Rate {
  const T *velocity[3];
  const double *x, *y, *z;
  std::int64_t points;
  int rows_of_plane;
  TAILRACE_LANES double operator()(int row, int i) const {
    const std::int64_t at = row * points + i;
    return flow::node_rate(velocity[0][at], velocity[1][at], velocity[2][at], x[i], y[row % rows_of_plane],
                           z[row / rows_of_plane]);
  }
};

/// found[row] = the values of a row, joined, beginning with 0.
template <class Value, class Join>
void reduce_rows(const device::Stream &stream, int points, int rows, const Value &value, const Join &join,
                 double *found) {
  constexpr int warps = ops::Block<detail::threads>::warps;
  device::launch<detail::threads>(stream, {(rows + warps - 1) / warps, 1}, 0,
                                  detail::ReduceRows<Value, Join>{value, join, points, rows, found});
}

} // namespace tailrace::gpu
