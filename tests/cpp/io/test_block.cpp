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

TEST(Names, ArePlain) {
  for (const char *name : {"u", "_u", "-u", "u.v", "Ux-1_2", "0"})
    check_name(name);
  for (const char *name : {"", ".u", "u v", "u/v", "\u00fc", "u:", "u\n"})
    EXPECT_TRUE(has(error_of<InputError>([&] { check_name(name); }), "cannot name a variable")) << name;
  check_attribute_name("units");
  check_attribute_name("u/units");
  for (const char *name : {"", "/units", "u/", "u/v/units", "u /units", "u/.units"})
    EXPECT_THROW(check_attribute_name(name), InputError) << name;
}

TEST(Types, HaveNamesAndSomeAreConverted) {
  for (const auto &[type, name] : {std::pair{Type::float32, "float32"}, std::pair{Type::float64, "float64"},
                                   std::pair{Type::int32, "int32"}, std::pair{Type::int64, "int64"}}) {
    EXPECT_STREQ(name_of(type), name);
    EXPECT_EQ(type_named(name), type);
    EXPECT_TRUE(convertible(type, type));
    EXPECT_TRUE(convertible(type, Type::float32));
    EXPECT_EQ(convertible(type, Type::int32), type == Type::int32);
  }
  EXPECT_TRUE(has(error_of<InputError>([] { type_named("float128"); }),
                  "unknown number type 'float128': expected one of float16, "));
  const std::vector<std::int64_t> whole{-3, 1 << 20};
  std::vector<float> real(3, 7);
  convert(Type::int64, whole.data(), Type::float32, real.data(), 2);
  EXPECT_EQ(real, (std::vector<float>{-3, 1 << 20, 7}));
  std::vector<std::int64_t> copy(2);
  convert(Type::int64, whole.data(), Type::int64, copy.data(), 2);
  EXPECT_EQ(copy, whole);
}

/// The messages also name boxes that no numbers can hold.
TEST(Boxes, AreDescribedByTheirRanges) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(describe(Box{{0, 4, -1}, {17, 4, 9}}), "(0:17, 4:8, -1:8)");
  EXPECT_EQ(describe(Box{{largest, 0, 0}, {1, 1, 1}}), "(9223372036854775807:9223372036854775807, 0:1, 0:1)");
}

TEST(Placements, AreCheckedAtTheirBounds) {
  const double value = 0;
  const Index3 shape{8, 4, 2};
  const auto told = [&](const Box &block, const Box &memory, const void *data) {
    return error_of<InputError>([&] { check_placement("u", {shape, block, memory}, data); });
  };
  const Box whole{{0, 0, 0}, shape}, none{{0, 0, 0}, {0, 0, 0}};
  check_placement("u", {shape, whole, whole}, &value);
  check_placement("u", {shape, {{7, 3, 1}, {1, 1, 1}}, {{-1, -1, -1}, {9, 5, 3}}}, &value);
  check_placement("u", {shape, none, none}, nullptr); // nothing of it is on this rank
  EXPECT_EQ(told({{7, 3, 1}, {2, 1, 1}}, {{0, 0, 0}, {9, 4, 2}}, &value),
            "u: block (7:9, 3:4, 1:2) lies outside the global shape 8 x 4 x 2");
  EXPECT_EQ(told(whole, {{0, 0, 0}, {8, 4, 1}}, &value),
            "u: memory (0:8, 0:4, 0:1) does not cover block (0:8, 0:4, 0:2)");
  EXPECT_EQ(told(whole, whole, nullptr), "u: no data for block (0:8, 0:4, 0:2)");
  EXPECT_EQ(told(whole, {{0, 0, 0}, {-1, 4, 2}}, &value), "u: there is no block (0:-1, 0:4, 0:2) (x, y, z)");
  const Box wide{{-most_bytes, 0, 0}, {most_bytes, 1, 1}}, wider{{-most_bytes - 1, 0, 0}, {most_bytes, 1, 1}};
  EXPECT_TRUE(has(told({{0, 0, 0}, {1, 1, 1}}, wide, &value), "does not cover"));
  EXPECT_TRUE(has(told({{0, 0, 0}, {1, 1, 1}}, wider, &value), "there is no block"));
}

TEST(Grids, HaveACoordinateForEachPointAndTheyGrow) {
  const auto told = [](const std::vector<double> &x) {
    return error_of<InputError>([&] { check_grid({{3, 1, 1}, {0, 0, 0}, {1, 1, 1}, {{x, {}, {}}}}); });
  };
  check_grid({{3, 1, 1}, {0, 0, 0}, {1, 1, 1}, {{{-1, 0, 0.5}, {}, {}}}});
  check_grid({{3, std::int64_t{1} << 20, 1}, {0, 0, 0}, {1, 1, 1}, {{{-1, 0, 0.5}, {}, {}}}});
  EXPECT_THROW(check_grid({{3, (std::int64_t{1} << 20) + 1, 1}, {0, 0, 0}, {1, 1, 1}, {{{-1, 0, 0.5}, {}, {}}}}),
               InputError);
  EXPECT_EQ(told({0, 1}), "grid: 2 coordinates in x for 3 points; give one each, or none");
  EXPECT_EQ(told({0, 1, 1}), "grid: coordinate 2 in x is 1, not larger than the 1 before");
  EXPECT_EQ(told({0, -1, 1}), "grid: coordinate 1 in x is -1, not larger than the 0 before");
  EXPECT_TRUE(has(told({0, std::numeric_limits<double>::quiet_NaN(), 1}), "coordinate 1 in x is nan"));
}
