#include "io/configurations.hpp"
#include <tailrace/io/series.hpp>

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

const Index3 points{64, 64, 128}; // 4 MiB of doubles, so that too much data is more than the metadata
constexpr std::int64_t metadata = 256 << 10;

/// The number of bytes that this process has received from read(2) and similar calls, as counted by the system.
std::int64_t bytes_read_by_process() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::int64_t value = -1;
  return file >> name >> value && name == "rchar:" ? value : -1;
}

Box slab(int rank, int size) {
  const std::int64_t begin = points[2] * rank / size, end = points[2] * (rank + 1) / size;
  return {{0, 0, begin}, {points[0], points[1], end - begin}};
}

class ReadShare : public testing::TestWithParam<std::string> {};

TEST_P(ReadShare, IsTheOwnBoxHoweverManyRanksRead) {
  const Communicator comm(MPI_COMM_WORLD);
  if (bytes_read_by_process() < 0)
    GTEST_SKIP() << "no /proc/self/io here";
  std::string folder;
  if (comm.rank() == 0) {
    char pattern[] = "/tmp/tailrace_io_XXXXXX";
    folder = mkdtemp(pattern);
  }
  folder = comm.broadcast(folder, 0);
  const IoConfiguration &configuration = io_configuration(GetParam());
  const std::string path = folder + "/run" + io_suffix(configuration.engine);
  std::vector<double> whole(static_cast<std::size_t>(product(points)));
  std::iota(whole.begin(), whole.end(), 0.5);
  {
    Options options;
    options.engine = configuration.engine;
    options.parameters = configuration.parameters;
    Series out(path, Mode::write, comm, options);
    out.begin_step(1, 0.1);
    out.write("ux", whole.data(), {points, slab(comm.rank(), comm.size()), {{0, 0, 0}, points}});
    out.end_step();
    out.close();
  }
  for (int readers = 1; readers <= comm.size(); ++readers) {
    comm.barrier();
    const Communicator some = comm.split(comm.rank() < readers ? 0 : 1, comm.rank());
    if (comm.rank() >= readers)
      continue;
    const Series in(path, Mode::read, some);
    const Box box = slab(some.rank(), some.size());
    std::vector<double> data(static_cast<std::size_t>(box.size()));
    const std::int64_t before = bytes_read_by_process();
    in.read(0, "ux", box, data.data());
    const std::int64_t found = bytes_read_by_process() - before, wanted = 8 * box.size();
    EXPECT_GE(found, wanted) << readers << " readers"; // a smaller count means that the system did not count reads
    EXPECT_LE(found, wanted + metadata) << readers << " readers";
    EXPECT_GE(in.counters().bytes_read, wanted);
    EXPECT_LE(in.counters().bytes_read, wanted + metadata);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), whole.begin() + 64 * 64 * box.start[2]));
  }
  comm.barrier();
  if (comm.rank() == 0)
    fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Engines, ReadShare,
                         testing::ValuesIn(io_built({"raw", "raw_dist", "raw_two", "raw_collect_xy", "mpiio", "hdf5",
                                                     "bp5", "sion"})),
                         [](const auto &parameter) { return parameter.param; });

} // namespace
