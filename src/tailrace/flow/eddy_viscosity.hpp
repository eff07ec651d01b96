#pragma once

#include <tailrace/flow/scalar.hpp>
#include <tailrace/ops/operators.hpp>

namespace tailrace::flow {

/// A model of the unresolved scales, for large-eddy simulations.
struct EddyModel {
  enum class Kind {
    smagorinsky, ///< nu_t = l^2 |S|, 1/l^2 = 1/(constant D)^2 + 1/(0.4 distance from the wall)^2 (Mason and Thomson
                 ///< 1992)
    wale,        ///< nu_t of the traceless square of the gradient, which vanishes at walls (Nicoud and Ducros 1999)
  };
  enum class Form {
    conservative, ///< the divergence of the stress; D by the local spacings; the diffusivity nu_t / schmidt
    xcompact3d,   ///< nu_t times the solver's second derivatives, and 2 S times the gradient of nu_t; D by the distance
                  ///< to the next node; no damping at walls; the Schmidt number of each scalar. As Xcompact3D 5.0
  };
  Kind kind;
  double constant;
  double schmidt = 0.9; ///< eddy viscosity / eddy diffusivity of scalars; only of the conservative form
  Form form = Form::conservative;
};

/// From "smagorinsky" or "wale"; throws InputError for any other name.
EddyModel::Kind eddy_model_from_name(const std::string &name);
/// From "conservative" or "xcompact3d"; throws InputError for any other name.
EddyModel::Form eddy_form_from_name(const std::string &name);

/// The force  d/dx_j (2 nu_t S_ij)  and the source  d/dx_j (nu_t / schmidt dphi/dx_j)  of a model, with the schemes of
/// the solver. D = (dx dy dz)^(1/3). Collective.
template <class T> class EddyViscosity {
public:
  /// `viscosity` and `hyperviscosity`: those of the flow, for the form of Xcompact3D.
  EddyViscosity(const grid::Grid &grid, const EddyModel &model, double viscosity,
                const ops::Hyperviscosities &hyperviscosity, std::shared_ptr<const grid::ProcessGrid> processes,
                grid::TransposeMethod method);

  /// Computes force and sources of the present velocity and scalars.
  void update(const std::array<grid::Field<T>, 3> &u, const std::vector<Scalar<T>> &scalars);
  const T *force(int i) const { return force_[static_cast<std::size_t>(i)].data(); }
  const T *source(std::size_t scalar) const { return sources_[scalar].data(); }
  /// nu_t of the last update, on this rank's X pencil of the nodes.
  const T *viscosity() const { return viscosity_.data(); }

private:
  void differentiate(const std::array<grid::Field<T>, 3> &u);
  void make_stress();
  void diverge_stress();
  void expand_stress(const std::array<grid::Field<T>, 3> &u);
  void diffuse(const Scalar<T> &scalar, T *source);
  void expand_diffusion(const Scalar<T> &scalar, T *source);
  double viscosity_at(const std::array<double, 9> &g, double width, double wall) const;

  grid::Grid grid_;
  EddyModel model_;
  double viscosity_of_flow_;
  ops::Operators<T> operators_;
  grid::Box box_;
  std::array<std::vector<double>, 3> spacings_; ///< of this rank's nodes
  std::array<std::vector<double>, 3> wall_;     ///< their distance from the nearest wall in that direction
  /// The gradient; then in the first six the stress (2 S in the form of Xcompact3D), and in the others there the
  /// gradient of nu_t.
  std::array<grid::Buffer<T>, 9> work_;
  grid::Buffer<T> viscosity_;
  std::array<grid::Buffer<T>, 3> force_;
  std::vector<grid::Buffer<T>> sources_;
};

} // namespace tailrace::flow
