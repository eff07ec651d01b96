#include <tailrace/gpu/coupled_factors.hpp>

#include <tailrace/ops/mode_systems.hpp>

// Apart from the kernels, because compilers for devices do not know the registers of the processor.

namespace tailrace::gpu {

template <class T>
CoupledFactors<T> coupled_factors(const grid::Grid &grid, ops::Interpolation interpolation, const grid::Box &modes) {
  const auto [symbols, scale] = ops::symbols_of(grid, interpolation);
  const ops::ModeSystems<T> systems(grid, symbols, modes, scale);
  return {systems.factors(), static_cast<int>(systems.reach())};
}

template CoupledFactors<float> coupled_factors(const grid::Grid &, ops::Interpolation, const grid::Box &);
template CoupledFactors<double> coupled_factors(const grid::Grid &, ops::Interpolation, const grid::Box &);

} // namespace tailrace::gpu
