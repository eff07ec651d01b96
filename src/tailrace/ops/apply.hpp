#pragma once

#include <tailrace/ops/sweep.hpp>

namespace tailrace::ops {

/// Applies the compact scheme of `system` to all `lines` of `in`; `finish` stores the results in `out`. Local.
template <class T, class Finish>
void sweep_system(const LineSystem<T> &system, const grid::Lines &lines, const T *in, T *out, Finish finish) {
  sweep<T, 1, 1>(
      lines, system.points_out, {in},
      [&](auto &tile) {
        fill_ghosts(tile, 0, lines.points, system.boundary, system.parity, to_node(system.operation));
        solve_tile(system, tile.in[0], tile.out[0], tile.bundles,
                   FetchAhead<T>{in + tile.next_in, tile.step_in, out + tile.this_out, tile.step_out});
      },
      finish);
}

/// out = the compact scheme of `system` applied to `in` along direction d. `count` is the block of the input, whole
/// along d; the output block differs from it along d only (system.points_out). In place where both lengths are equal.
/// Local.
template <class T> void apply(const LineSystem<T> &system, int d, const grid::Index3 &count, const T *in, T *out) {
  sweep_system(system, grid::Lines::along(d, count), in, out, StoreTo<T, 1>{{out}});
}

} // namespace tailrace::ops
