#include <tailrace/ops/implicit_lines.hpp>

#include <algorithm>

namespace tailrace::ops {

using namespace grid;

namespace {
std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }
} // namespace

template <class T>
ImplicitLines<T>::ImplicitLines(const CompactScheme &scheme, std::int64_t nodes, const Sides &sides, Parity parity,
                                const std::vector<double> &squared_metric)
    : nodes_(nodes), wide_(scheme.pair_count > 2), alpha_(static_cast<T>(scheme.alpha)) {
  const auto is_given = [&](Boundary end) { return end == Boundary::dirichlet || parity == Parity::odd; };
  given_lower_ = is_given(sides.lower), given_upper_ = is_given(sides.upper);
  Row inner;
  inner.left[reach - 1] = inner.left[reach + 1] = scheme.alpha;
  inner.left[reach] = 1;
  for (std::size_t k = 1; k <= reach; ++k) {
    inner.right[reach - k] = inner.right[reach + k] = scheme.pairs[k - 1];
    inner.right[reach] -= 2 * scheme.pairs[k - 1];
  }
  rows_.assign(at(nodes), inner);
  close_lower(scheme, {sides.upper, sides.upper}, parity);
  mirror(); // the second derivative is the same backwards
  close_lower(scheme, sides, parity);
  for (std::int64_t j = 0; j < nodes; ++j)
    weights_.push_back(squared_metric.empty() ? 1 : 1 / squared_metric[at(j)]);
  if (given_lower_)
    weights_.front() = 1;
  if (given_upper_)
    weights_.back() = 1;
  scale_.assign(weights_.begin(), weights_.end());
}

/// The rows at the lower end.
template <class T> void ImplicitLines<T>::close_lower(const CompactScheme &scheme, const Sides &sides, Parity parity) {
  if (sides.lower == Boundary::free_slip) {
    for (std::int64_t j = 0; j < reach; ++j)
      fold(rows_[at(j)], j, parity);
    if (parity == Parity::odd)
      rows_[1].left[reach - 1] = 0; // the second derivative vanishes at the end
    return;
  }
  const std::vector<ClosureRow> closures = wall_closures(scheme);
  for (std::size_t j = 0; j < closures.size(); ++j) {
    Row row;
    row.left[reach - 1] = closures[j].alpha_left;
    row.left[reach] = 1;
    row.left[reach + 1] = closures[j].alpha_right;
    for (std::size_t k = 0; k < closures[j].weights.size(); ++k)
      row.right[reach + k - j] = closures[j].weights[k];
    rows_[j] = row;
  }
  // The derivative at the end is that of row 0; it is put into row 1.
  const double amount = rows_[1].left[reach - 1];
  rows_[1].left[reach - 1] = 0;
  rows_[1].left[reach] -= amount * rows_[0].left[reach + 1];
  for (std::size_t k = 1; k < rows_[0].right.size(); ++k)
    rows_[1].right[k - 1] -= amount * rows_[0].right[k];
}

/// Puts what a row takes from beyond the lower end on the nodes that mirror it.
template <class T> void ImplicitLines<T>::fold(Row &row, std::int64_t j, Parity parity) const {
  for (std::int64_t k = 0; k < reach - j; ++k) {
    const std::size_t image = at(2 * (reach - j) - k);
    for (auto *side : {&row.left, &row.right}) {
      if (image < side->size())
        (*side)[image] += static_cast<int>(parity) * (*side)[at(k)];
      (*side)[at(k)] = 0;
    }
  }
}

template <class T> void ImplicitLines<T>::mirror() {
  std::ranges::reverse(rows_);
  for (Row &row : rows_) {
    std::ranges::reverse(row.left);
    std::ranges::reverse(row.right);
  }
}

template <class T> typename ImplicitLines<T>::EndRow ImplicitLines<T>::end_row(std::int64_t j, double before) const {
  const bool is_given = (j == 0 && given_lower_) || (j == nodes_ - 1 && given_upper_);
  if (is_given)
    return {j, {T(1)}, {T(0)}};
  const std::int64_t first = std::max<std::int64_t>(j - reach, 0), last = std::min(j + reach, nodes_ - 1);
  EndRow found{first, {}, {}};
  for (std::int64_t column = first; column <= last; ++column) {
    found.of_sum.push_back(static_cast<T>(rows_[at(j)].left[at(column - j + reach)]));
    found.of_f.push_back(static_cast<T>(before * rows_[at(j)].right[at(column - j + reach)]));
  }
  return found;
}

template <class T> void ImplicitLines<T>::prepare(double before, double after) {
  const Row &inner = rows_[at(nodes_ / 2)]; // at least 8 nodes: behind the rows of both ends
  for (std::size_t k = 0; k < reach; ++k)
    pairs_[k] = static_cast<T>(before * inner.right[reach + k + 1]);
  const std::int64_t near = wide_ ? reach : 2;
  lower_.clear();
  upper_.clear();
  for (std::int64_t j = 0; j < near; ++j) {
    lower_.push_back(end_row(j, before));
    upper_.push_back(end_row(nodes_ - near + j, before));
  }
  if (after != after_)
    factor(after);
  after_ = after;
}

