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
LineSystem<T>::LineSystem(const CompactScheme &scheme, std::int64_t nodes, Boundary b, Parity p, double factor)
    : operation(scheme.operation), boundary(b), parity(p), pair_count(scheme.pair_count) {
  const std::int64_t cells = b == Boundary::periodic ? nodes : nodes - 1;
  points_in = to_node(operation) ? cells : nodes;
  points_out = to_centre(operation) ? cells : nodes;
  for (int k = 0; k < 4; ++k)
    pairs[k] = static_cast<T>(scheme.pairs[k] * factor);
  if (b == Boundary::periodic)
    factor_circulant(scheme.alpha);
  else
    factor_open(scheme, factor);
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

template <class T> void LineSystem<T>::factor_open(const CompactScheme &scheme, double factor) {
  const std::int64_t n = points_out;
  std::vector<double> left(n, scheme.alpha), middle(n, 1), right(n, scheme.alpha);
  if (boundary == Boundary::free_slip) {
    // The neighbour beyond the boundary is this row's own (centres) or the next row's (nodes) value, with the result's
    // parity.
    const double mirrored = scheme.alpha * static_cast<int>(parity_of_result(operation, parity));
    double &first = to_centre(operation) ? middle.front() : right.front();
    double &last = to_centre(operation) ? middle.back() : left.back();
    first += mirrored;
    last += mirrored;
  } else {
    const auto rows = wall_closures(operation, scheme.spacing, scheme.alpha);
    // Counted from the far wall the line runs backwards, which changes the sign of first derivatives.
    const bool turns = is_derivative(operation) && operation != Operation::second_derivative;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto near = static_cast<std::int64_t>(i), far = n - 1 - near;
      left[near] = right[far] = rows[i].alpha_left;
      right[near] = left[far] = rows[i].alpha_right;
      Closure at_near{near, {}, 0}, at_far{far, {}, points_in - static_cast<std::int64_t>(rows[i].weights.size())};
      for (const double w : rows[i].weights)
        at_near.weights.push_back(static_cast<T>(w * factor));
      for (auto w = rows[i].weights.rbegin(); w != rows[i].weights.rend(); ++w)
        at_far.weights.push_back(static_cast<T>((turns ? -*w : *w) * factor));
      closures.push_back(at_near);
      closures.push_back(at_far);
    }
  }
  forward.assign(n, 0);
  backward.assign(n, 0);
  diagonal.assign(n, 0);
  double pivot = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    const double m = j == 0 ? 0 : left[j] / pivot;
    pivot = middle[j] - (j == 0 ? 0 : m * right[j - 1]);
    forward[j] = static_cast<T>(m);
    diagonal[j] = static_cast<T>(1 / pivot);
    backward[j] = j == n - 1 ? T(0) : static_cast<T>(right[j] / pivot);
  }
}

template struct LineSystem<float>;
template struct LineSystem<double>;

} // namespace tailrace::ops
