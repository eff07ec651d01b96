#pragma once

#include <tailrace/ops/line_system.hpp>
#include <tailrace/support/simd.hpp>

#include <algorithm>

namespace tailrace::ops {

/// Points kept on either side of a line in a tile, enough for the widest stencil.
inline constexpr int line_ghosts = 4;

/// Fills the ghost points of `lines` (-line_ghosts .. -1 and n .. n + line_ghosts - 1) by periodicity or by mirroring.
/// `at_centres`: the points are cell centres, and the boundary is half a cell away from the first one. At walls ghost
/// points have no meaning.
template <class T>
inline void fill_ghosts(Vec<T> *lines, std::int64_t n, const grid::Sides &sides, Parity parity, bool at_centres) {
  if (sides.periodic()) {
    for (int g = 1; g <= line_ghosts; ++g) {
      lines[-g] = lines[n - g];
      lines[n - 1 + g] = lines[g - 1];
    }
    return;
  }
  const T sign = static_cast<T>(static_cast<int>(parity));
  const int skip = at_centres ? 1 : 0;
  const bool mirror_lower = sides.lower == grid::Boundary::free_slip,
             mirror_upper = sides.upper == grid::Boundary::free_slip;
  for (int g = 1; g <= line_ghosts; ++g) { // at walls they are loaded, but no result uses them
    lines[-g] = mirror_lower ? sign * lines[g - skip] : Vec<T>{};
    lines[n - 1 + g] = mirror_upper ? sign * lines[n - 1 - g + skip] : Vec<T>{};
  }
}

/// Ghost points of values on nodes that continue oddly about the value at each end, by which a normal velocity given at
/// a wall enters the staggered derivative; at free slip that value is zero.
template <class T> inline void fill_ghosts_about_ends(Vec<T> *lines, std::int64_t n, const grid::Sides &sides) {
  if (sides.periodic())
    return fill_ghosts<T>(lines, n, sides, Parity::odd, false);
  for (int g = 1; g <= line_ghosts; ++g) {
    lines[-g] = T(2) * lines[0] - lines[g];
    lines[n - 1 + g] = T(2) * lines[n - 1] - lines[n - 1 - g];
  }
}

/// A function object that a solver calls at each point while it computes. This one does nothing.
struct FetchNothing {
  void forward(std::int64_t) const {}
  void backward(std::int64_t) const {}
};

/// This one loads the next tile's input and this tile's output into the cache: row j is so many cache lines from
/// in + j * in_stride on, and likewise for out.
template <class T> struct FetchAhead {
  const T *in;
  std::int64_t in_stride;
  T *out;
  std::int64_t out_stride;
  static constexpr std::int64_t line = 64 / sizeof(T), lines = 4;
  void forward(std::int64_t j) const {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < lines; ++i)
      __builtin_prefetch(in + j * in_stride + i * line, 0, 2);
  }
  void backward(std::int64_t j) const {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < lines; ++i)
      __builtin_prefetch(out + j * out_stride + i * line, 1, 2);
  }
};

namespace detail {

/// Right-hand side of the interior scheme at output point 0 of `f`.
template <class T, Operation op, int pairs> inline Vec<T> right_hand_side(const Vec<T> *f, const T (&c)[4]) {
  constexpr int shift = to_node(op) ? -1 : 0;
  Vec<T> sum;
  if constexpr (op == Operation::first_derivative) {
    sum = c[0] * (f[1] - f[-1]) + c[1] * (f[2] - f[-2]);
  } else if constexpr (op == Operation::second_derivative) {
    sum = c[0] * ((f[1] + f[-1]) - T(2) * f[0]) + c[1] * ((f[2] + f[-2]) - T(2) * f[0]);
    if constexpr (pairs > 2)
      sum += c[2] * ((f[3] + f[-3]) - T(2) * f[0]) + c[3] * ((f[4] + f[-4]) - T(2) * f[0]);
  } else if constexpr (op == Operation::filter) {
    sum = c[3] * f[0] + c[0] * (f[1] + f[-1]) + c[1] * (f[2] + f[-2]) + c[2] * (f[3] + f[-3]);
  } else if constexpr (is_derivative(op)) {
    sum = c[0] * (f[shift + 1] - f[shift]) + c[1] * (f[shift + 2] - f[shift - 1]);
  } else {
    sum = c[0] * (f[shift + 1] + f[shift]) + c[1] * (f[shift + 2] + f[shift - 1]);
    if constexpr (pairs > 2)
      sum += c[2] * (f[shift + 3] + f[shift - 2]);
    if constexpr (pairs > 3)
      sum += c[3] * (f[shift + 4] + f[shift - 3]);
  }
  return sum;
}

/// The periodic correction of circulant factors: completes M forward solutions, whose last values are in `last`, and
/// replaces these by the values of the backward solutions beyond the far end.
template <class T, int M> inline void wrap_around(const LineSystem<T> &s, Vec<T> *const (&y)[M], Vec<T> (&last)[M]) {
  Vec<T> before[M], sum[M]{};
  for (int i = 0; i < M; ++i)
    before[i] = last[i] * s.wrap_scale; // the value at -1
  for (int k = 0; k < s.wrap; ++k) {
    const T power = s.powers[k], next = s.powers[k + 1];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      const Vec<T> value = y[i][k] + next * before[i];
      y[i][k] = value;
      sum[i] += power * value;
    }
  }
  const T scale = s.wrap_scale * s.diagonal[0];
  for (int i = 0; i < M; ++i)
    last[i] = sum[i] * scale;
}

