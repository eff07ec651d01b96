#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <array>
#include <utility>
#include <vector>

namespace tailrace::ops {

/// The squared factors of a staggered derivative and of an average, for each mode of a direction.
struct Symbols {
  std::vector<double> wave, transfer;
};

/// Those of all directions on the cells, Fourier modes where periodic, else cosines, and the inverse of the factor of
/// transforms there and back (Laizet and Lamballais 2009, eq. 40).
std::pair<std::array<Symbols, 3>, double> symbols_of(const grid::Grid &grid, Interpolation interpolation);

/// By what a mode of the right-hand side is multiplied to be one of the solution. Modes on which the operators give 0
/// (the mean, and grid-scale pairs) become 0.
template <class T> constexpr T mode_factor(T eigenvalue, T scale) {
  return eigenvalue > 0 ? -scale / eigenvalue : T(0);
}

} // namespace tailrace::ops
