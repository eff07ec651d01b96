#pragma once

#include <tailrace/ops/line_equations.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace tailrace::ops {

/// The equations of a derivative along a direction of a grid whose points may be stretched: system + curvature * slope,
/// where slope is the first derivative and is there for second derivatives of stretched lines only.
struct OperatorEquations {
  LineEquations system;
  std::optional<LineEquations> slope;
  std::vector<double> curvature;

  /// Of a scheme on nodes or centres of direction d.
  OperatorEquations(const CompactScheme &scheme, const grid::Grid &grid, int d, Parity parity, double factor = 1)
      : system(scheme, grid.nodes[d], grid.boundaries[d], parity, factor, metric_of(scheme.operation, grid, d)) {
    if (scheme.operation != Operation::second_derivative || !grid.stretched(d))
      return;
    const CompactScheme first = compact_scheme(Operation::first_derivative, scheme.spacing);
    slope.emplace(first, grid.nodes[d], grid.boundaries[d], parity, factor, grid.metric(d));
    curvature = grid.curvature(d);
    for (double &value : curvature)
      value = -value;
  }

private:
  static std::vector<double> metric_of(Operation operation, const grid::Grid &grid, int d) {
    if (!is_derivative(operation))
      return {};
    std::vector<double> metric = grid.metric(d, to_centre(operation));
    if (operation == Operation::second_derivative)
      for (double &value : metric)
        value *= value;
    return metric;
  }
};

} // namespace tailrace::ops
