#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/line_equations.hpp>

#include <optional>

namespace tailrace::flow {

/// The second derivative of the viscous term: the sixth-order one, or the hyperviscous one.
ops::CompactScheme diffusion_scheme(double spacing, const std::optional<ops::Hyperviscosity> &hyperviscosity);

/// The equations along one direction in the momentum equation of a velocity component; see ConvectionDiffusion.
struct MomentumEquations {
  ops::LineEquations gradient;  ///< -1/2 d/dx of u_i
  ops::LineEquations flux;      ///< -1/2 d/dx of u_d u_i
  ops::LineEquations diffusion; ///< nu times the second derivative of u_i; where stretched, without the slope
};
/// Those of a component of the given parity along direction d.
MomentumEquations momentum_equations(const grid::Grid &grid, int d, double viscosity,
                                     const std::optional<ops::Hyperviscosity> &hyperviscosity, ops::Parity parity);

/// If direction d is stretched, what the second derivative adds to u_d in front of the gradient, at each node: 2 nu
/// times the curvature of the mapping, because the gradient holds the factor -1/2. Else empty.
std::vector<double> momentum_slope(const grid::Grid &grid, int d, double viscosity);

/// The equations along one direction for a scalar; see ScalarTransport. `grid`: with the boundaries of the scalar.
struct ScalarEquations {
  ops::LineEquations gradient;  ///< minus the derivative
  ops::LineEquations diffusion; ///< kappa times the second derivative; where stretched, without the slope
  std::vector<double> shift;    ///< added to u_d: the settling, and kappa times the curvature of the mapping
};
ScalarEquations scalar_equations(const grid::Grid &grid, int d, double diffusivity, double settling,
                                 const std::optional<ops::Hyperviscosity> &hyperviscosity, bool diffuses = true);

/// Between nodes and cells every end that is not periodic is a mirror, also a wall: about it the pressure is even, and
/// the normal velocity odd about its value there. So cosines diagonalise the operators.
grid::Sides staggered_sides(const grid::Grid &grid, int d);

/// The four staggered operators of a direction, for the parities that a projection needs.
struct StaggeredEquations {
  ops::LineEquations derivative_to_centre; ///< of the normal, odd, velocity
  ops::LineEquations average_to_centre;    ///< of even quantities
  ops::LineEquations derivative_to_node;
  ops::LineEquations average_to_node;
};
/// `to_centres`: the ends of the operators to cell centres; those to nodes have `staggered_sides`.
StaggeredEquations staggered_equations(const grid::Grid &grid, int d, ops::Interpolation interpolation,
                                       const grid::Sides &to_centres);

} // namespace tailrace::flow
