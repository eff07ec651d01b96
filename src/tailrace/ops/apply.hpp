#pragma once

#include <tailrace/ops/operator_equations.hpp>
#include <tailrace/ops/sweep.hpp>

#include <optional>

namespace tailrace::ops {

/// A derivative along lines whose points may be stretched; see OperatorEquations.
template <class T> struct LineOperator {
  LineSystem<T> system;
  std::optional<LineSystem<T>> slope;
  std::vector<T> curvature;

  LineOperator(const CompactScheme &scheme, const grid::Grid &grid, int d, Parity parity, double factor = 1)
      : LineOperator(OperatorEquations(scheme, grid, d, parity, factor)) {}
  explicit LineOperator(const OperatorEquations &equations)
      : system(equations.system), curvature(equations.curvature.begin(), equations.curvature.end()) {
    if (equations.slope)
      slope.emplace(*equations.slope);
  }
};

/// Applies the compact scheme of `system` to all `lines` of `in`; `finish` stores the results in `out`. Local.
template <class T, class Finish>
void sweep_system(const LineSystem<T> &system, const grid::Lines &lines, const T *in, T *out, Finish finish) {
  sweep<T, 1, 1>(
      lines, system.points_out, {in},
      [&](auto &tile) {
        fill_ghosts(tile, 0, lines.points, system.sides, system.parity, to_node(system.operation));
        solve_tile(system, tile.in[0], tile.out[0], tile.bundles,
                   FetchAhead<T>{in + tile.next_in, tile.step_in, out + tile.this_out, tile.step_out});
      },
      finish);
}

/// The same with an operator.
template <class T, class Finish>
void sweep_operator(const LineOperator<T> &op, const grid::Lines &lines, const T *in, T *out, Finish finish) {
  const LineSystem<T> &system = op.system;
  if (!op.slope)
    return sweep_system(system, lines, in, out, finish);
  sweep<T, 1, 2>(
      lines, system.points_out, {in},
      [&](auto &tile) {
        fill_ghosts(tile, 0, lines.points, system.sides, system.parity, false);
        solve_tile(system, tile.in[0], tile.out[0], tile.bundles);
        solve_tile(*op.slope, tile.in[0], tile.out[1], tile.bundles);
        for (int b = 0; b < tile.bundles; ++b)
          for (std::int64_t j = 0; j < system.points_out; ++j)
            tile.out[0][b][j] += op.curvature[static_cast<std::size_t>(j)] * tile.out[1][b][j];
      },
      [&](int k, std::int64_t offset, Vec<T> v, int count) {
        if (k == 0)
          finish(0, offset, v, count);
      });
}

/// out = the system or the operator applied to `in` along direction d. `count` is the block of the input, whole along
/// d; the output block differs from it along d only (its points_out). In place where both lengths are equal. Local.
template <class T> void apply(const LineSystem<T> &system, int d, const grid::Index3 &count, const T *in, T *out) {
  sweep_system(system, grid::Lines::along(d, count), in, out, StoreTo<T, 1>{{out}});
}
template <class T> void apply(const LineOperator<T> &op, int d, const grid::Index3 &count, const T *in, T *out) {
  sweep_operator(op, grid::Lines::along(d, count), in, out, StoreTo<T, 1>{{out}});
}

} // namespace tailrace::ops
