#include <tailrace/flow/velocity_derivatives.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

template <class T> VelocityDerivatives<T>::VelocityDerivatives(NavierStokes<T> &flow) : flow_(flow) {
  Exchange<T> &exchange = flow.exchange();
  result_y_ = exchange.allocate();
  if (!exchange.is_free(Pencil::x, Pencil::y)) {
    u_y_ = exchange.allocate();
    result_x_ = Buffer<T>(flow.nodes().box(Pencil::x).size());
  }
  if (!exchange.is_free(Pencil::y, Pencil::z))
    u_z_ = Buffer<T>(flow.nodes().box(Pencil::z).size());
}

/// Computes the derivative on lines along d of this rank's pencil of that direction.
template <class T>
void VelocityDerivatives<T>::differentiate(int i, int d, Operation operation, const Lines &lines, const T *in, T *out) {
  const Grid &grid = flow_.grid();
  const Parity parity = i == d ? Parity::odd : Parity::even;
  const auto system = [&](Operation wanted, const std::vector<double> &metric) {
    const CompactScheme scheme = wanted == Operation::second_derivative
                                     ? diffusion_scheme(grid.spacing(d), flow_.options().hyperviscosity[d])
                                     : compact_scheme(wanted, grid.spacing(d));
    return LineSystem<T>(scheme, grid.nodes[d], grid.boundaries[d], parity, 1, metric);
  };
  const std::vector<double> metric = grid.metric(d), curvature = grid.curvature(d);
  std::vector<double> squared = metric;
  for (double &value : squared)
    value *= value;
  const bool second = operation == Operation::second_derivative;
  const LineSystem<T> slope = system(Operation::first_derivative, metric), bend = system(operation, squared);
  // The second output holds the slope that the second derivative needs where nodes are stretched.
  const auto transform = [&](auto &tile) {
    if (flow_.body() != nullptr)
      flow_.body()->along(d).rebuild(lines_of<T>(tile, lines, lines.points, 0), tile.in[0]);
    fill_ghosts(tile, 0, lines.points, grid.boundaries[d], parity, false);
    solve_tile(second ? bend : slope, tile.in[0], tile.out[0], tile.bundles);
    if (!second || curvature.empty())
      return;
    solve_tile(slope, tile.in[0], tile.out[1], tile.bundles);
    for (int b = 0; b < tile.bundles; ++b)
      for (std::int64_t j = 0; j < lines.points; ++j)
        tile.out[0][b][j] -= static_cast<T>(curvature[static_cast<std::size_t>(j)]) * tile.out[1][b][j];
  };
  sweep<T, 1, 2>(lines, lines.points, {in}, transform, [&](int k, std::int64_t offset, Vec<T> v, int count) {
    if (k == 0)
      store(out + offset, v, count);
  });
}

template <class T> const T *VelocityDerivatives<T>::operator()(int i, int d, Operation operation) {
  Exchange<T> &exchange = flow_.exchange();
  const auto along = [&](Pencil pencil) {
    return Lines::along(static_cast<int>(pencil), flow_.nodes().box(pencil).count);
  };
  T *u = flow_.velocity(i).data();
  if (d == 0) {
    T *result = exchange.is_free(Pencil::x, Pencil::y) ? result_y_.data() : result_x_.data();
    differentiate(i, d, operation, along(Pencil::x), u, result);
    return result;
  }
  T *u_y = exchange.move(Pencil::x, Pencil::y, u, u_y_.data()), *result = result_y_.data();
  if (d == 1) {
    differentiate(i, d, operation, along(Pencil::y), u_y, result);
  } else {
    T *u_z = exchange.move(Pencil::y, Pencil::z, u_y, u_z_.data());
    T *z_result = exchange.is_free(Pencil::y, Pencil::z) ? result : u_z;
    differentiate(i, d, operation, exchange.z_lines(), exchange.z_start(u_z), exchange.z_start(z_result));
    exchange.move(Pencil::z, Pencil::y, z_result, result);
  }
  return exchange.move(Pencil::y, Pencil::x, result, result_x_.data());
}

template class VelocityDerivatives<float>;
template class VelocityDerivatives<double>;

} // namespace tailrace::flow
