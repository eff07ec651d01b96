#pragma once

#include <tailrace/grid/box.hpp>

#include <array>
#include <string>
#include <vector>

namespace tailrace::grid {

/// The boundary condition at both ends of a direction.
enum class Boundary {
  periodic,  ///< nodes 0 .. n-1; node n is node 0
  free_slip, ///< nodes on both ends; about them the normal velocity is odd and all other quantities are even
  dirichlet, ///< nodes on both ends; the values there are given, and schemes are one-sided near them
};

/// From "periodic", "free-slip" or "dirichlet"; throws InputError for any other name.
Boundary boundary_from_name(const std::string &name);
const char *boundary_name(Boundary boundary);

/// A uniform Cartesian grid. Velocity lives on the nodes, pressure on the centres of the cells between them.
struct Grid {
  Index3 nodes;                       ///< nodes per direction, both ends included where not periodic
  std::array<double, 3> lengths;      ///< size of the box per direction, in the user's unit of length
  std::array<Boundary, 3> boundaries; ///< per direction, the same on both ends

  /// Throws InputError unless there are at least `smallest` nodes per direction and lengths are positive.
  Grid(Index3 nodes, std::array<double, 3> lengths, std::array<Boundary, 3> boundaries);

  static constexpr std::int64_t smallest = 8; ///< so that the one-sided schemes of both ends do not overlap

  bool periodic(int d) const { return boundaries[d] == Boundary::periodic; }
  /// Cells (pressure points) per direction: as many as nodes where periodic, one fewer otherwise.
  Index3 cells() const;
  double spacing(int d) const { return lengths[d] / static_cast<double>(cells()[d]); }
  /// Coordinates of the nodes of direction d, starting from 0.
  std::vector<double> coordinates(int d) const;
};

} // namespace tailrace::grid
