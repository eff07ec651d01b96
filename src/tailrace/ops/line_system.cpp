#include <tailrace/ops/line_system.hpp>

#include <algorithm>
#include <cmath>

namespace tailrace::ops {

namespace {

template <class T> std::vector<Closure<T>> closures(const std::vector<LineEquations::EndRow> &rows) {
  std::vector<Closure<T>> found;
  for (const auto &row : rows)
    if (row.closure)
      found.push_back({row.closure->first, {row.closure->weights.begin(), row.closure->weights.end()}});
  return found;
}

} // namespace

template <class T>
LineSystem<T>::LineSystem(const LineEquations &equations)
    : operation(equations.operation), sides(equations.sides), parity(equations.parity), points_in(equations.points_in),
      points_out(equations.points_out), pair_count(equations.pair_count), lower(closures<T>(equations.lower)),
      upper(closures<T>(equations.upper)) {
  for (int k = 0; k < 4; ++k)
    pairs[k] = static_cast<T>(equations.pairs[k]);
  sides.periodic() ? factor_circulant(equations) : factor_open(equations);
}

template <class T> void LineSystem<T>::factor_circulant(const LineEquations &equations) {
  const double r = equations.ratio();
  forward.assign(points_out, static_cast<T>(-r));
  backward.assign(points_out, static_cast<T>(-r));
  diagonal.assign(points_out, static_cast<T>(1 / equations.scale()));
  wrap = static_cast<int>(std::min(std::ceil(equations.rows_of_series<T>()), double(points_out)));
  for (int k = 0; k <= wrap; ++k)
    powers.push_back(static_cast<T>(std::pow(r, k)));
  wrap_scale = static_cast<T>(1 / (1 - std::pow(r, double(points_out))));
}

template <class T> void LineSystem<T>::factor_open(const LineEquations &equations) {
  const std::int64_t n = points_out;
  std::vector<double> left(n, equations.alpha), middle(n, 1), right(n, equations.alpha);
  const auto put = [&](std::int64_t j, const LineEquations::EndRow &row) {
    left[j] = row.left, middle[j] = row.middle, right[j] = row.right;
  };
  for (std::size_t i = 0; i < equations.lower.size(); ++i)
    put(static_cast<std::int64_t>(i), equations.lower[i]);
  for (std::size_t i = 0; i < equations.upper.size(); ++i)
    put(n - static_cast<std::int64_t>(equations.upper.size() - i), equations.upper[i]);
  forward.assign(n, 0);
  backward.assign(n, 0);
  diagonal.assign(n, 0);
  double pivot = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    const double m = j == 0 ? 0 : left[j] / pivot, stretch = equations.metric_at(j);
    pivot = middle[j] - (j == 0 ? 0 : m * right[j - 1]);
    forward[j] = static_cast<T>(m);
    diagonal[j] = static_cast<T>(stretch / pivot); // the solution times the metric obeys a recurrence as cheap
    backward[j] = j == n - 1 ? T(0) : static_cast<T>(right[j] / pivot * stretch / equations.metric_at(j + 1));
  }
  if (!equations.lower.empty() && equations.lower.front().vanishes)
    diagonal.front() = forward[1] = 0;
  if (!equations.upper.empty() && equations.upper.back().vanishes)
    diagonal.back() = 0;
}

template struct LineSystem<float>;
template struct LineSystem<double>;

} // namespace tailrace::ops
