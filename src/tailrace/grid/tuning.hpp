#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/transpose.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace tailrace::grid {

/// A process grid and a method, and the time of the transposes X -> Y -> Z -> Y -> X of one field of doubles, in
/// seconds on the slowest rank.
struct TuningResult {
  int rows, cols;
  TransposeMethod method;
  double seconds;
};

/// The process grids that are worth timing: all of them where they are few. Else the slabs, those whose rows fill one
/// node or half of it, which share its memory, and the squarest, whose ranks exchange with the fewest others: ten
/// thousand ranks have 25 grids, and each costs two communicators and transposes of the whole field. Local.
std::vector<std::pair<int, int>> worth_timing(const std::vector<std::pair<int, int>> &grids, int ranks_per_node);

/// Times real transposes of `shape` on the process grids that fit and are worth it (or the one given), with every
/// method (or the one given), and returns the results, fastest first. Collective; all ranks get the same list. Throws
/// InputError if no process grid fits.
std::vector<TuningResult> tune_process_grid(const Communicator &comm, const Index3 &shape, int rows, int cols,
                                            std::optional<TransposeMethod> method);

} // namespace tailrace::grid
