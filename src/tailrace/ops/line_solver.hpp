#pragma once

#include <tailrace/ops/line_system.hpp>
#include <tailrace/ops/scheme_rows.hpp>
#include <tailrace/support/simd.hpp>

#include <algorithm>

namespace tailrace::ops {

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

/// A step of the backward substitution: d y - b next, where `next` is the value before. That product comes first, so
/// that compilers fuse it with the difference: each row then waits for one operation on the row before, not for two.
template <class T> inline Vec<T> backward_step(T d, Vec<T> y, T b, Vec<T> next) {
  const Vec<T> carried = b * next;
  return d * y - carried;
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
      next[i] = backward_step(d, x[i][j], b, next[i]);
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
  return right_hand_side<T, op, pairs>(f + j, system.pairs);
}

/// Applies the system to M bundles of lines at once: f[i] points at point 0 of ghosted input, x[i] gets points_out
/// values. Several bundles hide the latency of the recurrences.
template <class T, int M, class Fetch = FetchNothing>
inline void solve_lines(const LineSystem<T> &s, const Vec<T> *const (&f)[M], Vec<T> *const (&x)[M],
                        const Fetch &fetch = {}) {
  with_scheme(s.operation, s.pair_count, [&](auto scheme) {
    detail::solve<T, decltype(scheme)::operation, decltype(scheme)::pairs, M>(s, f, x, fetch);
  });
}

} // namespace tailrace::ops
