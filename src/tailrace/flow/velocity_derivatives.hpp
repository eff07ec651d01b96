#pragma once

#include <tailrace/flow/navier_stokes.hpp>

namespace tailrace::flow {

/// Derivatives of the velocity of a flow with a body: its lines are rebuilt in the body first, as in the solver, so
/// that they are right up to the surface. Without a body they are those of ops::Operators.
template <class T> class VelocityDerivatives {
public:
  /// Keeps a reference to the flow. Collective.
  explicit VelocityDerivatives(NavierStokes<T> &flow);

  /// The derivative of component i along x_d, on this rank's X pencil of the nodes; valid until the next call. Second
  /// derivatives are those of diffusion in the solver. Collective.
  const T *operator()(int i, int d, ops::Operation operation = ops::Operation::first_derivative);

private:
  void differentiate(int i, int d, ops::Operation operation, const grid::Lines &lines, const T *in, T *out);

  NavierStokes<T> &flow_;
  grid::Buffer<T> u_y_, u_z_, result_x_, result_y_; ///< where pencils differ
};

} // namespace tailrace::flow
