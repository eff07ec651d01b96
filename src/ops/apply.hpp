#pragma once

#include <tailrace/ops/sweep.hpp>

namespace tailrace {

/// out = the compact scheme of `system` applied to `in` along direction d. `count` is the block of the input, whole
/// along d; the output block differs from it along d only (system.points_out). In place where both lengths are equal.
/// Local.
template <class T> void apply(const LineSystem<T> &system, int d, const Index3 &count, const T *in, T *out) {
  const Lines lines = Lines::along(d, count);
  sweep<T, 1, 1>(
      lines, system.points_out, {in},
      [&](auto &tile) {
        fill_ghosts(tile, 0, lines.points, system.boundary, system.parity, to_node(system.operation));
        solve_tile(system, tile.in[0], tile.out[0], tile.bundles);
      },
      StoreTo<T, 1>{{out}});
}

} // namespace tailrace
