// The solver for the lanes of a warp gives what the one for registers of lines gives, which test_line_solver.cpp holds
// against dense systems.
#include "ops/line_cases.hpp"
#include "support.hpp"
#include <tailrace/ops/lanes/lane_solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

LineEquations equations_of(const Case &c, double factor = 1, const std::vector<double> &metric = {}) {
  return {scheme_of(c, 1), c.nodes, c.boundary, c.parity, factor, metric};
}

template <class T> std::vector<T> line_of(const Case &c) {
  std::vector<T> line;
  for (std::int64_t j = 0; j < c.points_in(); ++j)
    line.push_back(static_cast<T>(noise({j, 7, 1}, 5)));
  return line;
}

template <class T> std::vector<T> by_registers(const LineEquations &equations, const std::vector<T> &in) {
  std::vector<T> out(static_cast<std::size_t>(equations.points_out));
  apply(LineSystem<T>(equations), 0, {equations.points_in, 1, 1}, in.data(), out.data());
  return out;
}

template <class T> std::vector<T> by_lanes(const LineEquations &equations, const std::vector<T> &in) {
  const std::int64_t longer = std::max(equations.points_in, equations.points_out);
  LaneSystem<T> system(equations, rows_per_lane(longer));
  const std::vector<T> metric(equations.metric.begin(), equations.metric.end());
  system.metric = metric.empty() ? nullptr : metric.data();
  std::vector<T> out(static_cast<std::size_t>(equations.points_out));
  with_rows_per_lane(system.rows, [&](auto rows) {
    std::vector<T> memory(PaddedLine<T, rows>::room, NAN); // what is not of the line must not matter
    const PaddedLine<T, rows> line(memory.data());
    for (std::size_t j = 0; j < in.size(); ++j)
      line[static_cast<std::int64_t>(j)] = in[j];
    fill_ghosts<T>(line, equations.points_in, equations.sides, equations.parity, to_node(equations.operation));
    for (int g = 1; g <= line_ghosts; ++g) { // nor those beyond a wall
      if (equations.sides.lower == Boundary::dirichlet)
        line[-g] = NAN;
      if (equations.sides.upper == Boundary::dirichlet)
        line[equations.points_in - 1 + g] = NAN;
    }
    with_scheme(system.operation, system.pair_count, [&](auto scheme) {
      PerLane<LaneRows<T, rows>> x;
      solve_line<T, decltype(scheme)::operation, decltype(scheme)::pairs>(system, line, x);
      for (std::size_t j = 0; j < out.size(); ++j)
        out[j] = x[static_cast<int>(j) / rows].row[static_cast<int>(j) % rows];
    });
  });
  return out;
}

template <class T> double difference(const std::vector<T> &a, const std::vector<T> &b) {
  double largest = 0, most = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    largest = std::max(largest, std::fabs(static_cast<double>(a[j])));
    const double apart = std::fabs(static_cast<double>(a[j]) - static_cast<double>(b[j]));
    most = std::isnan(apart) ? INFINITY : std::max(most, apart);
  }
  return most / largest;
}

template <class T> double difference(const LineEquations &equations, const std::vector<T> &in) {
  return difference(by_registers(equations, in), by_lanes(equations, in));
}

constexpr double tight = 1e-14, tight_float = 1e-5; // of the largest result

/// Runs the lanes of the host in another order.
struct Shuffled {
  explicit Shuffled(unsigned seed) { std::shuffle(Warp::order().begin(), Warp::order().end(), std::mt19937(seed)); }
  ~Shuffled() { Warp::order() = Warp::in_order(); }
};

} // namespace

TEST(LaneSolver, GivesTheResultsOfTheLineSolver) {
  for (const std::int64_t nodes :
       {8, 9, 10, 11, 16, 17, 31, 32, 33, 34, 63, 64, 65, 97, 128, 129, 150, 257, 290, 512, 513, 530})
    for (const Case &c : every_case(nodes)) {
      EXPECT_LE(difference(equations_of(c), line_of<double>(c)), tight) << c;
      EXPECT_LE(difference(equations_of(c), line_of<float>(c)), tight_float) << c << ", float";
    }
}

TEST(LaneSolver, TakesFiltersOfAnyStrength) {
  for (const double strength : {-0.49, -0.2, 0.0, 1e-12, 0.3, 0.45, 0.4999})
    for (const std::int64_t nodes : {8, 33, 129})
      for (const Sides &sides : {Sides(Boundary::periodic), Sides(Boundary::dirichlet), Sides(Boundary::free_slip),
                                 Sides(Boundary::free_slip, Boundary::dirichlet)}) {
        const Case c{Operation::filter, sides, Parity::odd, Interpolation::classic, nodes};
        const CompactScheme scheme = compact_scheme(Operation::filter, 1, Interpolation::classic, strength);
        const double condition = (1 + 2 * std::fabs(strength)) / (1 - 2 * std::fabs(strength));
        EXPECT_LE(difference(LineEquations(scheme, nodes, sides, Parity::odd), line_of<double>(c)),
                  tight + 1e-16 * condition)
            << c << ", strength " << strength;
      }
}

TEST(LaneSolver, MultipliesByTheFactorAndTheMetric) {
  for (const std::int64_t nodes : {9, 40, 129})
    for (const Case &c : every_case(nodes)) {
      if (c.boundary.periodic())
        continue; // a stretched direction is never periodic
      const std::vector<double> metric = some_metric(c);
      EXPECT_LE(difference(equations_of(c, -0.7, metric), line_of<double>(c)), tight) << c;
    }
}

TEST(LaneSolver, TheOrderOfTheLanesDoesNotMatter) {
  for (const Case &c : every_case(129)) {
    const std::vector<double> in = line_of<double>(c), usual = by_lanes(equations_of(c), in);
    for (const unsigned seed : {1u, 2u, 3u}) {
      const Shuffled shuffled(seed);
      EXPECT_EQ(usual, by_lanes(equations_of(c), in)) << c;
    }
  }
}

TEST(LaneSolver, RefusesLinesThatAreTooLong) {
  EXPECT_EQ(rows_per_lane(1056), 33);
  EXPECT_THROW(rows_per_lane(1057), InputError);
  const Case c{Operation::first_derivative, Boundary::dirichlet, Parity::even, Interpolation::classic, 1025};
  EXPECT_LE(difference(equations_of(c), line_of<double>(c)), tight);
}
