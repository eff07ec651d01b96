// Operators along a stretched y: their orders of accuracy, sums of derivatives, and equal values on every
// decomposition. `ctest -V` shows the measured orders.
#include "support.hpp"
#include <tailrace/ops/operators.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

using Where = Stretching::Where;
using enum Operation;
constexpr Operation operations[] = {first_derivative,      second_derivative,  derivative_to_centre,
                                    interpolate_to_centre, derivative_to_node, interpolate_to_node};
constexpr const char *operation_names[] = {"first derivative",      "second derivative",  "derivative to centre",
                                           "interpolate to centre", "derivative to node", "interpolate to node"};
constexpr double length = 1.7;

/// A function with its first two derivatives.
struct Function {
  std::function<double(double)> value[3];
  double operator()(Operation op, double y) const {
    return value[!is_derivative(op) ? 0 : op == second_derivative ? 2 : 1](y);
  }
};

/// cos(k y), even about both ends for k = m pi / length.
Function even(double k) {
  return {{[=](double y) { return std::cos(k * y); }, [=](double y) { return -k * std::sin(k * y); },
           [=](double y) { return -k * k * std::cos(k * y); }}};
}
Function odd(double k) {
  return {{[=](double y) { return std::sin(k * y); }, [=](double y) { return k * std::cos(k * y); },
           [=](double y) { return -k * k * std::sin(k * y); }}};
}
/// Without symmetry.
Function any(double k) {
  const double a = 0.8;
  const auto f = [=](double y, double c, double s) {
    return std::exp(a * y) * (c * std::cos(k * y + 0.3) + s * std::sin(k * y + 0.3));
  };
  return {{[=](double y) { return f(y, 0, 1); }, [=](double y) { return f(y, k, a); },
           [=](double y) { return f(y, 2 * a * k, a * a - k * k); }}};
}

Grid grid_of(Where where, const Sides &sides, std::int64_t nodes) {
  return {{9, nodes, 8}, {1.0, length, 0.6}, {Boundary::periodic, sides, Boundary::periodic}, Stretching(where, 0.5)};
}

struct Errors {
  double all = 0, inside = 0;
};

/// Of the operation on a function of y whose amplitude differs from line to line.
Errors errors_of(const Grid &grid, Operation op, Parity parity, const Function &f) {
  Operators<double> operators(grid, every_process_grid().back(), TransposeMethod::alltoall);
  const std::array<bool, 3> from{false, to_node(op), false}, to{false, to_centre(op), false};
  const Box box_in = operators.box(from), box_out = operators.box(to);
  const std::vector<double> y_in = grid.coordinates(1, to_node(op)), y_out = grid.coordinates(1, to_centre(op));
  const auto amplitude = [](const Index3 &p) {
    return 1 + 0.1 * static_cast<double>(p[0]) - 0.07 * static_cast<double>(p[2]);
  };
  std::vector<double> in(static_cast<std::size_t>(box_in.size())), out(static_cast<std::size_t>(box_out.size()));
  for_each_point(box_in, [&](const Index3 &p, std::int64_t at) { in[at] = amplitude(p) * f.value[0](y_in[p[1]]); });
  operators.apply(op, 1, parity, from, in.data(), out.data());
  Errors errors;
  for_each_point(box_out, [&](const Index3 &p, std::int64_t at) {
    const double y = y_out[p[1]], error = std::fabs(out[at] - amplitude(p) * f(op, y));
    errors.all = std::max(errors.all, std::isnan(error) ? INFINITY : error);
    if (y > length / 4 && y < 3 * length / 4)
      errors.inside = std::max(errors.inside, error);
  });
  return {world().max(errors.all), world().max(errors.inside)};
}

void report(Where where, const char *kind, Operation op, double all, double inside) {
  if (world().rank() == 0)
    std::printf("%-7s %-14s %-22s order %.2f, inside %.2f\n", stretching_name(where), kind,
                operation_names[static_cast<int>(op)], all, inside);
}

} // namespace

