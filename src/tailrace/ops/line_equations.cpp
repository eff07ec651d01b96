#include <tailrace/ops/line_equations.hpp>

#include <algorithm>
#include <utility>

namespace tailrace::ops {

using namespace grid;

namespace {

/// Operations that change their sign where a line is turned round; they also turn even quantities into odd ones.
bool turns(Operation op) { return is_derivative(op) && op != Operation::second_derivative; }

} // namespace

LineEquations::LineEquations(const CompactScheme &scheme, std::int64_t nodes, const Sides &ends, Parity p,
                             double factor, std::vector<double> stretched)
    : operation(scheme.operation), sides(ends), parity(p), alpha(scheme.alpha), pair_count(scheme.pair_count),
      metric(std::move(stretched)) {
  const std::int64_t cells = sides.periodic() ? nodes : nodes - 1;
  points_in = to_node(operation) ? cells : nodes;
  points_out = to_centre(operation) ? cells : nodes;
  for (int k = 0; k < 4; ++k)
    pairs[k] = scheme.pairs[k] * factor;
  if (sides.periodic())
    return;
  mirror(static_cast<int>(turns(operation) ? parity * Parity::odd : parity));
  close(scheme, factor);
}

/// At a free-slip end the neighbour beyond it is this row's own (centres) or the next row's (nodes) value, with the
/// result's parity.
void LineEquations::mirror(double result_parity) {
  const double mirrored = alpha * result_parity;
  const double own = to_centre(operation) ? mirrored : 0, next = to_centre(operation) ? 0 : mirrored;
  // The second derivative of an odd quantity vanishes at the end, also where the quantity itself does not.
  const bool vanishes = operation == Operation::second_derivative && parity == Parity::odd;
  if (sides.lower == Boundary::free_slip)
    lower.push_back({0, 1 + own, alpha + next, {}, vanishes});
  if (sides.upper == Boundary::free_slip)
    upper.push_back({alpha + next, 1 + own, 0, {}, vanishes});
}

void LineEquations::close(const CompactScheme &scheme, double factor) {
  const auto rows = wall_closures(scheme);
  const auto scaled = [&](std::vector<double> weights, double by) {
    for (double &weight : weights)
      weight *= by;
    return weights;
  };
  for (const ClosureRow &row : rows)
    if (sides.lower == Boundary::dirichlet)
      lower.push_back({row.alpha_left, 1, row.alpha_right, Closure<double>{0, scaled(row.weights, factor)}, false});
  // Counted from the far end the line runs backwards.
  for (auto row = rows.rbegin(); row != rows.rend() && sides.upper == Boundary::dirichlet; ++row) {
    std::vector<double> weights = scaled(row->weights, turns(operation) ? -factor : factor);
    std::reverse(weights.begin(), weights.end());
    const std::int64_t first = points_in - static_cast<std::int64_t>(weights.size());
    upper.push_back({row->alpha_right, 1, row->alpha_left, Closure<double>{first, std::move(weights)}, false});
  }
}

} // namespace tailrace::ops
