#include <tailrace/gpu/coupled_factors.hpp>

#include <tailrace/ops/mode_systems.hpp>

// Apart from the kernels, because compilers for devices do not know the registers of the processor.

namespace tailrace::gpu {

template <class T> CoupledFactors<T> coupled_factors(const grid::Grid &grid, ops::Interpolation interpolation) {
  const auto [symbols, scale] = ops::symbols_of(grid, interpolation);
  const grid::Index3 cells = grid.cells();
  const ops::ModeSystems<T> systems(grid, symbols, {{0, 0, 0}, {cells[0] / 2 + 1, cells[1], cells[2]}}, scale);
  return {systems.factors(), static_cast<int>(systems.reach())};
}

template CoupledFactors<float> coupled_factors(const grid::Grid &, ops::Interpolation);
template CoupledFactors<double> coupled_factors(const grid::Grid &, ops::Interpolation);

} // namespace tailrace::gpu
