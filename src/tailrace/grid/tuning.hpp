#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/transpose.hpp>

#include <optional>
#include <vector>

namespace tailrace::grid {

/// A process grid and a method, and the time of the transposes X -> Y -> Z -> Y -> X of one field of doubles, in
/// seconds on the slowest rank.
struct TuningResult {
  int rows, cols;
  TransposeMethod method;
  double seconds;
};

/// Times real transposes of `shape` on every process grid that fits (or the one given), with every method (or the one
/// given), and returns the results, fastest first. Collective; all ranks get the same list. Throws InputError if no
/// process grid fits.
std::vector<TuningResult> tune_process_grid(const Communicator &comm, const Index3 &shape, int rows, int cols,
                                            std::optional<TransposeMethod> method);

} // namespace tailrace::grid
