// Sums of derivatives must equal the sum of single derivatives on one rank. This is tested on every decomposition, and
// with ranks that can access all, some or none of the arrays of the other ranks.
#include "support.hpp"
#include <tailrace/ops/operators.hpp>
#include <tailrace/ops/reductions.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

constexpr int inputs = 3, outputs = 4;
const Index3 nodes{13, 11, 14};

/// Outputs with terms of three, one and two directions; one input for several outputs, and a repeated input.
std::vector<Term> terms() {
  using enum Operation;
  return {{0, 0, 0, first_derivative, Parity::odd, 1},    {1, 0, 1, first_derivative, Parity::even, -2},
          {2, 0, 2, second_derivative, Parity::odd, 0.5}, {0, 1, 2, first_derivative, Parity::even, 1},
          {0, 2, 0, second_derivative, Parity::even, 1},  {2, 2, 1, first_derivative, Parity::odd, 1},
          {1, 3, 1, second_derivative, Parity::even, 3},  {1, 3, 2, first_derivative, Parity::odd, -1},
          {1, 3, 2, second_derivative, Parity::even, -1}};
}

template <class T> void fill(T *out, const Box &box, int input) {
  for_each_point(box, [&](const Index3 &p, std::int64_t offset) {
    out[offset] = static_cast<T>(noise(p, static_cast<std::uint64_t>(input)));
  });
}

/// The expected values: single derivatives, computed and added on one rank.
template <class T> std::vector<std::vector<double>> expected(const Grid &grid) {
  Operators<T> operators(grid, alone(), TransposeMethod::alltoall);
  const Box whole = operators.box({});
  std::vector<std::vector<double>> sums(outputs, std::vector<double>(static_cast<std::size_t>(whole.size()), 0));
  std::vector<T> in(sums[0].size()), out(sums[0].size());
  for (const Term &term : terms()) {
    fill(in.data(), whole, term.input);
    operators.apply(term.operation, term.direction, term.parity, {}, in.data(), out.data());
    for (std::size_t p = 0; p < out.size(); ++p)
      sums[static_cast<std::size_t>(term.output)][p] += term.factor * static_cast<double>(out[p]);
  }
  return sums;
}

enum class Memory { pool, own, mixed, other_slots };

template <class T>
double difference(const Grid &grid, const Processes &processes, TransposeMethod method, Memory memory) {
  Operators<T> operators(grid, processes, method);
  const Box box = operators.box({});
  std::vector<Buffer<T>> buffers;
  if (memory == Memory::other_slots && world().rank() % 2 == 1)
    buffers.push_back(operators.take());
  std::vector<T *> arrays;
  for (int i = 0; i < inputs + outputs; ++i) {
    const bool own = memory == Memory::own || (memory == Memory::mixed && i % 2 == 0);
    arrays.push_back(buffers.emplace_back(own ? Buffer<T>(box.size()) : operators.take()).data());
  }
  for (int i = 0; i < inputs; ++i)
    fill(arrays[static_cast<std::size_t>(i)], box, i);
  const std::vector<const T *> in(arrays.begin(), arrays.begin() + inputs);
  const std::vector<T *> out(arrays.begin() + inputs, arrays.end());
  for (int twice = 0; twice < 2; ++twice) // the second pass uses memory that already holds values
    operators.combine(terms(), in, out);
  const auto sums = expected<T>(grid);
  double worst = 0;
  for (std::size_t o = 0; o < out.size(); ++o) {
    double largest = 0;
    for (const double value : sums[o])
      largest = std::max(largest, std::fabs(value));
    for_each_point(box, [&](const Index3 &p, std::int64_t offset) {
      const double wanted = sums[o][static_cast<std::size_t>(linear(nodes, p))];
      worst = std::max(worst, std::fabs(static_cast<double>(out[o][offset]) - wanted) / largest);
    });
  }
  return world().max(worst);
}

Grid grid_with(const std::array<Boundary, 3> &boundaries) { return Grid(nodes, {1.0, 1.7, 0.6}, boundaries); }

} // namespace

TEST(Combine, IsTheSumOfItsTermsOnEveryDecomposition) {
  using enum Boundary;
  for (const std::array<Boundary, 3> &boundaries :
       {std::array{periodic, periodic, periodic}, {free_slip, periodic, free_slip}, {periodic, dirichlet, dirichlet}})
    for (const Processes &processes : every_process_grid())
      for (const TransposeMethod method : every_method())
        for (const Memory memory : {Memory::pool, Memory::own, Memory::mixed, Memory::other_slots}) {
          const auto about = name(boundaries) + ", " + name(*processes) + ", " + transpose_method_name(method) +
                             ", memory " + std::to_string(static_cast<int>(memory));
          EXPECT_LE(difference<double>(grid_with(boundaries), processes, method, memory), 1e-13) << about;
          EXPECT_LE(difference<float>(grid_with(boundaries), processes, method, memory), 1e-5) << about;
        }
}

