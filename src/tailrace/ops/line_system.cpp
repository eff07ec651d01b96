#include <tailrace/ops/line_system.hpp>

#include <cmath>
#include <limits>

namespace tailrace::ops {

using namespace grid;

namespace {

/// The first derivative of an even quantity is odd, and the other way round; all other operations keep the parity.
Parity parity_of_result(Operation op, Parity in) {
  const bool turns = is_derivative(op) && op != Operation::second_derivative;
  return turns ? in * Parity::odd : in;
}

} // namespace

template <class T>
LineSystem<T>::LineSystem(const CompactScheme &scheme, std::int64_t nodes, const Sides &ends, Parity p, double factor,
                          const std::vector<double> &metric)
    : operation(scheme.operation), sides(ends), parity(p), pair_count(scheme.pair_count) {
  const std::int64_t cells = sides.periodic() ? nodes : nodes - 1;
  points_in = to_node(operation) ? cells : nodes;
  points_out = to_centre(operation) ? cells : nodes;
  for (int k = 0; k < 4; ++k)
    pairs[k] = static_cast<T>(scheme.pairs[k] * factor);
  if (sides.periodic())
    factor_circulant(scheme.alpha);
  else
    factor_open(scheme, factor, metric);
}

template <class T> void LineSystem<T>::factor_circulant(double alpha) {
  const double r = alpha == 0 ? 0 : (std::sqrt(1 - 4 * alpha * alpha) - 1) / (2 * alpha); // 0: nothing to solve
  const double g = 1 / (1 + r * r);
  forward.assign(points_out, static_cast<T>(-r));
  backward.assign(points_out, static_cast<T>(-r));
  diagonal.assign(points_out, static_cast<T>(1 / g));
  // The series is cut where its terms no longer change a sum of order one.
  const double negligible = std::numeric_limits<T>::epsilon() / 64;
  wrap =
      static_cast<int>(std::min<double>(std::ceil(std::log(negligible) / std::log(std::fabs(r))), double(points_out)));
  for (int k = 0; k <= wrap; ++k)
    powers.push_back(static_cast<T>(std::pow(r, k)));
  wrap_scale = static_cast<T>(1 / (1 - std::pow(r, double(points_out))));
}

template <class T>
void LineSystem<T>::factor_open(const CompactScheme &scheme, double factor, const std::vector<double> &metric) {
  const std::int64_t n = points_out;
  std::vector<double> left(n, scheme.alpha), middle(n, 1), right(n, scheme.alpha);
  // The neighbour beyond a free-slip end is this row's own (centres) or the next row's (nodes) value, with the result's
  // parity.
  const double mirrored = scheme.alpha * static_cast<int>(parity_of_result(operation, parity));
  if (sides.lower == Boundary::free_slip)
    (to_centre(operation) ? middle.front() : right.front()) += mirrored;
  if (sides.upper == Boundary::free_slip)
    (to_centre(operation) ? middle.back() : left.back()) += mirrored;
  const auto rows = wall_closures(scheme);
  for (std::size_t i = 0; i < rows.size() && sides.lower == Boundary::dirichlet; ++i) {
    left[i] = rows[i].alpha_left;
    right[i] = rows[i].alpha_right;
    lower.push_back({0, {}});
    for (const double w : rows[i].weights)
      lower.back().weights.push_back(static_cast<T>(w * factor));
  }
  // Counted from the far end the line runs backwards, which changes the sign of first derivatives.
  const bool turns = is_derivative(operation) && operation != Operation::second_derivative;
  for (std::size_t i = rows.size(); i-- > 0 && sides.upper == Boundary::dirichlet;) {
    const std::int64_t row = n - 1 - static_cast<std::int64_t>(i);
    right[row] = rows[i].alpha_left;
    left[row] = rows[i].alpha_right;
    upper.push_back({points_in - static_cast<std::int64_t>(rows[i].weights.size()), {}});
    for (auto w = rows[i].weights.rbegin(); w != rows[i].weights.rend(); ++w)
      upper.back().weights.push_back(static_cast<T>((turns ? -*w : *w) * factor));
  }
  forward.assign(n, 0);
  backward.assign(n, 0);
  diagonal.assign(n, 0);
  const auto stretch = [&](std::int64_t j) { return metric.empty() ? 1.0 : metric[static_cast<std::size_t>(j)]; };
  double pivot = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    const double m = j == 0 ? 0 : left[j] / pivot;
    pivot = middle[j] - (j == 0 ? 0 : m * right[j - 1]);
    forward[j] = static_cast<T>(m);
    diagonal[j] = static_cast<T>(stretch(j) / pivot); // the solution times the metric obeys a recurrence as cheap
    backward[j] = j == n - 1 ? T(0) : static_cast<T>(right[j] / pivot * stretch(j) / stretch(j + 1));
  }
  // The second derivative of an odd quantity vanishes at a free-slip end, also where the quantity itself does not.
  if (operation == Operation::second_derivative && parity == Parity::odd) {
    if (sides.lower == Boundary::free_slip)
      diagonal.front() = forward[1] = 0;
    if (sides.upper == Boundary::free_slip)
      diagonal.back() = 0;
  }
}

template struct LineSystem<float>;
template struct LineSystem<double>;

} // namespace tailrace::ops
