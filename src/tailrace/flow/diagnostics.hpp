#pragma once

#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/ops/operators.hpp>

#include <optional>
#include <string>

namespace tailrace::flow {

/// Volume averages and extremes of a flow. Averages weigh boundary nodes of free-slip directions by one half per
/// direction.
struct FlowNumbers {
  double kinetic_energy;        ///< <u . u> / 2
  double dissipation;           ///< 2 nu <S_ij S_ij>
  double dissipation_laplacian; ///< -nu <u . lap u>; follows -dE/dt also where the flow is under-resolved
  double enstrophy;             ///< <w . w> / 2
  double max_divergence;        ///< max |div u| on the cells
  double cfl;                   ///< max over nodes of dt * sum |u_d| / dx_d
};

/// Where a value is not finite.
struct BadPoint {
  int component;
  grid::Index3 node;
};

/// The velocity gradient of a flow and what follows from it, on this rank's X pencil of the nodes.
template <class T> class Diagnostics {
public:
  /// Keeps a reference to the flow. Collective.
  Diagnostics(NavierStokes<T> &flow, std::shared_ptr<const grid::ProcessGrid> processes, grid::TransposeMethod method);

  /// Everything in FlowNumbers for the present velocity. Collective.
  FlowNumbers numbers(double dt);
  /// Writes a derived field by name: vorticity (its magnitude), vorticity_x, vorticity_y, vorticity_z, q (second
  /// invariant of the velocity gradient), pressure. InputError for any other. Collective.
  void derive(const std::string &name, T *out);
  /// The first node (lowest rank, then memory order) with a velocity that is not finite, if any. Collective.
  std::optional<BadPoint> find_bad_point() const;
  /// Forgets the velocity gradient, so that the next question computes it anew: call after each step.
  void invalidate() { fresh_ = false; }

private:
  /// Nine derivatives at one node, g[i][d] = d u_i / d x_d.
  using Gradient = std::array<std::array<double, 3>, 3>;
  void compute_gradient();
  void apply(ops::Operation operation, int component, int direction, T *out);
  template <class Function> double average(Function function) const;
  Gradient at(std::int64_t point) const;

  NavierStokes<T> &flow_;
  ops::Operators<T> operators_;
  grid::Field<T> gradient_[3][3];
  bool fresh_ = false;
};

} // namespace tailrace::flow
