#include <tailrace/grid/tuning.hpp>

#include <gtest/gtest.h>

#include <algorithm>

using namespace tailrace;
using namespace tailrace::grid;

namespace {

using Grids = std::vector<std::pair<int, int>>;

bool has(const Grids &grids, std::pair<int, int> grid) {
  return std::find(grids.begin(), grids.end(), grid) != grids.end();
}

} // namespace

TEST(Tuning, TimesAllGridsWhereTheyAreFew) {
  for (const int ranks : {1, 2, 6, 12, 24, 30}) {
    const Grids all = Decomposition::process_grids(ranks, {512, 512, 512});
    EXPECT_LE(all.size(), 8u);
    EXPECT_EQ(worth_timing(all, 4), all) << ranks;
  }
}

TEST(Tuning, TimesEightOfMany) {
  const Grids all = Decomposition::process_grids(10'000, {30'000, 30'000, 30'000});
  ASSERT_EQ(all.size(), 25u);
  const Grids timed = worth_timing(all, 40);
  EXPECT_EQ(timed.size(), 8u);
  EXPECT_TRUE(std::is_sorted(timed.begin(), timed.end()));
  // Slabs, rows of one node and of half a node, and the squarest.
  for (const auto &grid : Grids{{1, 10'000}, {10'000, 1}, {250, 40}, {500, 20}, {100, 100}, {80, 125}, {125, 80}})
    EXPECT_TRUE(has(timed, grid)) << grid.first << " x " << grid.second;
  EXPECT_TRUE(has(timed, {50, 200}) || has(timed, {200, 50}));
}

TEST(Tuning, TimesTheSquarestWhereNoSlabFits) {
  const Grids all = Decomposition::process_grids(10'000, {2048, 2048, 2048});
  ASSERT_GT(all.size(), 8u);
  const Grids timed = worth_timing(all, 48); // no grid has rows of a node
  EXPECT_EQ(timed.size(), 8u);
  EXPECT_TRUE(has(timed, {100, 100}) && has(timed, {80, 125}) && has(timed, {125, 80}));
  for (const auto &[rows, cols] : timed)
    EXPECT_LE(std::max(rows, cols), 16 * std::min(rows, cols)) << rows << " x " << cols;
}
