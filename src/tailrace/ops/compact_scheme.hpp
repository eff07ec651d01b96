#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::ops {

/// The operation of a compact scheme along a line, and its points.
enum class Operation {
  first_derivative,     ///< nodes to nodes
  second_derivative,    ///< nodes to nodes
  derivative_to_centre, ///< nodes to cell centres
  interpolate_to_centre,
  derivative_to_node, ///< cell centres to nodes
  interpolate_to_node,
  filter, ///< nodes to nodes
};

constexpr bool is_staggered(Operation op) { return op > Operation::second_derivative && op != Operation::filter; }
constexpr bool is_derivative(Operation op) {
  return op != Operation::interpolate_to_centre && op != Operation::interpolate_to_node && op != Operation::filter;
}
constexpr bool to_centre(Operation op) {
  return op == Operation::derivative_to_centre || op == Operation::interpolate_to_centre;
}
constexpr bool to_node(Operation op) {
  return op == Operation::derivative_to_node || op == Operation::interpolate_to_node;
}

/// Xcompact3D's three sixth-order interpolations (its `ipinter` 1, 2, 3); they differ in how they treat the shortest
/// waves.
enum class Interpolation { classic, optimised, aggressive };
Interpolation interpolation_from_name(const std::string &name);

/// The interior of a compact scheme,  alpha g[i-1] + g[i] + alpha g[i+1] = sum over k of pair[k] * (f right -/+ f left
/// of the k-th pair of points around i), spacing included in the pairs. The second derivative's pairs are f[i+k] - 2
/// f[i] + f[i-k]. A filter has three pairs, and the weight of f[i] itself in the place of the fourth.
struct CompactScheme {
  Operation operation;
  double alpha;
  std::array<double, 4> pairs;
  int pair_count;
  double spacing;

  /// Response to exp(i w j) at the spacing h = 1 of the line the scheme was made for: the modified wave number (first
  /// derivatives), minus its square (second derivative) or the transfer function (interpolation, filter). `w` in
  /// radians per point.
  double response(double w) const;
};

/// Sixth-order schemes for spacing h. First and second derivative: Lele (1992), eqs. 2.1.7 and 2.2.7 with the
/// tridiagonal sixth-order choice. Staggered: Laizet and Lamballais (2009), eqs. 11 to 13; Nagarajan, Lele and Ferziger
/// (2003). Filter: Gaitonde and Visbal (2000), with `filter` its alpha, |alpha| < 1/2: the nearer to 1/2, the less it
/// removes.
CompactScheme compact_scheme(Operation operation, double h, Interpolation interpolation = Interpolation::aggressive,
                             double filter = 0.45);

/// How much more than viscosity a hyperviscous second derivative dissipates: its modified wave number squared is
/// w^2 (1 + at_cutoff) at w = pi, w^2 (1 + middle * at_cutoff) at w = 2 pi / 3, and w^2 (1 + O(w^6)) below (Lamballais,
/// Fortune and Laizet 2011; Dairay et al. 2017; Xcompact3D's nu0nu and cnu).
struct Hyperviscosity {
  double at_cutoff, middle;
};
using Hyperviscosities = std::array<std::optional<Hyperviscosity>, 3>; ///< along x, y and z

/// The second derivative with such a symbol, of sixth order. Throws InputError for numbers that are not finite, or
/// negative, or give a singular matrix.
CompactScheme hyperviscous_scheme(double h, const Hyperviscosity &hyperviscosity);

/// One row near a wall, where the interior scheme would need points beyond the wall:
/// alpha_left g[row-1] + g[row] + alpha_right g[row+1] = sum of weights[k] * f[k], counted from the wall.
struct ClosureRow {
  double alpha_left = 0;
  double alpha_right = 0;
  std::vector<double> weights;
};

/// The closures of a scheme at a Dirichlet wall, from the wall inwards; the far wall mirrors them. Collocated
/// derivatives: Lele (1992), section 4; the hyperviscous second derivative has the sixth-order rows behind them.
/// Staggered: explicit Lagrange rows at the wall, then the widest symmetric compact row that fits. Filter: the value at
/// the wall stays, then the filters of second and fourth order with the same alpha.
std::vector<ClosureRow> wall_closures(const CompactScheme &scheme);

} // namespace tailrace::ops