TEST(StretchedOperators, SixthOrderAtFreeSlip) {
  const double k = 2 * std::numbers::pi / length;
  for (const Where where : {Where::centre, Where::walls, Where::bottom})
    for (const Parity parity : {Parity::even, Parity::odd})
      for (const Operation op : operations) {
        const Function f = parity == Parity::even ? even(k) : odd(k);
        const Errors coarse = errors_of(grid_of(where, Boundary::free_slip, 65), op, parity, f);
        const Errors fine = errors_of(grid_of(where, Boundary::free_slip, 129), op, parity, f);
        EXPECT_GE(order(coarse.all, fine.all), 5.75) << stretching_name(where) << " " << static_cast<int>(op);
        EXPECT_GT(fine.all, 1e-12) << "too close to rounding to tell the order";
        report(where, parity == Parity::even ? "free-slip even" : "free-slip odd", op, order(coarse.all, fine.all),
               order(coarse.inside, fine.inside));
      }
}

TEST(StretchedOperators, OrdersAtWalls) {
  for (const Where where : {Where::centre, Where::walls, Where::bottom})
    for (const Operation op : operations) {
      // Over two refinements: the largest error may change its sign in between.
      const Errors coarse = errors_of(grid_of(where, Boundary::dirichlet, 65), op, Parity::even, any(5));
      const Errors fine = errors_of(grid_of(where, Boundary::dirichlet, 257), op, Parity::even, any(5));
      const double all = order(coarse.all, fine.all, 4);
      const Errors before = errors_of(grid_of(where, Boundary::dirichlet, 65), op, Parity::even, any(9));
      const Errors after = errors_of(grid_of(where, Boundary::dirichlet, 129), op, Parity::even, any(9));
      EXPECT_GE(all, is_derivative(op) ? 2.8 : 3.8) << stretching_name(where) << " " << static_cast<int>(op);
      EXPECT_GE(order(before.inside, after.inside), 5.5) << stretching_name(where) << " " << static_cast<int>(op);
      report(where, "dirichlet", op, all, order(before.inside, after.inside));
    }
}

TEST(StretchedOperators, DifferentEndsHaveTheOrdersOfEach) {
  // cos is even about the upper end only: the wave number is an odd multiple of a quarter.
  const double k = 2.5 * std::numbers::pi / length;
  const Function f{{[=](double y) { return std::sin(k * y); }, [=](double y) { return k * std::cos(k * y); },
                    [=](double y) { return -k * k * std::sin(k * y); }}};
  for (const Operation op : {first_derivative, second_derivative}) {
    const Sides sides(Boundary::dirichlet, Boundary::free_slip);
    const Errors coarse = errors_of(grid_of(Where::bottom, sides, 129), op, Parity::even, f);
    const Errors fine = errors_of(grid_of(Where::bottom, sides, 257), op, Parity::even, f);
    EXPECT_GE(order(coarse.all, fine.all), 2.8) << static_cast<int>(op);
    EXPECT_GE(order(coarse.inside, fine.inside), 5.5) << static_cast<int>(op);
    report(Where::bottom, "wall|free-slip", op, order(coarse.all, fine.all), order(coarse.inside, fine.inside));
  }
}

