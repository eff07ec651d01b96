#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/line_system.hpp>

#include <string>
#include <vector>

namespace tailrace::ops {

/// How the divergence of the velocity is computed in the cells beside a wall in y.
enum class WallDivergence {
  mirrored,  ///< as at free slip, so that cosines diagonalise the pressure equation: Xcompact3D's
  one_sided, ///< by the closures of Dirichlet ends, which use no points beyond the wall
};
/// From "mirrored" or "one-sided"; throws InputError for any other name.
WallDivergence wall_divergence_from_name(const std::string &name);

/// The boundaries in y of the schemes from nodes to cells: every end that is not periodic is a mirror, but for walls
/// whose divergence is one-sided.
grid::Sides divergence_sides(const grid::Grid &grid, WallDivergence walls);

/// One row of the one-sided schemes at a wall adds a product of a column and a row to the pressure equation of the
/// mirrored schemes, for each mode in x and z, because both schemes differ only in a few rows beside the wall. Between
/// two walls of a grid that is symmetric in y, the sum and the difference of both walls' rows are used instead: they
/// have only even or only odd modes, and so half the numbers.
struct WallMode {
  bool of_average;            ///< of the average in y, in the terms of x and z; else of the derivative
  std::vector<double> column; ///< the transform in y of the divergence that a unit residual of this row makes
  std::vector<double> row;    ///< the residual that each mode of the transform of the pressure makes in this row
  std::int64_t first = 0;     ///< the mode of the first number of column and row
  std::int64_t stride = 1;    ///< how many modes the numbers are apart: 1, or 2 where all others are zero

  std::int64_t count() const { return static_cast<std::int64_t>(column.size()); }
  std::int64_t mode(std::int64_t number) const { return first + number * stride; }
};
std::vector<WallMode> wall_modes(const grid::Grid &grid, Interpolation interpolation);

} // namespace tailrace::ops
