#pragma once

#include <tailrace/flow/boundary_faces.hpp>
#include <tailrace/flow/scalar.hpp>
#include <tailrace/grid/exchange.hpp>
#include <tailrace/ops/implicit_lines.hpp>

namespace tailrace::flow {

/// The second derivative of diffusion along y by Crank-Nicolson, in each stage of an explicit scheme for all the rest
/// (Spalart, Moser and Rogers 1991). With the weighted sum N of the right-hand sides, the gradient G of the pressure of
/// the stage before, times this duration, and L = nu P^2 D along y,
///   (1 - duration L / 2) (change - G) = N + duration L u - G,
/// then the projection. G keeps the order two: without it, L would act on the pressure gradient, and the result is not
/// a gradient near walls and on a stretched grid. If the value at an end of y is given, the change there is the one
/// until the projection. Works on X pencils. It needs three arrays for G, and one plane if y is whole in X pencils,
/// else a fourth array.
template <class T> class ImplicitDiffusion {
public:
  /// `nodes`: the exchange of the flow. Throws InputError if y is periodic.
  ImplicitDiffusion(const grid::Grid &grid, double viscosity, const std::optional<ops::Hyperviscosity> &hyperviscosity,
                    const std::vector<ScalarOptions> &scalars, const grid::Exchange<T> &nodes);

  /// A stage of length `duration`. `implicit`: the share of L that acts on the end of the stage: 1/2, except when a
  /// pressure that balances the current right-hand side is computed.
  struct Step {
    const Stage &stage;
    double dt;
    double implicit = 0.5;
  };

  /// A quantity to advance: its values, its right-hand sides, the newest first, and memory of this rank in Y pencils.
  /// There, `sum_y` is free, and `values_y` has the values if `in_y`. Both are unused if y is whole in X pencils.
  struct Quantity {
    T *values;
    const T *newest;
    std::array<const T *, 2> past;
    T *values_y, *sum_y;
    bool in_y;
  };

  /// Component i of the gradient of the pressure of the last stage; zero before the first one.
  grid::Field<T> &gradient(int i) { return gradient_[i]; }
  /// `remember` stores the velocity before the projection in the memory of the gradient; `keep_gradient` computes the
  /// gradient from it and the velocity after the projection of a stage of this length. Local.
  void remember(const std::array<grid::Field<T>, 3> &u);
  void keep_gradient(const std::array<grid::Field<T>, 3> &u, double duration);

  /// Finds the changes of the velocity at the ends of y, from the velocity at the start of a stage. Collective.
  void find_changes(BoundaryFaces<T> &faces, std::array<grid::Field<T>, 3> &u, double duration);
  /// Advances component i of the velocity, after `find_changes`; or scalar number `number`. Collective.
  void advance(int i, const Step &step, grid::Exchange<T> &nodes, const Quantity &component);
  void advance(Scalar<T> &scalar, std::size_t number, const Step &step, grid::Exchange<T> &nodes,
               const Quantity &quantity);

private:
  using Changes = std::array<const grid::Field<T> *, 2>; ///< at the lower and the upper end
  void advance(ops::ImplicitLines<T> &lines, double diffusivity, const Changes &changes, const T *gradient,
               const Step &step, grid::Exchange<T> &nodes, const Quantity &quantity);
  void give(const ops::ImplicitLines<T> &lines, const Changes &changes, T *sum, std::int64_t k, std::int64_t planes);

  double viscosity_;
  grid::Box box_; ///< of X pencils
  std::int64_t nodes_y_;
  std::array<ops::ImplicitLines<T>, 2> velocity_; ///< tangential and normal to the ends of y
  std::vector<ops::ImplicitLines<T>> scalars_;
  std::array<std::array<grid::Field<T>, 2>, 3> changes_; ///< [component][upper] of the velocity
  std::array<grid::Field<T>, 3> gradient_;
  grid::Buffer<T> sum_;
};

} // namespace tailrace::flow