namespace {

const Index3 nodes{13, 12, 11};

std::vector<Term> terms() {
  return {{0, 0, 1, first_derivative, Parity::odd, 2},   {0, 0, 2, first_derivative, Parity::even, -1},
          {0, 1, 1, second_derivative, Parity::even, 3}, {1, 1, 0, second_derivative, Parity::even, 0.5},
          {0, 1, 2, second_derivative, Parity::even, 1}, {1, 2, 1, second_derivative, Parity::odd, -2},
          {1, 2, 1, first_derivative, Parity::even, 1}};
}

template <class T> std::vector<T> noise_of(const Box &box, int salt) {
  std::vector<T> values(static_cast<std::size_t>(box.size()));
  for_each_point(box, [&](const Index3 &p, std::int64_t at) { values[at] = static_cast<T>(noise(p, salt)); });
  return values;
}

/// The sums of all terms, by single derivatives on one rank.
template <class T> std::vector<std::vector<double>> expected(const Grid &grid) {
  Operators<T> operators(grid, alone(), TransposeMethod::alltoall);
  const Box whole = operators.box({});
  std::vector<std::vector<double>> sums(3, std::vector<double>(static_cast<std::size_t>(whole.size()), 0));
  for (const Term &term : terms()) {
    const std::vector<T> in = noise_of<T>(whole, term.input);
    std::vector<T> out(in.size());
    operators.apply(term.operation, term.direction, term.parity, {}, in.data(), out.data());
    for (std::size_t p = 0; p < out.size(); ++p)
      sums[static_cast<std::size_t>(term.output)][p] += term.factor * static_cast<double>(out[p]);
  }
  return sums;
}

/// The largest difference of sums on a process grid from those, relative to the largest value of each.
template <class T> double difference(const Grid &grid, const Processes &processes, TransposeMethod method) {
  Operators<T> operators(grid, processes, method);
  const Box box = operators.box({});
  const std::vector<T> in[] = {noise_of<T>(box, 0), noise_of<T>(box, 1)};
  std::vector<T> out[3];
  for (auto &each : out)
    each.resize(in[0].size());
  operators.combine(terms(), {in[0].data(), in[1].data()}, {out[0].data(), out[1].data(), out[2].data()});
  const auto sums = expected<T>(grid);
  double worst = 0;
  for (std::size_t o = 0; o < 3; ++o) {
    const auto mine = part_of(sums[o], nodes, box);
    worst = std::max(worst, max_difference(out[o].data(), mine.data(), box.size()) / max_abs(sums[o]));
  }
  return worst;
}

} // namespace

TEST(StretchedOperators, SumsAreTheSameOnEveryDecomposition) {
  for (const Sides &sides :
       {Sides(Boundary::free_slip), Sides(Boundary::dirichlet), Sides(Boundary::dirichlet, Boundary::free_slip)})
    for (const Where where : {Where::centre, Where::bottom}) {
      const Grid grid(nodes, {1.0, length, 0.6}, {Boundary::free_slip, sides, Boundary::periodic},
                      Stretching(where, 0.5));
      for (const Processes &processes : every_process_grid())
        for (const TransposeMethod method : every_method()) {
          EXPECT_LE(difference<double>(grid, processes, method), 1e-14) << sides_name(sides) << name(*processes);
          EXPECT_LE(difference<float>(grid, processes, method), 1e-5) << sides_name(sides) << name(*processes);
        }
    }
}

TEST(StretchedOperators, TheOtherDirectionsAreAsOnAUniformGrid) {
  const Boundaries boundaries{Boundary::dirichlet, Boundary::dirichlet, Boundary::periodic};
  const Grid uniform(nodes, {1.0, length, 0.6}, boundaries);
  const Grid stretched(nodes, {1.0, length, 0.6}, boundaries, Stretching(Where::walls, 0.5));
  Operators<double> a(uniform, alone(), TransposeMethod::alltoall), b(stretched, alone(), TransposeMethod::alltoall);
  const std::vector<double> in = noise_of<double>(a.box({}), 3);
  std::vector<double> of_a(in.size()), of_b(in.size());
  for (const Operation op : {first_derivative, second_derivative})
    for (const int d : {0, 1, 2}) {
      a.apply(op, d, Parity::even, {}, in.data(), of_a.data());
      b.apply(op, d, Parity::even, {}, in.data(), of_b.data());
      EXPECT_EQ(of_a == of_b, d != 1) << static_cast<int>(op) << " in " << "xyz"[d];
    }
}
