#pragma once

#include <tailrace/flow/equations/flow_equations.hpp>
#include <tailrace/gpu/device_poisson.hpp>
#include <tailrace/gpu/momentum.hpp>

#include <array>

namespace tailrace::gpu {

/// What flow::Projection does, on a device: makes a velocity on the nodes divergence-free on the cells.
template <class T> class Projection {
public:
  /// `processes`: slabs. Collective.
  Projection(const device::Stream &stream, const grid::Grid &grid, ops::Interpolation interpolation,
             std::shared_ptr<const grid::ProcessGrid> processes);

  /// Replaces u by u - grad phi. Collective.
  void operator()(Components<T> &u);
  /// div u on the cells of this rank's Z pencil, in the memory of `result`. Collective.
  void divergence(const Components<T> &u, T *result);
  const Layout &cells() const { return z_cells_; }
  /// The phi of the last projection, on the cells, this rank's Z pencil, to the host. Local.
  void potential(T *phi) const;
  double seconds_of_exchange() const { return exchange_.seconds() + poisson_.seconds_of_exchange(); }

private:
  Staggered<T> along(int d) const;
  std::vector<T *> xy() const { return {xy_part_[0].data(), xy_part_[1].data()}; }
  std::vector<T *> z_columns();

  const device::Stream &stream_;
  grid::Grid grid_;
  std::array<Systems<T>, 3> systems_; ///< [d], in the order of flow::StaggeredEquations
  Layout nodes_, x_cells_, xy_cells_; ///< of this rank's slab, with cells in no direction, in x, in x and y
  Layout z_columns_, z_cells_;        ///< of its Z pencil: cells in x and y, and in all directions
  DeviceExchange<T> exchange_;        ///< between xy_cells_ and z_columns_
  Components<T> x_part_;
  std::array<device::Array<T>, 2> xy_part_, z_part_; ///< z_part_: only where those are different parts
  Poisson<T> poisson_;
};

} // namespace tailrace::gpu
