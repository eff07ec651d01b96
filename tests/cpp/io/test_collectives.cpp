// Counts the collective MPI calls of a step for each engine. The table in docs/io/cost.md has the same numbers.

#include "io/collectives.hpp"
#include "io/configurations.hpp"
#include "io/shared_folder.hpp"
#include <tailrace/io/series.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using test::collective_calls;

namespace {

/// The largest count over all ranks.
int calls_of(const Communicator &comm, const std::function<void()> &work) {
  const int before = collective_calls;
  work();
  return static_cast<int>(comm.max(std::int64_t{collective_calls - before}));
}

/// Of begin_step, of one array as Fortran, C and Python write it, and of end_step, in the second step.
std::array<int, 3> count_calls(const Communicator &comm, const std::string &path,
                               const IoConfiguration &configuration) {
  const Index3 shape{6, 5, 4 * comm.size()};
  const Box block{{0, 0, 4 * comm.rank()}, {6, 5, 4}};
  const std::vector<double> values(static_cast<std::size_t>(block.size()), 1.5);
  io::Series out(path, io::Mode::write, comm, {configuration.engine, configuration.parameters, {}, {}, {}});
  std::array<int, 3> counts{};
  for (int step = 1; step <= 2; ++step) { // the first step also creates objects that later steps use
    counts[0] = calls_of(comm, [&] { out.begin_step(step, step); });
    for (const char *name : {"u", "v"})
      counts[1] = calls_of(comm, [&] {
        out.write([&] { return io::WriteRequest{name, io::Type::float64, values.data(), {shape, block, block}}; });
      });
    counts[2] = calls_of(comm, [&] { out.end_step(); });
  }
  out.close();
  return counts;
}

TEST(Collectives, OfAStepByEngine) {
  const Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder;
  for (const auto &[name, configuration] : io_configurations()) {
    if (configuration.parameters.count("buffers") > 0)
      continue; // in the background, the time of the calls is not fixed
    const auto found =
        count_calls(world, std::string(folder) + "/" + name + io_suffix(configuration.engine), configuration);
    for (std::size_t call = 0; call < found.size(); ++call)
      EXPECT_LE(found[call], configuration.collective_calls[call])
          << name << ": " << std::array{"begin_step", "write", "end_step"}[call];
  }
}

} // namespace
