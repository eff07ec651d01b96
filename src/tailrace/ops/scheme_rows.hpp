#pragma once

#include <tailrace/ops/line_equations.hpp>

#include <type_traits>

namespace tailrace::ops {

/// Points kept on either side of a line, enough for the widest stencil.
inline constexpr int line_ghosts = 4;

/// Fills the ghost points number g of `lines` before its first and behind its last point (-g and n - 1 + g), by
/// periodicity or by mirroring. `at_centres`: the points are cell centres, and the boundary is half a cell away from
/// the first one. At walls ghost points have no meaning. T: of one value; lines[j] may be a value or a register of
/// them.
template <class T, class Points>
constexpr void fill_ghost(const Points &lines, std::int64_t n, const grid::Sides &sides, Parity parity, bool at_centres,
                          int g) {
  if (sides.periodic()) {
    lines[-g] = lines[n - g];
    lines[n - 1 + g] = lines[g - 1];
    return;
  }
  const T sign = static_cast<T>(static_cast<int>(parity));
  const int skip = at_centres ? 1 : 0;
  using Value = std::remove_cvref_t<decltype(lines[0])>;
  // At walls they are loaded, but no result uses them.
  lines[-g] = sides.lower == grid::Boundary::free_slip ? sign * lines[g - skip] : Value{};
  lines[n - 1 + g] = sides.upper == grid::Boundary::free_slip ? sign * lines[n - 1 - g + skip] : Value{};
}

/// The same for values on nodes that continue oddly about the value at each end, by which a normal velocity given at a
/// wall enters the staggered derivative; at free slip that value is zero.
template <class T, class Points>
constexpr void fill_ghost_about_ends(const Points &lines, std::int64_t n, const grid::Sides &sides, int g) {
  if (sides.periodic())
    return fill_ghost<T>(lines, n, sides, Parity::odd, false, g);
  lines[-g] = T(2) * lines[0] - lines[g];
  lines[n - 1 + g] = T(2) * lines[n - 1] - lines[n - 1 - g];
}

/// Fills all of them.
template <class T, class Points>
inline void fill_ghosts(Points lines, std::int64_t n, const grid::Sides &sides, Parity parity, bool at_centres) {
  for (int g = 1; g <= line_ghosts; ++g)
    fill_ghost<T>(lines, n, sides, parity, at_centres, g);
}
template <class T, class Points>
inline void fill_ghosts_about_ends(Points lines, std::int64_t n, const grid::Sides &sides) {
  for (int g = 1; g <= line_ghosts; ++g)
    fill_ghost_about_ends<T>(lines, n, sides, g);
}

/// Right-hand side of the interior scheme at output point 0 of `f`, where f[k] is the value k points further on.
template <class T, Operation op, int pairs, class Points>
constexpr auto right_hand_side(const Points &f, const T (&c)[4]) {
  constexpr int shift = to_node(op) ? -1 : 0;
  if constexpr (op == Operation::first_derivative) {
    return c[0] * (f[1] - f[-1]) + c[1] * (f[2] - f[-2]);
  } else if constexpr (op == Operation::second_derivative) {
    auto sum = c[0] * ((f[1] + f[-1]) - T(2) * f[0]) + c[1] * ((f[2] + f[-2]) - T(2) * f[0]);
    if constexpr (pairs > 2)
      sum += c[2] * ((f[3] + f[-3]) - T(2) * f[0]) + c[3] * ((f[4] + f[-4]) - T(2) * f[0]);
    return sum;
  } else if constexpr (op == Operation::filter) {
    return c[3] * f[0] + c[0] * (f[1] + f[-1]) + c[1] * (f[2] + f[-2]) + c[2] * (f[3] + f[-3]);
  } else if constexpr (is_derivative(op)) {
    return c[0] * (f[shift + 1] - f[shift]) + c[1] * (f[shift + 2] - f[shift - 1]);
  } else {
    auto sum = c[0] * (f[shift + 1] + f[shift]) + c[1] * (f[shift + 2] + f[shift - 1]);
    if constexpr (pairs > 2)
      sum += c[2] * (f[shift + 3] + f[shift - 2]);
    if constexpr (pairs > 3)
      sum += c[3] * (f[shift + 4] + f[shift - 3]);
    return sum;
  }
}

template <Operation op, int count> struct Scheme {
  static constexpr Operation operation = op;
  static constexpr int pairs = count;
};

/// Calls visit(scheme), where scheme has the operation and the number of pairs as constants.
template <class Visit> inline void with_scheme(Operation operation, int pairs, const Visit &visit) {
  using enum Operation;
  switch (operation) {
  case first_derivative:
    return visit(Scheme<first_derivative, 2>{});
  case second_derivative:
    return pairs == 2 ? visit(Scheme<second_derivative, 2>{}) : visit(Scheme<second_derivative, 4>{});
  case filter:
    return visit(Scheme<Operation::filter, 3>{});
  case derivative_to_centre:
    return visit(Scheme<derivative_to_centre, 2>{});
  case derivative_to_node:
    return visit(Scheme<derivative_to_node, 2>{});
  case interpolate_to_centre:
    return pairs == 3   ? visit(Scheme<interpolate_to_centre, 3>{})
           : pairs == 2 ? visit(Scheme<interpolate_to_centre, 2>{})
                        : visit(Scheme<interpolate_to_centre, 4>{});
  case interpolate_to_node:
    return pairs == 3   ? visit(Scheme<interpolate_to_node, 3>{})
           : pairs == 2 ? visit(Scheme<interpolate_to_node, 2>{})
                        : visit(Scheme<interpolate_to_node, 4>{});
  }
}

} // namespace tailrace::ops
