#include "support.hpp"
#include <tailrace/grid/exchange.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <complex>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::test;

namespace {

template <class T> struct Value {
  static T of(std::int64_t number) { return static_cast<T>(number); }
};
template <class R> struct Value<std::complex<R>> {
  static std::complex<R> of(std::int64_t number) { return {static_cast<R>(number), static_cast<R>(-2 * number - 1)}; }
};

template <class T> std::vector<T> numbered(const Decomposition &decomposition, Pencil pencil, std::int64_t salt = 0) {
  const Box box = decomposition.box(pencil);
  std::vector<T> values(static_cast<std::size_t>(box.size()));
  for_each_point(box, [&](const Index3 &p, std::int64_t at) {
    values[at] = Value<T>::of(linear(decomposition.shape(), p) + salt);
  });
  return values;
}

/// Memory for a pencil and `guard` values behind it, filled with a value that no test writes.
constexpr int guard = 16;
template <class T> std::vector<T> room(const Decomposition &decomposition, Pencil pencil) {
  return std::vector<T>(static_cast<std::size_t>(decomposition.box(pencil).size() + guard), Value<T>::of(-7));
}

template <class T>
void expect_numbered(const std::vector<T> &values, const Decomposition &decomposition, Pencil pencil,
                     std::int64_t salt = 0) {
  auto expected = numbered<T>(decomposition, pencil, salt);
  expected.resize(expected.size() + guard, Value<T>::of(-7));
  EXPECT_TRUE(values == expected) << "pencil " << "XYZ"[static_cast<int>(pencil)] << " on "
                                  << name(decomposition.processes());
}

constexpr Pencil tour[] = {Pencil::x, Pencil::y, Pencil::z, Pencil::y, Pencil::x};

template <class T> void make_tour(const Decomposition &decomposition, TransposeMethod method) {
  const auto workspace = std::make_shared<Workspace>();
  auto here = numbered<T>(decomposition, Pencil::x);
  here.resize(here.size() + guard, Value<T>::of(-7));
  for (int leg = 0; leg < 4; ++leg) {
    Transpose<T> transpose(decomposition, tour[leg], tour[leg + 1], method, workspace);
    const auto before = here;
    auto there = room<T>(decomposition, tour[leg + 1]);
    transpose(here.data(), there.data());
    expect_numbered(there, decomposition, tour[leg + 1]);
    EXPECT_TRUE(here == before) << "the input was changed";
    here = there;
  }
}

constexpr TransposeMethod methods[] = {TransposeMethod::alltoall, TransposeMethod::subarray};

} // namespace

template <class T> class TransposeOf : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TransposeOf, Types);

TYPED_TEST(TransposeOf, KeepsEveryPoint) {
  const Index3 shapes[] = {{17, 11, 13}, {6, 7, 8}, {6, 6, 6}, {64, 6, 6}, {6, 64, 7}};
  for (const Processes &processes : every_process_grid())
    for (const Index3 &shape : shapes)
      for (const TransposeMethod method : methods)
        make_tour<TypeParam>(Decomposition(processes, shape), method);
}

TYPED_TEST(TransposeOf, KeepsEveryPointWhereRanksAreEmpty) {
  const Index3 shapes[] = {{9, 2, 3}, {1, 5, 4}, {5, 4, 1}, {2, 1, 7}, {1, 1, 1}};
  for (const Processes &processes : every_process_grid())
    for (const Index3 &shape : shapes)
      for (const TransposeMethod method : methods)
        make_tour<TypeParam>(Decomposition(processes, shape, true), method);
}

TYPED_TEST(TransposeOf, PlansAreReusable) {
  for (const Processes &processes : every_process_grid())
    for (const TransposeMethod method : methods) {
      const Decomposition decomposition(processes, {17, 11, 13});
      Transpose<TypeParam> original(decomposition, Pencil::y, Pencil::z, method, std::make_shared<Workspace>());
      Transpose<TypeParam> moved(std::move(original));
      for (int round = 0; round < 3; ++round) {
        const auto in = numbered<TypeParam>(decomposition, Pencil::y, 1000 * round);
        auto out = room<TypeParam>(decomposition, Pencil::z);
        moved(in.data(), out.data());
        expect_numbered(out, decomposition, Pencil::z, 1000 * round);
      }
    }
}

TYPED_TEST(TransposeOf, MovesSeveralArraysTogether) {
  for (const Processes &processes : every_process_grid())
    for (const TransposeMethod method : methods)
      for (int leg = 0; leg < 4; ++leg)
        for (const std::int64_t arrays : {1, 2, 5}) {
          const Decomposition decomposition(processes, {17, 2, 13}, true); // with six or more ranks, some are empty
          std::vector<std::vector<TypeParam>> in, out;
          std::vector<TypeParam *> from, to;
          for (std::int64_t a = 0; a < arrays; ++a) {
            in.push_back(numbered<TypeParam>(decomposition, tour[leg], 1000 * a));
            out.push_back(room<TypeParam>(decomposition, tour[leg + 1]));
          }
          for (std::size_t a = 0; a < in.size(); ++a) {
            from.push_back(in[a].data());
            to.push_back(out[a].data());
          }
          Transpose<TypeParam>(decomposition, tour[leg], tour[leg + 1], method, std::make_shared<Workspace>())(from,
                                                                                                               to);
          for (std::size_t a = 0; a < out.size(); ++a)
            expect_numbered(out[a], decomposition, tour[leg + 1], 1000 * static_cast<std::int64_t>(a));
        }
}

