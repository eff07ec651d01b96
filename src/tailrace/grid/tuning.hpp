#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/transpose.hpp>

#include <optional>
#include <vector>

namespace tailrace::grid {

/// One way to share the work, and what a round X -> Y -> Z -> Y -> X of one double field took (seconds, slowest rank).
struct TuningResult {
  int rows, cols;
  TransposeMethod method;
  double seconds;
};

/// Times real transposes of `shape` on every process grid that fits (or the one given), with every method (or the one
/// given), and returns them fastest first. Collective; every rank gets the same list. InputError where no process grid
/// fits.
std::vector<TuningResult> tune_process_grid(const Communicator &comm, const Index3 &shape, int rows, int cols,
                                            std::optional<TransposeMethod> method);

} // namespace tailrace::grid