template <class T> void ImplicitLines<T>::factor(double after) {
  const std::int64_t n = nodes_, width = wide_ ? reach : 2;
  std::vector<std::array<double, 2 * reach + 1>> matrix(at(n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t k = 0; k <= 2 * reach; ++k)
      if (const std::int64_t column = j + k - reach; column >= 0 && column < n)
        matrix[at(j)][at(k)] = rows_[at(j)].left[at(k)] * weights_[at(column)] - after * rows_[at(j)].right[at(k)];
  if (given_lower_)
    matrix.front() = {0, 0, 0, 0, 1};
  if (given_upper_)
    matrix.back() = {0, 0, 0, 0, 1};
  factors_.assign(at(n * (2 * width + 1)), T(0));
  for (std::int64_t j = 0; j < n; ++j) {
    auto &row = matrix[at(j)];
    T *out = factors_.data() + j * (2 * width + 1);
    for (std::int64_t k = std::min(width, j); k >= 1; --k) {
      const auto &above = matrix[at(j - k)];
      const double factor = row[at(reach - k)] / above[reach];
      for (std::int64_t m = 1; m <= width; ++m)
        row[at(reach - k + m)] -= factor * above[at(reach + m)];
      out[k - 1] = static_cast<T>(factor);
    }
    out[width] = static_cast<T>(1 / row[reach]);
    for (std::int64_t k = 1; k <= width; ++k)
      out[width + k] = static_cast<T>(row[at(reach + k)] / row[reach]);
  }
}

template <class T> Vec<T> ImplicitLines<T>::EndRow::operator()(const Vec<T> *sum, const Vec<T> *f) const {
  Vec<T> total{};
  for (std::size_t k = 0; k < of_sum.size(); ++k) {
    const auto column = first + static_cast<std::int64_t>(k);
    total += of_sum[k] * sum[column]; // one product at a time: fused in one way only, whatever is inlined where
    total += of_f[k] * f[column];
  }
  return total;
}

template <class T> void ImplicitLines<T>::body(Tile<T, 2, 1> &tile) const {
  for (int b = 0; b < tile.bundles; ++b)
    for (std::int64_t j = 0; j < nodes_; ++j)
      tile.in[1][b][j] *= scale_[at(j)];
  if (tile.bundles == tile_bundles)
    return wide_ ? solve<4, tile_bundles>(tile.in[0], tile.in[1], tile.out[0])
                 : solve<2, tile_bundles>(tile.in[0], tile.in[1], tile.out[0]);
  for (int b = 0; b < tile.bundles; ++b) {
    Vec<T> *const f[1] = {tile.in[0][b]}, *const sum[1] = {tile.in[1][b]}, *const change[1] = {tile.out[0][b]};
    wide_ ? solve<4, 1>(f, sum, change) : solve<2, 1>(f, sum, change);
  }
}

/// Several bundles at a time hide the latency of the recurrences.
template <class T>
template <int width, int M>
void ImplicitLines<T>::solve(Vec<T> *const (&f)[M], Vec<T> *const (&sum)[M], Vec<T> *const (&change)[M]) const {
  constexpr std::int64_t stride = 2 * width + 1;
  Vec<T> y[M][width]{}; // the last values, the newest first
  const auto eliminate = [&](std::int64_t j, int i, Vec<T> value) {
    const T *factors = factors_.data() + j * stride;
#pragma GCC unroll 4
    for (int k = width - 1; k >= 0; --k) // the newest last: it is the one that is waited for
      value -= factors[k] * y[i][k];
#pragma GCC unroll 4
    for (int k = width - 1; k > 0; --k)
      y[i][k] = y[i][k - 1];
    y[i][0] = value;
    change[i][j] = factors[width] * value;
  };
  const auto first = static_cast<std::int64_t>(lower_.size()), last = nodes_ - first;
  for (std::int64_t j = 0; j < first; ++j)
    for (int i = 0; i < M; ++i)
      eliminate(j, i, lower_[at(j)](sum[i], f[i]));
  for (std::int64_t j = first; j < last; ++j)
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      const Vec<T> *s = sum[i] + j, *g = f[i] + j;
      Vec<T> value = alpha_ * (s[-1] + s[1]) + s[0];
#pragma GCC unroll 4
      for (int k = 1; k <= width; ++k)
        value += pairs_[k - 1] * ((g[k] + g[-k]) - T(2) * g[0]);
      eliminate(j, i, value);
    }
  for (std::int64_t j = last; j < nodes_; ++j)
    for (int i = 0; i < M; ++i)
      eliminate(j, i, upper_[at(j - last)](sum[i], f[i]));
  Vec<T> x[M][width]{};
  for (std::int64_t j = nodes_ - 1; j >= 0; --j) {
    const T *factors = factors_.data() + j * stride + width;
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      Vec<T> value = change[i][j];
#pragma GCC unroll 4
      for (int k = width; k > 0; --k)
        value -= factors[k] * x[i][k - 1];
#pragma GCC unroll 4
      for (int k = width - 1; k > 0; --k)
        x[i][k] = x[i][k - 1];
      change[i][j] = x[i][0] = value;
    }
  }
}

template class ImplicitLines<float>;
template class ImplicitLines<double>;

} // namespace tailrace::ops
