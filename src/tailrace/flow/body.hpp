#pragma once

#include <tailrace/flow/solid_lines.hpp>
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>
#include <tailrace/grid/grid.hpp>

#include <functional>
#include <span>

namespace tailrace::flow {

/// Tells which points (x, y, z) are inside a body: fills `inside` with 1 or 0. All four have the same length. Must not
/// communicate.
using Indicator = std::function<void(std::span<const double> x, std::span<const double> y, std::span<const double> z,
                                     std::span<std::uint8_t> inside)>;

/// An immersed body at rest, by reconstruction along lines (Gautier, Laizet and Lamballais 2014): before a derivative
/// along a line is taken, its solid nodes get the values of a polynomial that vanishes where the line enters and leaves
/// the body and goes through two fluid nodes on either side; the nodes next to the body are skipped. On completely
/// solid lines all values are zero. So derivatives at fluid nodes see a smooth function that is zero on the surface.
template <class T> class Body {
public:
  /// Finds the body on the lines of this rank's three pencils of the nodes. The points where a line enters or leaves
  /// are found with an error of at most the node distance / (2 `refinement`). Collective: if `inside` throws on a rank,
  /// all throw. Throws InputError for a refinement below 1, and if no node is inside.
  Body(const grid::Grid &grid, const grid::Decomposition &nodes, const Indicator &inside, int refinement);

  /// The polynomials on the lines along direction d, of this rank's pencil of that direction.
  const SolidLines<T> &along(int d) const { return lines_[static_cast<std::size_t>(d)]; }
  /// Zero at the solid nodes, on the lines along x of this rank's X pencil.
  const SolidLines<T> &mask() const { return mask_; }
  /// 1 at solid nodes, else 0, on this rank's X pencil.
  grid::Field<std::uint8_t> &solid() { return solid_; }
  const grid::Field<std::uint8_t> &solid() const { return solid_; }

private:
  std::array<SolidLines<T>, 3> lines_;
  SolidLines<T> mask_;
  grid::Field<std::uint8_t> solid_;
};

} // namespace tailrace::flow
