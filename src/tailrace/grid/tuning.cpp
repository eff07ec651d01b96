#include <tailrace/grid/tuning.hpp>

#include <tailrace/grid/exchange.hpp>
#include <tailrace/grid/shared_memory.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace tailrace::grid {

namespace {

constexpr std::size_t most_timed = 8; // process grids

double time_round(const Communicator &comm, const Decomposition &decomposition, TransposeMethod method) {
  Exchange<double> exchange(decomposition, method, std::make_shared<Workspace>());
  Field<double> x(decomposition.box(Pencil::x)), z(decomposition.box(Pencil::z));
  Field<double> y(decomposition.box(Pencil::y), exchange.allocate());
  constexpr int rounds = 3; // the first creates the plans and touches the memory
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    comm.barrier();
    double seconds = 0;
    {
      const Stopwatch watch(seconds);
      double *in_y = exchange.move(Pencil::x, Pencil::y, x.data(), y.data());
      double *in_z = exchange.move(Pencil::y, Pencil::z, in_y, z.data());
      exchange.move(Pencil::z, Pencil::y, in_z, in_y);
      exchange.move(Pencil::y, Pencil::x, in_y, x.data());
    }
    seconds = comm.max(seconds);
    best = round <= 1 ? seconds : std::min(best, seconds);
  }
  return best;
}

/// `shared` needs each row of the process grid on one node. Collective.
std::vector<TransposeMethod> methods_for(const Decomposition &decomposition) {
  std::vector methods{TransposeMethod::alltoall, TransposeMethod::subarray};
  const bool shares = can_share_memory(decomposition.processes().across_cols());
  if (decomposition.comm().max(std::int64_t{!shares}) == 0)
    methods.insert(methods.begin(), TransposeMethod::shared);
  return methods;
}

} // namespace

std::vector<std::pair<int, int>> worth_timing(const std::vector<std::pair<int, int>> &grids, int ranks_per_node) {
  if (grids.size() <= most_timed)
    return grids;
  const auto shares_a_node = [&](int cols) { return cols == ranks_per_node || 2 * cols == ranks_per_node; };
  // The ratio of the sides; those that are there for another reason come first.
  const auto rank_of = [&](const std::pair<int, int> &grid) {
    const auto [rows, cols] = grid;
    if (rows == 1 || cols == 1 || shares_a_node(cols))
      return 0.0;
    return static_cast<double>(std::max(rows, cols)) / std::min(rows, cols);
  };
  auto chosen = grids;
  std::stable_sort(chosen.begin(), chosen.end(), [&](const auto &a, const auto &b) { return rank_of(a) < rank_of(b); });
  chosen.resize(most_timed);
  std::sort(chosen.begin(), chosen.end()); // as they were: by rows
  return chosen;
}

std::vector<TuningResult> tune_process_grid(const Communicator &comm, const Index3 &shape, int rows, int cols,
                                            std::optional<TransposeMethod> method) {
  auto candidates = Decomposition::process_grids(comm.size(), shape);
  if (rows != 0 || cols != 0) {
    const ProcessGrid given(comm, rows, cols);
    candidates = {{given.rows(), given.cols()}};
  }
  if (candidates.empty())
    throw InputError(
        fmt::format("{} ranks are too many for {} x {} x {} points: no rows x cols gives every rank a part; use fewer "
                    "ranks",
                    comm.size(), shape[0], shape[1], shape[2]));
  if (candidates.size() > most_timed) {
    const std::int64_t on_this_node = comm.split_node().size();
    candidates = worth_timing(candidates, static_cast<int>(comm.max(on_this_node)));
  }
  std::vector<TuningResult> results;
  for (const auto &[r, c] : candidates) {
    const Decomposition decomposition(std::make_shared<ProcessGrid>(comm, r, c), shape);
    for (const TransposeMethod m : method ? std::vector{*method} : methods_for(decomposition))
      results.push_back({r, c, m, comm.size() == 1 ? 0 : time_round(comm, decomposition, m)});
  }
  std::stable_sort(results.begin(), results.end(), [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
  return results;
}

} // namespace tailrace::grid
