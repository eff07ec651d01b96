#include <tailrace/ops/reductions.hpp>

#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>
#include <tailrace/support/simd.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace tailrace::ops {

using namespace grid;

namespace {

template <class T> using Pairs = std::vector<std::pair<const T *, const T *>>;

constexpr std::size_t most_pairs = 9;

/// Calls `work` with the number of pairs as a constant, so that the compiler unrolls the loop over them.
template <class Work> void with_count(std::size_t pairs, Work work) {
  const auto try_counts = [&]<std::size_t... n>(std::index_sequence<n...>) {
    return ((pairs == n + 1 && (work(std::integral_constant<std::size_t, n + 1>{}), true)) || ...);
  };
  if (!try_counts(std::make_index_sequence<most_pairs>{}))
    throw InputError("a sum of products takes 1 to 9 pairs");
}

template <class T, std::size_t n> struct Products {
  std::array<const T *, n> a, b;
  explicit Products(const Pairs<T> &pairs) {
    for (std::size_t i = 0; i < n; ++i)
      std::tie(a[i], b[i]) = pairs[i];
  }
  /// The sums for a register of points, computed in the type of what `load_as` returns.
  template <class Load> auto sum(Load load_as) const {
    auto total = load_as(a[0]) * load_as(b[0]);
    for (std::size_t i = 1; i < n; ++i)
      total += load_as(a[i]) * load_as(b[i]);
    return total;
  }
};

/// A register of doubles from `count` values of T; the other lanes are zero.
template <class T> Vec<double> load_doubles(const T *p, int count) {
  typedef T Values __attribute__((vector_size(lanes<double> * sizeof(T))));
  Values values{};
  if (count >= lanes<double>) [[likely]]
    std::memcpy(&values, p, sizeof values);
  else
    std::memcpy(&values, p, static_cast<std::size_t>(count) * sizeof(T));
  return __builtin_convertvector(values, Vec<double>);
}

/// Adds the weighted sum of each row along x of at(first point, number of points), a register of points.
template <class At> void sum_rows(ExactSum &sum, const Weights &weights, const Index3 &count, At at) {
  constexpr int W = lanes<double>;
  std::vector<double> x = weights[0];
  x.resize(x.size() + W, 0); // the last register of a row may reach beyond it, where values load as zero
  for (std::int64_t k = 0; k < count[2]; ++k)
    for (std::int64_t j = 0; j < count[1]; ++j) {
      const std::int64_t row = count[0] * (j + count[1] * k);
      Vec<double> sums{};
      for (std::int64_t i = 0; i < count[0]; i += W)
        sums += load(x.data() + i) * at(row + i, static_cast<int>(std::min<std::int64_t>(W, count[0] - i)));
      double in_row = 0;
      for (int lane = 0; lane < W; ++lane)
        in_row += sums[lane];
      sum.add(weights[1][static_cast<std::size_t>(j)] * weights[2][static_cast<std::size_t>(k)] * in_row);
    }
}

} // namespace

template <class T> void sum_of_products(const Pairs<T> &pairs, std::int64_t size, T *out) {
  constexpr int W = lanes<T>;
  with_count(pairs.size(), [&]<std::size_t n>(std::integral_constant<std::size_t, n>) {
    const Products<T, n> products(pairs);
    for (std::int64_t p = 0; p < size; p += W) {
      const int here = static_cast<int>(std::min<std::int64_t>(W, size - p));
      store(out + p, products.sum([&](const T *values) { return load(values + p, here); }), here);
    }
  });
}

template <class T> void add_weighted(ExactSum &sum, const Weights &weights, const Index3 &count, const T *values) {
  sum_rows(sum, weights, count, [&](std::int64_t p, int points) { return load_doubles(values + p, points); });
}

template <class T>
void add_weighted(ExactSum &sum, const Weights &weights, const Index3 &count, const Pairs<T> &pairs) {
  with_count(pairs.size(), [&]<std::size_t n>(std::integral_constant<std::size_t, n>) {
    const Products<T, n> products(pairs);
    sum_rows(sum, weights, count, [&](std::int64_t p, int points) {
      return products.sum([&](const T *values) { return load_doubles(values + p, points); });
    });
  });
}

void add_rows(ExactSum &sum, const Weights &weights, const std::vector<double> &rows) {
  std::size_t row = 0;
  for (const double z : weights[2])
    for (const double y : weights[1])
      sum.add(y * z * rows[row++]);
}

template void sum_of_products(const Pairs<float> &, std::int64_t, float *);
template void sum_of_products(const Pairs<double> &, std::int64_t, double *);
template void add_weighted(ExactSum &, const Weights &, const Index3 &, const float *);
template void add_weighted(ExactSum &, const Weights &, const Index3 &, const double *);
template void add_weighted(ExactSum &, const Weights &, const Index3 &, const Pairs<float> &);
template void add_weighted(ExactSum &, const Weights &, const Index3 &, const Pairs<double> &);

} // namespace tailrace::ops
