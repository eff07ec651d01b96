#pragma once

#include <tailrace/ops/apply.hpp>

#include <ostream>
#include <vector>

namespace tailrace::test {

using namespace grid;
using namespace ops;

/// One operation on a line with `nodes` nodes.
struct Case {
  Operation op;
  Boundary boundary;
  Parity parity;
  Interpolation interpolation;
  std::int64_t nodes;

  std::int64_t cells() const { return boundary == Boundary::periodic ? nodes : nodes - 1; }
  std::int64_t points_in() const { return to_node(op) ? cells() : nodes; }
  std::int64_t points_out() const { return to_centre(op) ? cells() : nodes; }
  /// -1 if the operation changes its sign when left and right are exchanged.
  double symmetry() const { return is_derivative(op) && op != Operation::second_derivative ? -1 : 1; }
};

inline std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << "operation " << static_cast<int>(c.op) << ", " << boundary_name(c.boundary) << ", parity "
             << static_cast<int>(c.parity) << ", interpolation " << static_cast<int>(c.interpolation) << ", " << c.nodes
             << " nodes";
}

template <class T> LineSystem<T> system_of(const Case &c, double h, double factor = 1) {
  return LineSystem<T>(compact_scheme(c.op, h, c.interpolation), c.nodes, c.boundary, c.parity, factor);
}

inline constexpr Operation operations[] = {Operation::first_derivative,     Operation::second_derivative,
                                           Operation::derivative_to_centre, Operation::interpolate_to_centre,
                                           Operation::derivative_to_node,   Operation::interpolate_to_node};
inline constexpr Interpolation interpolations[] = {Interpolation::classic, Interpolation::optimised,
                                                   Interpolation::aggressive};

/// Every operation with every boundary, parity and interpolation that changes the result.
inline std::vector<Case> every_case(std::int64_t nodes) {
  std::vector<Case> cases;
  for (const Operation op : operations)
    for (const Interpolation interpolation : interpolations) {
      if (is_derivative(op) && interpolation != Interpolation::classic)
        continue;
      cases.push_back({op, Boundary::periodic, Parity::even, interpolation, nodes});
      cases.push_back({op, Boundary::free_slip, Parity::even, interpolation, nodes});
      cases.push_back({op, Boundary::free_slip, Parity::odd, interpolation, nodes});
      cases.push_back({op, Boundary::dirichlet, Parity::even, interpolation, nodes});
    }
  return cases;
}

} // namespace tailrace::test
