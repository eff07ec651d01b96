#pragma once

#include <tailrace/flow/equations/flow_equations.hpp>
#include <tailrace/flow/time_integration.hpp>
#include <tailrace/gpu/device_exchange.hpp>
#include <tailrace/gpu/systems.hpp>

#include <array>
#include <vector>

namespace tailrace::gpu {

/// What a device needs to know of a scalar; see flow::ScalarOptions.
struct ScalarParameters {
  double diffusivity;
  grid::Boundaries boundaries;
  std::array<double, 3> buoyancy, settling;
  double least, most;
};

/// A scalar that a flow on a device carries: its values and its right-hand sides, and what flow::ScalarTransport and
/// flow::NavierStokes::sweep_scalars do. The values at its ends are set by others.
template <class T> class DeviceScalar {
public:
  /// `stored`: how many right-hand sides are kept; `nodes`: split into slabs.
  DeviceScalar(const device::Stream &stream, const grid::Grid &grid, const ScalarParameters &parameters, int stored,
               const ops::Hyperviscosities &hyperviscosity, const grid::Decomposition &nodes);

  const ScalarParameters &parameters() const { return parameters_; }
  device::Array<T> &values() { return values_; }
  device::Array<T> &history(int age);
  /// One stage. `u`: the velocity at its start; `w_columns`: its z component in this rank's Z pencil. Collective.
  void advance(const flow::Stage &stage, double dt, const std::array<const T *, 3> &u, const T *w_columns);
  double seconds_of_exchange() const { return exchange_.seconds(); }

private:
  const device::Stream &stream_;
  ScalarParameters parameters_;
  grid::Grid grid_; ///< with the boundaries of the scalar
  Layout nodes_, z_nodes_;
  DeviceExchange<T> exchange_;
  std::array<Systems<T>, 3> systems_; ///< [d]: gradient, diffusion
  std::array<device::Array<T>, 3> shifts_;
  device::Array<T> values_, z_values_, z_part_; ///< the last two only where the Z pencil is another part than the slab
  std::vector<device::Array<T>> right_hand_sides_; ///< a ring; [newest_] is the newest finished one
  std::size_t newest_ = 0;
};

} // namespace tailrace::gpu
