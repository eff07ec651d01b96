#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <vector>

namespace tailrace::gpu {

/// The factors of the modes of a stretched y; see ops::ModeSystems, which makes them. They are for rows of
/// cells in x / 2 + 1 modes.
template <class T> struct CoupledFactors {
  std::vector<T> values; ///< [z][y][five][x]
  int reach;             ///< the distance of coupled modes
};
template <class T> CoupledFactors<T> coupled_factors(const grid::Grid &grid, ops::Interpolation interpolation);

} // namespace tailrace::gpu
