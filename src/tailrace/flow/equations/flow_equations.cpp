#include <tailrace/flow/equations/flow_equations.hpp>

#include <utility>

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

ScalarEquations scalar_equations(const Grid &grid, int d, double diffusivity, double settling,
                                 const std::optional<Hyperviscosity> &hyperviscosity, bool diffuses) {
  const Sides sides = grid.boundaries[d];
  const std::vector<double> metric = grid.metric(d), curvature = grid.curvature(d);
  std::vector<double> squared = metric, shift(static_cast<std::size_t>(grid.nodes[d]), settling);
  for (double &value : squared)
    value *= value;
  for (std::size_t j = 0; j < curvature.size(); ++j)
    shift[j] += diffusivity * curvature[j];
  return {
      {compact_scheme(Operation::first_derivative, grid.spacing(d)), grid.nodes[d], sides, Parity::even, -1, metric},
      {diffusion_scheme(grid.spacing(d), diffuses ? hyperviscosity : std::nullopt), grid.nodes[d], sides, Parity::even,
       diffuses ? diffusivity : 0, squared},
      std::move(shift)};
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