template <class T, Operation op, int pairs, int M, class Fetch>
inline void solve(const LineSystem<T> &s, const Vec<T> *const (&f)[M], Vec<T> *const (&x)[M], const Fetch &fetch) {
  const std::int64_t n = s.points_out;
  const auto first = static_cast<std::int64_t>(s.lower.size()), last = s.first_upper();
  Vec<T> edge[M]{};
  const auto close = [&](const auto &closure, std::int64_t j) {
    for (int i = 0; i < M; ++i) {
      edge[i] = closure(f[i]) - s.forward[j] * edge[i];
      x[i][j] = edge[i];
    }
  };
  for (std::int64_t j = 0; j < first; ++j)
    close(s.lower[j], j);
  Vec<T> y[M]; // values that no function refers to stay in registers, whether those are inlined or not
  std::copy_n(edge, M, y);
  for (std::int64_t j = first; j < last; ++j) {
    const T m = s.forward[j];
    fetch.forward(j);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      y[i] = right_hand_side<T, op, pairs>(f[i] + j, s.pairs) - m * y[i];
      x[i][j] = y[i];
    }
  }
  std::copy_n(y, M, edge);
  for (std::int64_t j = last; j < n; ++j)
    close(s.upper[j - last], j);
  Vec<T> next[M]{};
  if (s.wrap > 0) {
    wrap_around<T, M>(s, x, edge);
    std::copy_n(edge, M, next);
  }
  for (std::int64_t j = n - 1; j >= 0; --j) {
    const T d = s.diagonal[j], b = s.backward[j];
    fetch.backward(j);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      next[i] = d * x[i][j] - b * next[i];
      x[i][j] = next[i];
    }
  }
}

} // namespace detail

/// The right-hand side of row j of a system whose first and last rows may be closures.
template <class T, Operation op, int pairs>
inline Vec<T> row(const LineSystem<T> &system, const Vec<T> *f, std::int64_t j) {
  if (j < static_cast<std::int64_t>(system.lower.size()))
    return system.lower[static_cast<std::size_t>(j)](f);
  if (j >= system.first_upper())
    return system.upper[static_cast<std::size_t>(j - system.first_upper())](f);
  return detail::right_hand_side<T, op, pairs>(f + j, system.pairs);
}

/// Applies the system to M bundles of lines at once: f[i] points at point 0 of ghosted input, x[i] gets points_out
/// values. Several bundles hide the latency of the recurrences.
template <class T, int M, class Fetch = FetchNothing>
inline void solve_lines(const LineSystem<T> &s, const Vec<T> *const (&f)[M], Vec<T> *const (&x)[M],
                        const Fetch &fetch = {}) {
  using enum Operation;
  switch (s.operation) {
  case first_derivative:
    return detail::solve<T, first_derivative, 2, M>(s, f, x, fetch);
  case second_derivative:
    return s.pair_count == 2 ? detail::solve<T, second_derivative, 2, M>(s, f, x, fetch)
                             : detail::solve<T, second_derivative, 4, M>(s, f, x, fetch);
  case filter:
    return detail::solve<T, Operation::filter, 3, M>(s, f, x, fetch);
  case derivative_to_centre:
    return detail::solve<T, derivative_to_centre, 2, M>(s, f, x, fetch);
  case derivative_to_node:
    return detail::solve<T, derivative_to_node, 2, M>(s, f, x, fetch);
  case interpolate_to_centre:
    return s.pair_count == 3   ? detail::solve<T, interpolate_to_centre, 3, M>(s, f, x, fetch)
           : s.pair_count == 2 ? detail::solve<T, interpolate_to_centre, 2, M>(s, f, x, fetch)
                               : detail::solve<T, interpolate_to_centre, 4, M>(s, f, x, fetch);
  case interpolate_to_node:
    return s.pair_count == 3   ? detail::solve<T, interpolate_to_node, 3, M>(s, f, x, fetch)
           : s.pair_count == 2 ? detail::solve<T, interpolate_to_node, 2, M>(s, f, x, fetch)
                               : detail::solve<T, interpolate_to_node, 4, M>(s, f, x, fetch);
  }
}

} // namespace tailrace::ops
