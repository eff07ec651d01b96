#include <tailrace/flow/equations/flow_equations.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

CompactScheme diffusion_scheme(double spacing, const std::optional<Hyperviscosity> &hyperviscosity) {
  return hyperviscosity ? hyperviscous_scheme(spacing, *hyperviscosity)
                        : compact_scheme(Operation::second_derivative, spacing);
}

MomentumEquations momentum_equations(const Grid &grid, int d, double viscosity,
                                     const std::optional<Hyperviscosity> &hyperviscosity, Parity parity) {
  const CompactScheme first = compact_scheme(Operation::first_derivative, grid.spacing(d));
  const CompactScheme second = diffusion_scheme(grid.spacing(d), hyperviscosity);
  const Sides sides = grid.boundaries[d];
  std::vector<double> metric = grid.metric(d), squared = metric;
  for (double &value : squared)
    value *= value;
  // The normal velocity is odd, so the product u_d u_i has the other parity than u_i.
  return {{first, grid.nodes[d], sides, parity, -0.5, metric},
          {first, grid.nodes[d], sides, parity * Parity::odd, -0.5, metric},
          {second, grid.nodes[d], sides, parity, viscosity, squared}};
}

std::vector<double> momentum_slope(const Grid &grid, int d, double viscosity) {
  std::vector<double> slope = grid.curvature(d);
  for (double &value : slope)
    value *= 2 * viscosity;
  return slope;
}

Sides staggered_sides(const Grid &grid, int d) { return grid.periodic(d) ? Boundary::periodic : Boundary::free_slip; }

StaggeredEquations staggered_equations(const Grid &grid, int d, Interpolation interpolation, const Sides &to_centres) {
  const auto equations = [&](Operation operation, Parity parity) {
    const Sides sides = to_centre(operation) ? to_centres : staggered_sides(grid, d);
    return LineEquations(compact_scheme(operation, grid.spacing(d), interpolation), grid.nodes[d], sides, parity, 1,
                         is_derivative(operation) ? grid.metric(d, to_centre(operation)) : std::vector<double>{});
  };
  return {equations(Operation::derivative_to_centre, Parity::odd),
          equations(Operation::interpolate_to_centre, Parity::even),
          equations(Operation::derivative_to_node, Parity::even),
          equations(Operation::interpolate_to_node, Parity::even)};
}

} // namespace tailrace::flow