TEST(Combine, KnowsTheSolversArrays) {
  for (const TransposeMethod method : every_method()) {
    const auto processes = every_process_grid().front();
    const Grid grid = grid_with({Boundary::periodic, Boundary::periodic, Boundary::periodic});
    const Exchange<double> exchange(Decomposition(processes, nodes, true), method, std::make_shared<Workspace>());
    Operators<double> operators(grid, processes, method);
    Buffer<double> in = exchange.allocate(), known = operators.take(), other = operators.take();
    fill(in.data(), operators.box({}), 0);
    const std::vector<Term> term{{0, 0, 2, Operation::first_derivative, Parity::even, 1}};
    operators.combine(term, {in.data()}, {other.data()});
    operators.register_shared(in.data());
    operators.combine(term, {in.data()}, {known.data()});
    EXPECT_EQ(max_difference(known.data(), other.data(), known.size()), 0);
  }
}

TEST(Combine, RefusesTermsThatMakeNoSense) {
  Operators<double> operators(grid_with({}), every_process_grid().front(), TransposeMethod::alltoall);
  const Buffer<double> in = operators.take();
  Buffer<double> out = operators.take();
  const auto combine = [&](const Term &term) { operators.combine({term}, {in.data()}, {out.data()}); };
  using enum Operation;
  EXPECT_THROW(combine({1, 0, 0, first_derivative, Parity::even, 1}), InputError);
  EXPECT_THROW(combine({0, 1, 0, first_derivative, Parity::even, 1}), InputError);
  EXPECT_THROW(combine({0, 0, 3, first_derivative, Parity::even, 1}), InputError);
  EXPECT_THROW(combine({0, 0, 0, derivative_to_centre, Parity::even, 1}), InputError);
  EXPECT_THROW(combine({0, 0, 0, filter, Parity::even, 1}), InputError);
  EXPECT_THROW(operators.combine({}, {in.data()}, {out.data()}), InputError);
}

TEST(FieldPool, GivesMemoryOutAgain) {
  for (const TransposeMethod method : every_method()) {
    Operators<double> operators(grid_with({}), every_process_grid().front(), method);
    const double *first = operators.take().data();
    EXPECT_EQ(operators.take().data(), first);
    std::vector<Buffer<double>> many; // more buffers than there are slots
    for (int i = 0; i < 300; ++i)
      many.push_back(operators.take());
    for (std::size_t i = 0; i < many.size(); ++i)
      std::fill_n(many[i].data(), many[i].size(), static_cast<double>(i));
    for (std::size_t i = 0; i < many.size(); ++i)
      if (many[i].size() > 0) {
        EXPECT_EQ(many[i][0], static_cast<double>(i));
        EXPECT_EQ(many[i][many[i].size() - 1], static_cast<double>(i));
      }
  }
}

TEST(Reductions, WeighAndMultiply) {
  const Index3 count{37, 5, 3}; // more points than a vector register holds, and not a multiple of that number
  const Box box{{0, 0, 0}, count};
  std::vector<double> a(static_cast<std::size_t>(box.size())), b(a.size()), out(a.size());
  fill(a.data(), box, 1);
  fill(b.data(), box, 2);
  Weights weights;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::int64_t i = 0; i < count[d]; ++i)
      weights[d].push_back(1 + 0.5 * static_cast<double>(i) + static_cast<double>(d));
  double sum = 0, product_sum = 0;
  for_each_point(box, [&](const Index3 &p, std::int64_t at) {
    const auto q = static_cast<std::size_t>(at);
    const double weight = weights[0][static_cast<std::size_t>(p[0])] * weights[1][static_cast<std::size_t>(p[1])] *
                          weights[2][static_cast<std::size_t>(p[2])];
    sum += weight * a[q];
    product_sum += weight * (a[q] * b[q] + b[q] * b[q]);
  });
  const std::vector<std::pair<const double *, const double *>> pairs{{a.data(), b.data()}, {b.data(), b.data()}};
  ExactSum of_values, of_products;
  add_weighted(of_values, weights, count, a.data());
  add_weighted(of_products, weights, count, pairs);
  EXPECT_NEAR(of_values.value(), sum, 1e-11); // the terms have both signs
  EXPECT_NEAR(of_products.value(), product_sum, 1e-14 * product_sum);
  sum_of_products(pairs, box.size(), out.data());
  for (std::size_t p = 0; p < out.size(); ++p)
    EXPECT_NEAR(out[p], a[p] * b[p] + b[p] * b[p], 1e-15);
  EXPECT_THROW(sum_of_products<double>({}, box.size(), out.data()), InputError);
}
