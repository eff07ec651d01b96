#include <tailrace/flow/equations/free_nodes.hpp>

namespace tailrace::flow {

using namespace grid;

Box free_nodes(const Grid &grid, int component) {
  Box free;
  for (int d = 0; d < 3; ++d) {
    const Sides &sides = grid.boundaries[d];
    const bool own_end = component == d && !grid.periodic(d);
    free.start[d] = own_end || sides.lower == Boundary::dirichlet ? 1 : 0;
    free.count[d] = grid.nodes[d] - free.start[d] - (own_end || sides.upper == Boundary::dirichlet ? 1 : 0);
  }
  return free;
}

} // namespace tailrace::flow
