#pragma once

#include "support.hpp"
#include <tailrace/ops/apply.hpp>

#include <optional>
#include <ostream>
#include <vector>

namespace tailrace::test {

using namespace grid;
using namespace ops;

/// One operation on a line with `nodes` nodes.
struct Case {
  Operation op;
  Sides boundary;
  Parity parity;
  Interpolation interpolation;
  std::int64_t nodes;
  std::optional<Hyperviscosity> hyperviscosity = {}; ///< of a second derivative

  std::int64_t cells() const { return boundary == Boundary::periodic ? nodes : nodes - 1; }
  std::int64_t points_in() const { return to_node(op) ? cells() : nodes; }
  std::int64_t points_out() const { return to_centre(op) ? cells() : nodes; }
  /// -1 if the operation changes its sign when left and right are exchanged.
  double symmetry() const { return is_derivative(op) && op != Operation::second_derivative ? -1 : 1; }
};

inline std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << "operation " << static_cast<int>(c.op) << (c.hyperviscosity ? ", hyperviscous" : "") << ", "
             << sides_name(c.boundary) << ", parity " << static_cast<int>(c.parity) << ", interpolation "
             << static_cast<int>(c.interpolation) << ", " << c.nodes << " nodes";
}

inline CompactScheme scheme_of(const Case &c, double h) {
  return c.hyperviscosity ? hyperviscous_scheme(h, *c.hyperviscosity) : compact_scheme(c.op, h, c.interpolation);
}

/// Positive numbers without a pattern, one for each result.
inline std::vector<double> some_metric(const Case &c) {
  std::vector<double> metric;
  for (std::int64_t j = 0; j < c.points_out(); ++j)
    metric.push_back(0.3 + 2 * std::fabs(noise({j, 0, 0}, 9)));
  return metric;
}

template <class T>
LineSystem<T> system_of(const Case &c, double h, double factor = 1, const std::vector<double> &metric = {}) {
  return LineSystem<T>(scheme_of(c, h), c.nodes, c.boundary, c.parity, factor, metric);
}

inline constexpr Operation operations[] = {Operation::first_derivative,     Operation::second_derivative,
                                           Operation::derivative_to_centre, Operation::interpolate_to_centre,
                                           Operation::derivative_to_node,   Operation::interpolate_to_node};
inline constexpr Interpolation interpolations[] = {Interpolation::classic, Interpolation::optimised,
                                                   Interpolation::aggressive};

/// The case with every pair of boundaries and every parity that changes the result.
inline void add_boundaries(Case c, std::vector<Case> &cases) {
  using enum Boundary;
  for (const Sides &sides :
       {Sides(periodic), Sides(free_slip), Sides(dirichlet), Sides(free_slip, dirichlet), Sides(dirichlet, free_slip)})
    for (const Parity parity : {Parity::even, Parity::odd}) {
      c.boundary = sides;
      c.parity = parity;
      if (parity == Parity::even || sides.has(free_slip))
        cases.push_back(c);
    }
}

/// Every operation with every boundary, parity and interpolation that changes the result.
inline std::vector<Case> every_case(std::int64_t nodes) {
  std::vector<Case> cases;
  for (const Operation op : operations)
    for (const Interpolation interpolation : interpolations) {
      if (is_derivative(op) && interpolation != Interpolation::classic)
        continue;
      add_boundaries({op, Boundary::periodic, Parity::even, interpolation, nodes}, cases);
    }
  for (const Hyperviscosity &hyperviscosity : {Hyperviscosity{4, 0.44}, Hyperviscosity{0.5, 0.1}})
    add_boundaries(
        {Operation::second_derivative, Boundary::periodic, Parity::even, Interpolation::classic, nodes, hyperviscosity},
        cases);
  return cases;
}

} // namespace tailrace::test
