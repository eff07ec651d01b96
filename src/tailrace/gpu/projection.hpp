#pragma once

#include <tailrace/flow/flow_equations.hpp>
#include <tailrace/gpu/momentum.hpp>
#include <tailrace/gpu/poisson.hpp>

#include <array>

namespace tailrace::gpu {

/// What flow::Projection does, on a device: makes a velocity on the nodes divergence-free on the cells.
template <class T> class Projection {
public:
  Projection(const device::Stream &stream, const grid::Grid &grid, ops::Interpolation interpolation);

  /// Replaces u by u - grad phi.
  void operator()(Components<T> &u);
  /// The phi of the last projection, on the cells, to the host.
  void potential(T *phi) const;

private:
  Staggered<T> along(int d) const;

  const device::Stream &stream_;
  grid::Grid grid_;
  std::array<Systems<T>, 3> systems_; ///< [d], in the order of flow::StaggeredEquations
  Layout nodes_, x_cells_, xy_cells_; ///< cells in no direction, in x, in x and y
  Components<T> x_part_;
  std::array<device::Array<T>, 2> xy_part_;
  Poisson<T> poisson_;
};

} // namespace tailrace::gpu
