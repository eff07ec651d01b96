// More ranks than blocks are listed in lines: without a parameter, their blocks are in tables.
#include "io/shared_folder.hpp"
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/series.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;

namespace {

class ManyRanks : public testing::TestWithParam<std::string> {};

/// Each rank writes a column of 2 x 3 x 5 points, in a grid of ranks that is 6 wide, and reads what another one wrote.
TEST_P(ManyRanks, WriteATableUnasked) {
  const Communicator world(MPI_COMM_WORLD);
  const SharedFolder made;
  const std::string path = std::string(made) + "/run";
  const std::int64_t rows = (world.size() + 5) / 6;
  const Index3 shape{12, 3 * rows, 5};
  const auto column = [](int rank) { return Box{{2 * (rank % 6), 3 * (rank / 6), 0}, {2, 3, 5}}; };
  const auto values = [](int rank) {
    std::vector<double> all(30);
    std::iota(all.begin(), all.end(), 100.0 * rank);
    return all;
  };
  {
    Options options;
    options.engine = GetParam();
    Series out(path, Mode::write, world, options);
    out.begin_step(0, 0.5);
    out.write("u", values(world.rank()).data(), {shape, column(world.rank()), column(world.rank())});
    out.end_step();
    out.close();
  }
  const bool sidecar = engine_traits(GetParam()).sidecar;
  std::ifstream file(sidecar ? path + "/series.jsonl" : path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (sidecar) {
    EXPECT_NE(text.find("\"version\":3"), std::string::npos);
    EXPECT_NE(text.find("\"checksums\":\"table\""), std::string::npos);
    EXPECT_LT(text.size(), 2000u);
  } else { // the record of the step
    EXPECT_NE(text.find("\"checksums\":{},"), std::string::npos);
    EXPECT_NE(text.find("\"table\":{\"variables\":[\"u\"],"), std::string::npos);
  }
  const Series in(path, Mode::read, world);
  const int other = (world.rank() + 7) % world.size();
  std::vector<double> found(30);
  in.read(0, "u", column(other), found.data());
  EXPECT_EQ(found, values(other));
  EXPECT_TRUE(in.verify(0).empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, ManyRanks, testing::Values("raw", "sion", "hdf5"));

} // namespace
