// Files that will be synced are on their way to the disk while they are written, others are left to the system.
#include "io_configurations.hpp"
#include "shared_folder.hpp"
#include <tailrace/io/series.hpp>
#include <tailrace/io/writeback.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

struct Range {
  std::int64_t begin, bytes;
};
std::vector<Range> sent;

} // namespace

/// In the place of the system's: the library finds this one first.
extern "C" int sync_file_range(int, __off64_t begin, __off64_t bytes, unsigned) {
  sent.push_back({begin, bytes});
  return 0;
}

using namespace tailrace;
using namespace tailrace::io;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

TEST(Writeback, SendsWhatHasComeInAnyOrder) {
  sent.clear();
  Writeback writeback(true);
  for (const std::int64_t begin : {7, 3, 5, 1, 9, 11, 13}) // every other MiB
    writeback.wrote(0, begin * mib, mib);
  EXPECT_TRUE(sent.empty());
  writeback.wrote(0, 15 * mib, mib);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].begin, 1 * mib);
  EXPECT_EQ(sent[0].bytes, 15 * mib);
  writeback.wrote(0, 40 * mib, 9 * mib); // nothing of before is sent again
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].begin, 40 * mib);
  EXPECT_EQ(sent[1].bytes, 9 * mib);
}

TEST(Writeback, OffSendsNothing) {
  sent.clear();
  Writeback().wrote(0, 0, 100 * mib);
  EXPECT_TRUE(sent.empty());
}

class SyncedSeries : public testing::TestWithParam<std::string> {
protected:
  /// What this rank sends while it writes a slab of 32 MiB.
  void write(bool sync) {
    const test::SharedFolder folder;
    const IoConfiguration &configuration = io_configuration(GetParam());
    Options options;
    options.engine = configuration.engine;
    options.parameters = configuration.parameters;
    options.parameters["sync"] = sync ? "on" : "off";
    const Communicator comm(MPI_COMM_WORLD);
    const Index3 shape{256, 128, 128 * comm.size()};
    const Box block{{0, 0, 128 * comm.rank()}, {256, 128, 128}};
    const std::vector<double> data(static_cast<std::size_t>(block.size()), 1.5);
    Series out(static_cast<const std::string &>(folder) + "/run" + io_suffix(options.engine), Mode::write, comm,
               options);
    sent.clear();
    out.begin_step(0, 0);
    out.write("u", data.data(), {shape, block, block});
    out.end_step();
    out.close();
  }
};

TEST_P(SyncedSeries, IsOnItsWayBeforeTheSync) {
  write(true);
  std::int64_t bytes = 0;
  for (const Range &range : sent)
    bytes += range.bytes;
  EXPECT_GT(bytes, 24 * mib); // all but the last
  EXPECT_LE(bytes, 32 * mib);
}

TEST_P(SyncedSeries, IsLeftToTheSystemOtherwise) {
  write(false);
  EXPECT_TRUE(sent.empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, SyncedSeries, testing::Values("raw", "raw_dist", "mpiio", "hdf5", "sion"),
                         [](const auto &parameter) { return parameter.param; });

} // namespace
