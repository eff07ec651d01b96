#include <tailrace/gpu/device_projection.hpp>

namespace tailrace::gpu {

using namespace grid;
using namespace ops;

namespace {
/// The nodes, with cells in place of them in the first `directions`.
Decomposition with_cells(const Grid &grid, std::size_t directions, std::shared_ptr<const ProcessGrid> processes) {
  Index3 shape = grid.nodes;
  for (std::size_t d = 0; d < directions; ++d)
    shape[d] = grid.cells()[d];
  return {processes, shape, true};
}
} // namespace

template <class T>
Projection<T>::Projection(const device::Stream &stream, const Grid &grid, Interpolation interpolation,
                          std::shared_ptr<const ProcessGrid> processes)
    : stream_(stream), grid_(grid), nodes_(with_cells(grid, 0, processes).box(Pencil::x).count),
      x_cells_(with_cells(grid, 1, processes).box(Pencil::y).count),
      xy_cells_(with_cells(grid, 2, processes).box(Pencil::y).count),
      z_columns_(with_cells(grid, 2, processes).box(Pencil::z).count),
      z_cells_(with_cells(grid, 3, processes).box(Pencil::z).count), exchange_(stream, with_cells(grid, 2, processes)),
      x_part_(components<T>(stream, x_cells_.size())), poisson_(stream, grid, interpolation, processes) {
  for (int d = 0; d < 3; ++d) {
    const flow::StaggeredEquations equations =
        flow::staggered_equations(grid, d, interpolation, flow::staggered_sides(grid, d));
    systems_[d] = Systems<T>(stream, {&equations.derivative_to_centre, &equations.average_to_centre,
                                      &equations.derivative_to_node, &equations.average_to_node});
  }
  for (auto &part : xy_part_)
    part = device::Array<T>(stream, xy_cells_.size());
  if (!exchange_.is_free())
    for (auto &part : z_part_)
      part = device::Array<T>(stream, z_columns_.size());
}

template <class T> Staggered<T> Projection<T>::along(int d) const {
  const Systems<T> &s = systems_[d];
  return {flow::staggered_sides(grid_, d),
          static_cast<int>(grid_.nodes[d]),
          static_cast<int>(grid_.cells()[d]),
          s[0],
          s[1],
          s[2],
          s[3]};
}

/// The arrays between the y and the z stage, in this rank's Z pencil.
template <class T> std::vector<T *> Projection<T>::z_columns() {
  return exchange_.is_free() ? xy() : std::vector<T *>{z_part_[0].data(), z_part_[1].data()};
}

template <class T> void Projection<T>::divergence(const Components<T> &u, T *result) {
  T *const x[3] = {x_part_[0].data(), x_part_[1].data(), x_part_[2].data()};
  sweep_rows<T>(stream_, nodes_, x_cells_, DivergenceX<T>{along(0)}, {u[0].data(), u[1].data(), u[2].data()},
                Store<T>{{x[0], x[1], x[2]}});
  sweep_columns<T>(stream_, 1, x_cells_, xy_cells_, DivergenceY<T>{along(1)}, {x[0], x[1], x[2]},
                   Store<T>{{xy()[0], xy()[1]}});
  const auto z = exchange_.move(Pencil::y, Pencil::z, xy(), z_columns());
  sweep_columns<T>(stream_, 2, z_columns_, z_cells_, DivergenceZ<T>{along(2)}, {z[0], z[1]}, Store<T>{{result}});
}

template <class T> void Projection<T>::operator()(Components<T> &u) {
  T *const x[3] = {x_part_[0].data(), x_part_[1].data(), x_part_[2].data()};
  T *const phi = poisson_.values();
  divergence(u, phi);
  poisson_.solve();
  const auto z = z_columns();
  sweep_columns<T>(stream_, 2, z_cells_, z_columns_, GradientZ<T>{along(2)}, {phi}, Store<T>{{z[0], z[1]}});
  exchange_.move(Pencil::z, Pencil::y, z, xy());
  sweep_columns<T>(stream_, 1, xy_cells_, x_cells_, GradientY<T>{along(1)}, {xy()[0], xy()[1]},
                   Store<T>{{x[0], x[1], x[2]}});
  sweep_rows<T>(stream_, x_cells_, nodes_, GradientX<T>{along(0)}, {x[0], x[1], x[2]},
                Subtract<T>{{u[0].data(), u[1].data(), u[2].data()}});
}

template <class T> void Projection<T>::potential(T *phi) const {
  device::download(stream_, phi, poisson_.values(), static_cast<std::size_t>(z_cells_.size()) * sizeof(T));
}

template class Projection<float>;
template class Projection<double>;

} // namespace tailrace::gpu
