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

  /// Begins the right-hand side of `u` in `newest`, with its z and its y part. Collective.
  void begin(const Components<T> &u, const Components<T> &newest);
  /// Component z of the velocity in this rank's Z pencil, after `begin`.
  const T *w_columns(const Components<T> &u) const { return exchange_.is_free() ? u[2].data() : z_velocity_[2].data(); }
  /// Completes it with the x part and forces, and adds to `u` the weighted sum of it and of `past`, the newest first;
  /// dt multiplies the weights of the stage. `force`: fields that are added too, or null.
  void integrate(const flow::Stage &stage, double dt, const flow::SteadyForces &forces, const Components<T> *force,
                 Components<T> &u, Components<T> &newest, const std::array<const Components<T> *, 2> &past) const;
  double seconds_of_exchange() const { return exchange_.seconds(); }

private:
  Convect<T> along(int d) const;

  const device::Stream &stream_;
  grid::Grid grid_;
  Layout nodes_, z_nodes_; ///< of this rank's slab, and of its Z pencil
  DeviceExchange<T> exchange_;
  Components<T> z_velocity_, z_part_; ///< only where the Z pencil is another part than the slab
  std::array<Systems<T>, 3> systems_; ///< [d]: gradient, flux, diffusion; normal, then tangential
  std::array<device::Array<T>, 3> slopes_;
};

} // namespace tailrace::gpu
