// Compares every function of box_copy.hpp with loops over single points.
#include "support.hpp"
#include <tailrace/grid/box_copy.hpp>

#include <gtest/gtest.h>

#include <complex>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::test;

namespace {

std::int64_t index_in(const Box &box, const Index3 &p) {
  return p[0] - box.start[0] + box.count[0] * (p[1] - box.start[1] + box.count[1] * (p[2] - box.start[2]));
}

Box with_ghosts(const Box &box, const Index3 &below, const Index3 &above) {
  Box result = box;
  for (int d = 0; d < 3; ++d) {
    result.start[d] -= below[d];
    result.count[d] += below[d] + above[d];
  }
  return result;
}

/// Parts of every shape: single points, rows, columns, planes, blocks, and empty parts.
std::vector<Box> parts() {
  std::vector<Box> all;
  for (const std::int64_t x : {0, 1, 5})
    for (const std::int64_t y : {0, 1, 4})
      for (const std::int64_t z : {0, 1, 3})
        all.push_back({{7, -2, 11}, {x, y, z}});
  return all;
}

/// Boxes that contain a part: the part itself, and the part with ghost points on some sides.
std::vector<Box> boxes_around(const Box &part) {
  return {part,
          with_ghosts(part, {0, 0, 2}, {0, 0, 1}),
          with_ghosts(part, {0, 3, 0}, {0, 0, 0}),
          with_ghosts(part, {0, 1, 1}, {0, 2, 0}),
          with_ghosts(part, {1, 0, 0}, {0, 0, 0}),
          with_ghosts(part, {2, 1, 3}, {1, 2, 1})};
}

template <class T> std::vector<T> numbered(const Box &box) {
  std::vector<T> values(static_cast<std::size_t>(box.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<float>(i + 1));
  return values;
}

template <class T> class BoxCopyOf : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>, std::int32_t, std::int64_t>;

} // namespace

TYPED_TEST_SUITE(BoxCopyOf, Types);

TYPED_TEST(BoxCopyOf, CopiesThePartAndNothingElse) {
  using T = TypeParam;
  for (const Box &part : parts())
    for (const Box &from : boxes_around(part))
      for (const Box &to : boxes_around(part)) {
        const auto source = numbered<T>(from);
        std::vector<T> found(static_cast<std::size_t>(to.size()), static_cast<T>(-1.0F)), expected = found;
        std::vector<T> by_size = found;
        for_each_point(part, [&](const Index3 &p, std::int64_t) {
          expected[static_cast<std::size_t>(index_in(to, p))] = source[static_cast<std::size_t>(index_in(from, p))];
        });
        copy_part(part, from, source.data(), to, found.data());
        EXPECT_TRUE(found == expected);
        copy_part(part, sizeof(T), from, source.data(), to, by_size.data());
        EXPECT_TRUE(by_size == expected);
      }
}

TYPED_TEST(BoxCopyOf, PacksAndUnpacks) {
  using T = TypeParam;
  for (const Box &part : parts())
    for (const Box &box : boxes_around(part)) {
      const auto source = numbered<T>(box);
      std::vector<T> packed(static_cast<std::size_t>(part.size())), expected;
      std::vector<T> back(source.size(), static_cast<T>(-1.0F)), only_part = back;
      for_each_point(part, [&](const Index3 &p, std::int64_t) {
        const auto at = static_cast<std::size_t>(index_in(box, p));
        expected.push_back(source[at]);
        only_part[at] = source[at];
      });
      pack(part, box, source.data(), packed.data());
      EXPECT_TRUE(packed == expected);
      unpack(part, packed.data(), box, back.data());
      EXPECT_TRUE(back == only_part);
    }
}

TYPED_TEST(BoxCopyOf, PacksEveryStridethPoint) {
  using T = TypeParam;
  const Box box{{-1, 2, 3}, {11, 8, 7}};
  const auto source = numbered<T>(box);
  for (const Index3 &stride : {Index3{1, 1, 1}, Index3{2, 3, 4}, Index3{5, 1, 2}, Index3{1, 7, 1}}) {
    Box chosen{{0, 2, 4}, {}};
    for (int d = 0; d < 3; ++d)
      chosen.count[d] = (box.end(d) - chosen.start[d] + stride[d] - 1) / stride[d];
    std::vector<T> packed(static_cast<std::size_t>(chosen.size())), expected;
    for_each_point({{0, 0, 0}, chosen.count}, [&](const Index3 &n, std::int64_t) {
      Index3 p;
      for (int d = 0; d < 3; ++d)
        p[d] = chosen.start[d] + n[d] * stride[d];
      expected.push_back(source[static_cast<std::size_t>(index_in(box, p))]);
    });
    pack_strided<sizeof(T)>(chosen, stride, box, source.data(), packed.data());
    EXPECT_TRUE(packed == expected);
  }
}

TEST(BoxCopy, VisitsTheFewestRunsInTheOrderOfMemory) {
  for (const Box &part : parts())
    for (const Box &a : boxes_around(part))
      for (const Box &b : boxes_around(part)) {
        // The expected result, point by point: a run continues while the next point is the next one in both arrays.
        std::vector<std::array<std::int64_t, 3>> expected, found;
        for_each_point(part, [&](const Index3 &p, std::int64_t) {
          const std::int64_t in_a = index_in(a, p), in_b = index_in(b, p);
          if (!expected.empty() && expected.back()[0] + expected.back()[2] == in_a &&
              expected.back()[1] + expected.back()[2] == in_b)
            ++expected.back()[2];
          else
            expected.push_back({in_a, in_b, 1});
        });
        for_each_run(part, a, b, [&](std::int64_t in_a, std::int64_t in_b, std::int64_t length) {
          found.push_back({in_a, in_b, length});
        });
        EXPECT_EQ(found, expected);
        EXPECT_EQ(is_one_run(part, a) && is_one_run(part, b), expected.size() <= 1);
      }
}
