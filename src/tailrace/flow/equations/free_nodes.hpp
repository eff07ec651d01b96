#pragma once

#include <tailrace/grid/grid.hpp>

namespace tailrace::flow {

/// The nodes of a grid where this component of the velocity is not given: without the ends of its own direction, and
/// without the Dirichlet ends of the others.
grid::Box free_nodes(const grid::Grid &grid, int component);

} // namespace tailrace::flow
