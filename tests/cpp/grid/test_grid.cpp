// Tests which grids there are.
#include <tailrace/grid/grid.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;

namespace {

std::string refusal(const Index3 &nodes, const std::array<Boundary, 3> &boundaries) {
  try {
    Grid(nodes, {1, 1, 1}, boundaries);
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(Grid, OneNodeIsAPeriodicDirectionAlongWhichNothingChanges) {
  using enum Boundary;
  EXPECT_EQ(refusal({8, 9, 1}, {free_slip, dirichlet, periodic}), "");
  EXPECT_EQ(refusal({1, 1, 8}, {periodic, periodic, periodic}), "");
  EXPECT_EQ(refusal({8, 7, 8}, {periodic, periodic, periodic}),
            "grid has 7 nodes in y; the compact schemes need at least 8, or 1 where nothing changes along a periodic "
            "direction");
  EXPECT_NE(refusal({8, 8, 1}, {periodic, periodic, free_slip}), "");
  EXPECT_NE(refusal({8, 8, 1}, {periodic, periodic, dirichlet}), "");
  EXPECT_NE(refusal({8, 8, 0}, {periodic, periodic, periodic}), "");
}

TEST(Error, ShowsNulInsteadOfEndingThere) {
  EXPECT_STREQ(Error(std::string("a\0b\0", 4) + "c").what(), "a\\u0000b\\u0000c");
  EXPECT_STREQ(InputError("plain").what(), "plain");
}
