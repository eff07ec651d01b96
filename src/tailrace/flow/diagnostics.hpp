#pragma once

#include <tailrace/flow/velocity_derivatives.hpp>
#include <tailrace/ops/operators.hpp>
#include <tailrace/ops/reductions.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <optional>
#include <string>

namespace tailrace::flow {

/// Averages over the volume and extremes of a flow. Weights are those of Grid::weights.
struct VolumeAverages {
  double kinetic_energy;        ///< <u . u> / 2
  double dissipation;           ///< 2 nu <S_ij S_ij>
  double dissipation_laplacian; ///< -<u . what diffusion adds to du/dt>: what the solver takes from the energy
  double enstrophy;             ///< <w . w> / 2
  double max_divergence;        ///< max |div u| on the cells
  double cfl;                   ///< max over nodes of dt * sum |u_d| / dx_d
};

/// Parts of `dissipation_laplacian`, and the power of the forces that follow from velocity and scalars. Nodes at which
/// the velocity is given have no part in these, since the solver does not integrate there.
struct EnergyRates {
  double hyperviscous; ///< what hyperviscosity adds
  double implicit;     ///< of the diffusion along y that is implicit
  double eddy;         ///< of an eddy viscosity
  double work;         ///< <u . f> of NavierStokes::steady_force
};

/// A node where a velocity component is not finite.
struct BadPoint {
  int component;
  grid::Index3 node;
};

/// The velocity gradient of a flow and quantities computed from it, on this rank's X pencil of the nodes. In a body the
/// gradient is zero.
template <class T> class Diagnostics {
public:
  /// Keeps a reference to the flow. Collective.
  Diagnostics(NavierStokes<T> &flow, std::shared_ptr<const grid::ProcessGrid> processes, grid::TransposeMethod method);

  /// The averages of the present velocity; `dt` is the time step of the CFL number. Collective.
  VolumeAverages averages(double dt);
  /// The rates of the velocity of the last `averages`, which must be the present one. Collective.
  EnergyRates energy_rates();
  /// <u . f> of NavierStokes::force, at the same nodes. Collective.
  double force_power();
  /// <u . u> / 2 of the nodes at which the solver integrates. Collective.
  double energy();
  /// The mean over an end of direction d of d u_i / d x_d, for the three components i. Collective. Throws InputError
  /// where direction d is periodic.
  std::array<double, 3> mean_gradient(int d, bool upper);
  /// Writes a derived field into `out`, an array over this rank's X pencil of the nodes: vorticity (its magnitude),
  /// vorticity_x, vorticity_y, vorticity_z, q (second invariant of the velocity gradient) or pressure. Throws
  /// InputError for any other name. Collective.
  void derive(const std::string &name, T *out);
  /// d u_i / d x_d at [3 * i + d], arrays over this rank's X pencil of the nodes, valid until `averages` is called or
  /// the velocity changes. It is computed once and kept. Collective.
  std::array<const T *, 9> gradient();
  /// The first node (lowest rank, then memory order) with a velocity that is not finite, if any. Collective.
  std::optional<BadPoint> find_bad_point() const;
  /// Marks the velocity gradient as outdated, so that it is computed again when it is needed next: call this whenever
  /// the velocity has changed. Local.
  void invalidate() { fresh_ = false; }

private:
  void add_products(std::array<ExactSum, 4> &sums);
  void add_products(Accelerator<T> &device, std::array<ExactSum, 4> &sums);
  std::array<double, 3> removed(ops::Operators<T> &operators);
  double inside(const std::array<const T *, 3> &field) const;
  void differentiate(ops::Operators<T> &operators, ops::Operation operation, int component, grid::Buffer<T> *out);
  void differentiate_around_body(ops::Operation operation, int component, grid::Buffer<T> *out);

  NavierStokes<T> &flow_;
  ops::Operators<T> operators_;
  std::optional<ops::Operators<T>> diffusion_;       ///< with the hyperviscosity of the flow, if it has one
  std::optional<VelocityDerivatives<T>> derivative_; ///< once there is a body
  ops::Weights weights_, inside_;                    ///< inside_: zero at nodes at which the velocity is given
  std::array<double, 3> removed_{};                  ///< from the energy by viscosity and hyperviscosity along x, y, z
  std::array<grid::Buffer<T>, 9> gradient_;          ///< [3 * i + d] is d u_i / d x_d, where `fresh_`
  bool fresh_ = false;
};

} // namespace tailrace::flow
