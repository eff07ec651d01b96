#pragma once

#include <tailrace/flow/equations/flow_equations.hpp>
#include <tailrace/flow/equations/steady_force.hpp>
#include <tailrace/flow/time_integration.hpp>
#include <tailrace/gpu/device_exchange.hpp>
#include <tailrace/gpu/systems.hpp>

#include <array>

namespace tailrace::gpu {

/// Three components of a field, in the memory of the device.
template <class T> using Components = std::array<device::Array<T>, 3>;

template <class T> std::vector<T *> pointers(const Components<T> &fields) {
  return {fields[0].data(), fields[1].data(), fields[2].data()};
}
template <class T> Components<T> components(const device::Stream &stream, std::int64_t size) {
  return {device::Array<T>(stream, size), device::Array<T>(stream, size), device::Array<T>(stream, size)};
}

/// The momentum equation on a device: what flow::ConvectionDiffusion and flow::NavierStokes::sweep_xy do on a
/// processor.
template <class T> class Momentum {
public:
  /// `nodes`: split into slabs.
  Momentum(const device::Stream &stream, const grid::Grid &grid, double viscosity,
           const ops::Hyperviscosities &hyperviscosity, const grid::Decomposition &nodes);

  /// Leaves the right-hand side of `u` in `newest`, and adds to `u` the weighted sum of it and of `past`, the newest
  /// first; dt multiplies the weights of the stage. `force`: fields that are added to the right-hand side, or null.
  /// Collective.
  void advance(const flow::Stage &stage, double dt, const flow::SteadyForces &forces, const Components<T> *force,
               Components<T> &u, Components<T> &newest, const std::array<const Components<T> *, 2> &past);
  double seconds_of_exchange() const { return exchange_.seconds(); }

private:
  Convect<T> along(int d) const;
  void sweep_z(const Components<T> &u, const Components<T> &newest);

  const device::Stream &stream_;
  grid::Grid grid_;
  Layout nodes_, z_nodes_; ///< of this rank's slab, and of its Z pencil
  DeviceExchange<T> exchange_;
  Components<T> z_velocity_, z_part_; ///< only where the Z pencil is another part than the slab
  std::array<Systems<T>, 3> systems_; ///< [d]: gradient, flux, diffusion; normal, then tangential
  std::array<device::Array<T>, 3> slopes_;
};

} // namespace tailrace::gpu
