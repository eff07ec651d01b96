// Counts the collective MPI calls of a step for each engine. The table in docs/io.md has the same numbers.

#include "io/collectives.hpp"
#include "io/configurations.hpp"
#include "io/shared_folder.hpp"
#include <tailrace/io/series.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using test::collective_calls;

namespace {

struct Counts {
  int begin = 0, write = 0, end = 0;
};

/// The largest allowed counts on four ranks, in the second step. `write` is the count for one array.
const std::map<std::string, Counts> &expected() {
  static const std::map<std::string, Counts> all{
      {"adios_hdf5", {9, 3, 16}},
      {"bp4", {2, 2, 7}},
      {"bp5", {2, 2, 8}},
      {"hdf5", {2, 3, 4}},
      {"hdf5_gzip", {2, 7, 4}},
      {"mpiio", {1, 9, 4}},
      {"mpiio_collective", {1, 11, 4}},
      {"mpiio_small", {1, 4, 4}},
      {"raw", {1, 3, 4}},
      {"raw_collect", {1, 3, 4}},
      {"raw_collect_xy", {1, 4, 4}},
      {"raw_dist", {1, 2, 6}},
      {"raw_node", {1, 5, 6}},
      {"raw_plane_files", {1, 3, 6}},
      {"raw_two", {1, 5, 6}},
      {"sion", {1, 2, 10}},
      {"sion_files", {1, 2, 10}},
  };
  return all;
}

/// The largest count over all ranks.
int calls_of(const Communicator &comm, const std::function<void()> &work) {
  const int before = collective_calls;
  work();
  return static_cast<int>(comm.max(std::int64_t{collective_calls - before}));
}

Counts count_calls(const Communicator &comm, const std::string &path, const IoConfiguration &configuration) {
  const Index3 shape{6, 5, 4 * comm.size()};
  const Box block{{0, 0, 4 * comm.rank()}, {6, 5, 4}};
  const std::vector<double> values(static_cast<std::size_t>(block.size()), 1.5);
  io::Series out(path, io::Mode::write, comm, {configuration.engine, configuration.parameters, {}, {}, {}});
  Counts counts;
  for (int step = 1; step <= 2; ++step) { // the first step also creates objects that later steps use
    counts.begin = calls_of(comm, [&] { out.begin_step(step, step); });
    for (const char *name : {"u", "v"})
      counts.write = calls_of(comm, [&] {
        out.write([&] { return io::WriteRequest{name, io::Type::float64, values.data(), {shape, block, block}}; });
      });
    counts.end = calls_of(comm, [&] { out.end_step(); });
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
    const Counts found =
        count_calls(world, std::string(folder) + "/" + name + io_suffix(configuration.engine), configuration);
    const std::string row = name + ": " + std::to_string(found.begin) + ", " + std::to_string(found.write) + ", " +
                            std::to_string(found.end);
    SCOPED_TRACE(row);
    const auto limit = expected().find(name);
    ASSERT_NE(limit, expected().end()) << "a configuration that is not in the table";
    EXPECT_LE(found.begin, limit->second.begin);
    EXPECT_LE(found.write, limit->second.write);
    EXPECT_LE(found.end, limit->second.end);
  }
}

} // namespace
