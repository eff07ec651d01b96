#include "support.hpp"
#include <tailrace/grid/halo.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <complex>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::test;

namespace {

constexpr Pencil pencils[] = {Pencil::x, Pencil::y, Pencil::z};

template <class T> T number(std::int64_t n) { return static_cast<T>(static_cast<float>(n)); }

/// What a point of a filled halo holds: the value of the point it stands for, or the untouched -1.
template <class T> T expected(const Index3 &shape, Index3 p, const std::array<bool, 3> &periodic) {
  for (int d = 0; d < 3; ++d) {
    if (periodic[d])
      p[d] = (p[d] + shape[d]) % shape[d];
    if (p[d] < 0 || p[d] >= shape[d])
      return number<T>(-1);
  }
  return number<T>(linear(shape, p));
}

template <class T> Field<T> filled(const Box &box, const Index3 &shape, int width) {
  Field<T> field(box, width);
  std::fill(field.values().begin(), field.values().end(), number<T>(-1));
  for_each_point(box, [&](const Index3 &p, std::int64_t) {
    field(p[0] - box.start[0], p[1] - box.start[1], p[2] - box.start[2]) = number<T>(linear(shape, p));
  });
  return field;
}

template <class T>
std::int64_t wrong_points(const Decomposition &decomposition, Pencil pencil, int width,
                          const std::array<bool, 3> &periodic) {
  const Box box = decomposition.box(pencil);
  Field<T> field = filled<T>(box, decomposition.shape(), width);
  const HaloExchange<T> exchange(decomposition, pencil, width, periodic);
  exchange(field);
  const Box memory{{box.start[0] - width, box.start[1] - width, box.start[2] - width}, field.memory_count()};
  std::int64_t wrong = 0;
  for_each_point(memory, [&](const Index3 &p, std::int64_t at) {
    wrong += field.data()[at] != expected<T>(decomposition.shape(), p, periodic);
  });
  return wrong;
}

template <class Visit> void for_each_periodicity(Visit visit) {
  for (int bits = 0; bits < 8; ++bits)
    visit(std::array<bool, 3>{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
}

} // namespace

template <class T> class HaloOf : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(HaloOf, Types);

TYPED_TEST(HaloOf, HoldsTheNeighboursWithEdgesAndCorners) {
  const Index3 shape{19, 23, 20}; // at least three points per rank in every pencil, and no even shares
  for (const Processes &processes : every_process_grid())
    for (const Pencil pencil : pencils)
      for (int width = 1; width <= 3; ++width)
        for_each_periodicity([&](const std::array<bool, 3> &periodic) {
          EXPECT_EQ(wrong_points<TypeParam>(Decomposition(processes, shape), pencil, width, periodic), 0)
              << name(*processes) << ", pencil " << "XYZ"[static_cast<int>(pencil)] << ", width " << width
              << ", periodic " << periodic[0] << periodic[1] << periodic[2];
        });
}

TEST(Halo, MayBeAsWideAsTheNarrowestRank) {
  const int size = world().size();
  const Index3 shape{2 * size + 1, 2 * size, 3 * size - 1}; // some rank has two points in every split direction
  for (const Processes &processes : every_process_grid())
    for (const Pencil pencil : pencils)
      EXPECT_EQ(wrong_points<double>(Decomposition(processes, shape, true), pencil, 2, {true, true, true}), 0);
}

TEST(Halo, OfNoWidthDoesNothing) {
  const Decomposition decomposition(every_process_grid().front(), {7, 6, 8});
  EXPECT_EQ(wrong_points<double>(decomposition, Pencil::x, 0, {true, true, true}), 0);
}

TEST(Halo, TooWideIsRefusedByEveryRank) {
  const int size = world().size();
  const auto processes = std::make_shared<const ProcessGrid>(world(), size, 1);
  const Index3 shape{50, 4 * size - 1, 50}; // only the last rank has too few points in y
  if (size > 1) {
    EXPECT_THROW(HaloExchange<double>(Decomposition(processes, shape), Pencil::x, 4, {}), InputError);
    try {
      HaloExchange<double>(Decomposition(processes, shape), Pencil::x, 4, {true, true, true});
    } catch (const InputError &error) {
      EXPECT_NE(std::string(error.what()).find("4 points is wider than a rank's 3 points in y"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_NO_THROW(HaloExchange<double>(Decomposition(processes, shape), Pencil::x, 3, {}));
  EXPECT_THROW(HaloExchange<double>(Decomposition(processes, shape), Pencil::x, 51, {}), InputError);
}

TEST(Halo, AnotherFieldIsRefusedByEveryRank) {
  const Decomposition decomposition(every_process_grid().back(), {12, 13, 14});
  const HaloExchange<double> exchange(decomposition, Pencil::y, 2, {true, false, true});
  const int odd_one = world().size() - 1;
  // One rank's mistake must not leave the others waiting.
  Field<double> other_width(decomposition.box(Pencil::y), world().rank() == odd_one ? 1 : 2);
  EXPECT_THROW(exchange(other_width), InputError);
  Box box = decomposition.box(Pencil::y);
  box.start[1] += world().rank() == odd_one ? 1 : 0;
  Field<double> other_box(box, 2);
  EXPECT_THROW(exchange(other_box), InputError);
}
