#include "io/thrown.hpp"
#include "support.hpp"
#include <tailrace/io/data/block.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
using namespace tailrace::test;

namespace {

/// The points of a box in logical order, as numbers in a box around it.
std::vector<std::int64_t> points_of(const Box &box) {
  std::vector<std::int64_t> points;
  for (std::int64_t k = box.start[2]; k < box.end(2); ++k)
    for (std::int64_t j = box.start[1]; j < box.end(1); ++j)
      for (std::int64_t i = box.start[0]; i < box.end(0); ++i)
        points.push_back(i + 1000 * (j + 1000 * k));
  return points;
}

} // namespace

/// The last piece of a row, of a plane and of the box is smaller where the size of a piece does not divide them.
TEST(Pieces, HoldEveryPointOnceAndInOrder) {
  for (const Box &box : {Box{{3, 1, 2}, {7, 5, 4}}, Box{{0, 0, 0}, {1, 9, 2}}, Box{{5, 0, 1}, {6, 1, 11}}})
    for (std::int64_t most = 1; most <= box.size() + 1; ++most) {
      std::vector<std::int64_t> found;
      for (const Box &piece : pieces_of(box, most)) {
        EXPECT_TRUE(box.contains(piece)) << describe(piece) << " of " << describe(box) << " with at most " << most;
        EXPECT_LE(piece.size(), most);
        const auto points = points_of(piece);
        found.insert(found.end(), points.begin(), points.end());
      }
      EXPECT_EQ(found, points_of(box)) << describe(box) << " with at most " << most;
    }
  EXPECT_TRUE(pieces_of({{0, 0, 0}, {4, 0, 4}}, 3).empty());
}

TEST(Shapes, ThatNoVariableHasAreRefused) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max(), million = 1'000'000;
  check_shape("ux", {million, million, 100'000});
  check_shape("list", {3, 0, 1}, true);
  for (const Index3 &shape : {Index3{0, 1, 1}, Index3{1, 1, 0}, Index3{-1, 1, 1}, Index3{million, million, million},
                              Index3{largest, 1, 1}, Index3{1, 1, largest}, Index3{largest, largest, largest},
                              Index3{std::int64_t{1} << 32, std::int64_t{1} << 32, 1}, Index3{-2, -2, 1}}) {
    EXPECT_TRUE(has(error_of<InputError>([&] { check_shape("ux", shape); }), "ux: no array has the shape"))
        << describe(shape);
    EXPECT_THROW(check_placement("ux", {shape, {}, {}}, nullptr), InputError);
  }
  EXPECT_THROW(check_shape("ux", {3, 0, 1}), InputError);
}

/// The coordinates of all directions are listed for programs that draw, where one has coordinates.
TEST(Grids, WithPointsWithoutEndAreRefused) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  check_grid({{many, 3, 1}, {0, 0, 0}, {1, 1, 1}, {}});
  check_grid({{4, 3, 1}, {0, 0, 0}, {1, 1, 1}, {{{}, {0, 1, 3}, {}}}});
  EXPECT_TRUE(has(error_of<InputError>([] { check_grid({{4, 3, many}, {0, 0, 0}, {1, 1, 1}, {{{}, {0, 1, 3}, {}}}}); }),
                  "grid: 1099511627776 points in z without coordinates"));
}

TEST(Shapes, NoBlockIsOutsideByOverflow) {
  const double value = 0;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t start : {largest, largest - 3, std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}}) {
    const Box block{{start, 0, 0}, {4, 1, 1}};
    EXPECT_THROW(check_placement("ux", {{8, 1, 1}, block, block}, &value), InputError) << start;
  }
}
