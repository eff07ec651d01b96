#pragma once

#include <tailrace/flow/flow_equations.hpp>
#include <tailrace/flow/steady_force.hpp>
#include <tailrace/flow/time_integration.hpp>
#include <tailrace/gpu/systems.hpp>

#include <array>

namespace tailrace::gpu {

/// Three components of a field, in the memory of the device.
template <class T> using Components = std::array<device::Array<T>, 3>;

/// The momentum equation on a device: what flow::ConvectionDiffusion and flow::NavierStokes::sweep_xy do on a
/// processor.
template <class T> class Momentum {
public:
  Momentum(const device::Stream &stream, const grid::Grid &grid, double viscosity,
           const ops::Hyperviscosities &hyperviscosity);

  /// Leaves the right-hand side of `u` in `newest`, and adds to `u` the weighted sum of it and of `past`, the newest
  /// first; dt multiplies the weights of the stage. `force`: fields that are added to the right-hand side, or null.
  void advance(const flow::Stage &stage, double dt, const flow::SteadyForces &forces, const Components<T> *force,
               Components<T> &u, Components<T> &newest, const std::array<const Components<T> *, 2> &past) const;

private:
  Convect<T> along(int d) const;

  const device::Stream &stream_;
  grid::Grid grid_;
  std::array<Systems<T>, 3> systems_; ///< [d]: gradient, flux, diffusion; normal, then tangential
  std::array<device::Array<T>, 3> slopes_;
};

} // namespace tailrace::gpu
