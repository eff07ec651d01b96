#pragma once

#include <tailrace/flow/time_integration.hpp>
#include <tailrace/support/simd.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tailrace::flow {

/// The weights of right-hand sides in a stage, the newest first, times dt.
template <class T> struct Weights {
  T value[3] = {};
  int older;
  Weights(const Stage &stage, double dt) : older(static_cast<int>(stage.weights.size()) - 1) {
    for (int age = 0; age <= older; ++age)
      value[age] = static_cast<T>(stage.weights[static_cast<std::size_t>(age)] * dt);
  }

  /// f: the newest right-hand side, complete. Stores it, and the advanced u.
  void integrate(Vec<T> newest, T *f, T *u, const std::array<const T *, 2> &past, std::int64_t offset,
                 int count) const {
    Vec<T> next = load(u + offset, count) + value[0] * newest;
    for (int age = 0; age < older; ++age)
      next += value[age + 1] * load(past[static_cast<std::size_t>(age)] + offset, count);
    store(f + offset, newest, count);
    store(u + offset, next, count);
  }

  /// sum = the weighted sum of `count` values.
  void add_up(const T *newest, const std::array<const T *, 2> &past, T *sum, std::int64_t count) const {
    for (std::int64_t at = 0; at < count; at += lanes<T>) {
      const int used = static_cast<int>(std::min<std::int64_t>(lanes<T>, count - at));
      Vec<T> total = value[0] * load(newest + at, used);
      for (int age = 0; age < older; ++age)
        total += value[age + 1] * load(past[static_cast<std::size_t>(age)] + at, used);
      store(sum + at, total, used);
    }
  }
};

} // namespace tailrace::flow
