#pragma once

#include <tailrace/flow/diagnostics.hpp>

namespace tailrace {
class ExactSum;
}

namespace tailrace::flow {

/// What changes the momentum of the fluid in a box, per component, with density one. The force of the fluid on the body
/// in it is  -d(momentum)/dt - convection + pressure + viscous + driving.
struct MomentumBalance {
  using Vector = std::array<double, 3>;
  Vector convection{}; ///< integral of u (u . n) over the faces: the outflow of momentum
  Vector pressure{};   ///< integral of -p n over the faces
  Vector viscous{};    ///< integral of nu (grad u + its transpose) . n over the faces
  Vector driving{};    ///< integral of the body force, and of the force that keeps the flow rate
};

/// A box around a body, whose momentum balance gives the force on the body. BoundaryFaces should be some nodes away
/// from the body, where the velocity does not depend on its reconstruction.
template <class T> class ControlVolume {
public:
  /// The nodes first .. last of each direction. A periodic direction from its first to its last node has no faces.
  /// Keeps references to the flow and its diagnostics, whose velocity gradient it shares. Throws InputError where these
  /// are no nodes of the grid, or first is not below last. Collective.
  ControlVolume(NavierStokes<T> &flow, Diagnostics<T> &diagnostics, const grid::Index3 &first,
                const grid::Index3 &last);

  /// The integral of u over the fluid in the box, and of what a kept flow rate has yet to give back. Collective.
  MomentumBalance::Vector momentum();
  /// The balance of the current velocity, with the mean pressure of the last step (NavierStokes::mean_pressure).
  /// Integrals are trapezoidal sums over nodes in the fluid. Collective.
  MomentumBalance balance();

private:
  template <class Value> void over_faces(ExactSum &sum, int d, Value value) const;
  template <class Value> void over_nodes(ExactSum &sum, const grid::Box &part, int normal, Value value) const;

  NavierStokes<T> &flow_;
  Diagnostics<T> &diagnostics_;
  grid::Box box_;
  std::array<bool, 3> open_;                   ///< has faces in this direction
  std::array<std::vector<double>, 3> weights_; ///< of the nodes of the box
  grid::Buffer<T> p_;                          ///< the pressure at the nodes
};

} // namespace tailrace::flow
