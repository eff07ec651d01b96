#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/grid/stretching.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::grid {

/// The boundary condition at an end of a direction.
enum class Boundary {
  periodic,  ///< nodes 0 .. n-1; node n is node 0
  free_slip, ///< nodes on both ends; there the normal velocity is odd and all other quantities are even
  dirichlet, ///< nodes on both ends; the values there are given, and schemes are one-sided near them
};

/// The boundary conditions at the two ends of a direction; either both or neither is periodic.
struct Sides {
  Boundary lower, upper;
  constexpr Sides(Boundary both) : lower(both), upper(both) {}
  constexpr Sides(Boundary lower_end, Boundary upper_end) : lower(lower_end), upper(upper_end) {}
  constexpr bool periodic() const { return lower == Boundary::periodic; }
  constexpr bool has(Boundary boundary) const { return lower == boundary || upper == boundary; }
  friend bool operator==(const Sides &, const Sides &) = default;
};

/// From "periodic", "free-slip" or "dirichlet", for both ends, or from two of them with "|" between them, as in
/// "dirichlet|free-slip"; throws InputError for any other text.
Sides sides_from_name(const std::string &name);
std::string sides_name(const Sides &sides);
const char *boundary_name(Boundary boundary);

/// The boundary conditions in x, y and z.
class Boundaries {
public:
  Boundaries(const Sides &x, const Sides &y, const Sides &z) : sides_{x, y, z} {}
  Boundaries(const std::array<Boundary, 3> &both) : sides_{both[0], both[1], both[2]} {}
  const Sides &operator[](std::size_t d) const { return sides_[d]; }

private:
  std::array<Sides, 3> sides_;
};

/// A Cartesian grid, uniform in x and z, uniform or stretched in y. Velocity lives on the nodes, pressure on the
/// centres of the cells between them.
struct Grid {
  Index3 nodes;                         ///< nodes per direction, both ends included where not periodic
  std::array<double, 3> lengths;        ///< size of the box per direction, in the user's unit of length
  Boundaries boundaries;                ///< per direction
  std::optional<Stretching> stretching; ///< of y

  /// Throws InputError unless there are at least `smallest` nodes per direction, lengths are positive, and only a y
  /// that is not periodic is stretched. One node is a periodic direction along which nothing changes: fields of two
  /// dimensions can be analysed, but not solved for.
  Grid(Index3 nodes, std::array<double, 3> lengths, const Boundaries &boundaries,
       std::optional<Stretching> stretching = {});

  static constexpr std::int64_t smallest = 8; ///< so that the one-sided schemes of both ends do not overlap

  bool periodic(int d) const { return boundaries[d].periodic(); }
  bool stretched(int d) const { return d == 1 && stretching.has_value(); }
  /// Cells (pressure points) per direction: as many as nodes where periodic, one fewer otherwise.
  Index3 cells() const;
  /// The distance of nodes; where they are stretched, that of the uniform coordinate from 0 to the length.
  double spacing(int d) const { return lengths[d] / static_cast<double>(cells()[d]); }
  /// Coordinates of the nodes, or of the centres of the cells, of direction d, starting from 0. Where nodes are
  /// stretched, centres are halfway in the uniform coordinate.
  std::vector<double> coordinates(int d, bool centred = false) const;
  /// By which derivatives along the uniform coordinate are multiplied to be those along direction d, at the nodes or
  /// the centres; empty where direction d is uniform.
  std::vector<double> metric(int d, bool centred = false) const;
  /// `curvature` in  d2/dy2 = metric^2 d2/dY2 - curvature metric d/dY, at the nodes; empty if direction d is uniform.
  std::vector<double> curvature(int d) const;
  /// Weights of the trapezoidal rule in the uniform coordinate, in units of the spacing: halves at the ends, and
  /// 1 / metric where nodes are stretched, scaled to be exact for constants. Derivatives of the schemes then add up to
  /// what they do on a uniform grid. Of second order; where values vanish or are even at the ends, of a high one.
  std::vector<double> weights(int d, bool centred = false) const;
  /// The least distance of each node from its neighbours.
  std::vector<double> distances(int d) const;
};

} // namespace tailrace::grid
