#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <vector>

namespace tailrace::gpu {

/// The factors of modes of a stretched y; see ops::ModeSystems, which makes them.
template <class T> struct CoupledFactors {
  std::vector<T> values; ///< [z][y][five][x]
  int reach;             ///< the distance of coupled modes
};
/// `modes`: those of this rank, whole in x and y.
template <class T>
CoupledFactors<T> coupled_factors(const grid::Grid &grid, ops::Interpolation interpolation, const grid::Box &modes);

} // namespace tailrace::gpu