TEST(Transpose, SharesAWorkspaceBetweenSizes) {
  const auto workspace = std::make_shared<Workspace>();
  for (const Processes &processes : every_process_grid()) {
    const Decomposition large(processes, {17, 11, 13}), small(processes, {7, 6, 8});
    Transpose<double> a(large, Pencil::x, Pencil::y, TransposeMethod::alltoall, workspace);
    Transpose<float> b(small, Pencil::y, Pencil::z, TransposeMethod::alltoall, workspace);
    for (int round = 0; round < 2; ++round) {
      auto y = room<double>(large, Pencil::y);
      a(numbered<double>(large, Pencil::x, round).data(), y.data());
      expect_numbered(y, large, Pencil::y, round);
      auto z = room<float>(small, Pencil::z);
      b(numbered<float>(small, Pencil::y, round).data(), z.data());
      expect_numbered(z, small, Pencil::z, round);
    }
  }
}

TEST(Transpose, RefusesDistantPencils) {
  const Decomposition decomposition(every_process_grid().front(), {17, 11, 13});
  const auto make = [&](Pencil from, Pencil to) {
    Transpose<double>(decomposition, from, to, TransposeMethod::alltoall, std::make_shared<Workspace>());
  };
  EXPECT_THROW(make(Pencil::x, Pencil::z), InputError);
  EXPECT_THROW(make(Pencil::z, Pencil::x), InputError);
  EXPECT_THROW(make(Pencil::y, Pencil::y), InputError);
}

TEST(Transpose, MethodsHaveNames) {
  EXPECT_EQ(transpose_method_from_name("alltoall"), TransposeMethod::alltoall);
  EXPECT_EQ(transpose_method_from_name("subarray"), TransposeMethod::subarray);
  EXPECT_EQ(transpose_method_from_name("shared"), TransposeMethod::shared);
  EXPECT_THROW(transpose_method_from_name("all-to-all"), InputError);
}

TEST(Exchange, HandsBackTheArrayWhereNothingMoves) {
  for (const Processes &processes : every_process_grid())
    for (const TransposeMethod method : methods) {
      const Decomposition decomposition(processes, {17, 11, 13});
      Exchange<double> exchange(decomposition, method, std::make_shared<Workspace>());
      auto here = numbered<double>(decomposition, Pencil::x);
      here.resize(here.size() + guard, -7);
      for (int leg = 0; leg < 4; ++leg) {
        const Pencil from = tour[leg], to = tour[leg + 1];
        const bool free = (from == Pencil::x || to == Pencil::x) ? processes->rows() == 1 : processes->cols() == 1;
        EXPECT_EQ(exchange.is_free(from, to), free);
        auto out = room<double>(decomposition, to);
        double *moved = exchange.move(from, to, here.data(), out.data());
        EXPECT_EQ(moved, free ? here.data() : out.data());
        if (!free)
          here = out;
        expect_numbered(here, decomposition, to);
      }
    }
}

TEST(Exchange, ReachesLinesAlongZInSharedMemory) {
  if (!can_share_memory(world()))
    GTEST_SKIP() << "these ranks cannot share memory";
  for (const Processes &processes : every_process_grid()) {
    const Decomposition decomposition(processes, {17, 11, 13});
    Exchange<double> exchange(decomposition, TransposeMethod::shared, std::make_shared<Workspace>());
    Buffer<double> memory = exchange.allocate();
    const auto values = numbered<double>(decomposition, Pencil::y);
    std::copy(values.begin(), values.end(), memory.data());
    double *moved = exchange.move(Pencil::y, Pencil::z, memory.data(), nullptr);
    EXPECT_EQ(moved, memory.data());
    const Lines lines = exchange.z_lines();
    const double *start = exchange.z_start(moved);
    const Box box = decomposition.box(Pencil::z);
    std::int64_t wrong = 0;
    for_each_point(box, [&](const Index3 &p, std::int64_t at) {
      const std::int64_t column = at % (box.count[0] * box.count[1]);
      wrong += start[p[2] * (lines.stride ? lines.stride : lines.inner) + column] !=
               static_cast<double>(linear(decomposition.shape(), p));
    });
    EXPECT_EQ(wrong, 0) << name(*processes);
    exchange.move(Pencil::z, Pencil::y, moved, nullptr); // no rank frees memory while others still read
  }
}

TEST(SharedMemory, KeepsItsValuesOnLargePages) {
  if (!can_share_memory(world()))
    GTEST_SKIP() << "these ranks cannot share memory";
  constexpr std::int64_t large = std::int64_t{1} << 21;
  const auto value = [](int rank, std::int64_t i) { return static_cast<double>(rank * 1'000'000 + i % 999'983); };
  const auto size = [](int rank) { return large / std::int64_t{sizeof(double)} + 1001 * (rank + 1); };
  const std::shared_ptr<std::byte> memory = share_memory(world(), size(world().rank()) * std::int64_t{sizeof(double)});
  auto *const ours = reinterpret_cast<double *>(memory.get());
  for (std::int64_t i = 0; i < size(world().rank()); ++i)
    ours[i] = value(world().rank(), i);
  use_large_pages(memory.get(), size(world().rank()) * std::int64_t{sizeof(double)});
  world().barrier();
  std::int64_t wrong = 0, before = 0;
  for (int rank = 0; rank < world().rank(); ++rank)
    before += size(rank);
  const double *at = ours - before; // the beginning of the part of rank 0
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % large, 0U) << "no large page fits elsewhere";
  for (int rank = 0; rank < world().size(); at += size(rank), ++rank)
    for (std::int64_t i = 0; i < size(rank); ++i)
      wrong += at[i] != value(rank, i);
  EXPECT_EQ(wrong, 0);
  world().barrier(); // no rank frees memory while others still read
}
