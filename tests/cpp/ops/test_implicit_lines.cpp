// Implicit steps of diffusion along lines: they solve the equation that they state, with the derivative that explicit
// steps have, whatever the ends, the mapping and the size of the step.
#include "support.hpp"
#include <tailrace/ops/apply.hpp>
#include <tailrace/ops/implicit_lines.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

using enum Boundary;

std::vector<double> squared_metric(const Grid &grid) {
  std::vector<double> squared = grid.metric(1);
  for (double &value : squared)
    value *= value;
  return squared;
}

/// One step on noise, by hand: what is left of the equation, in parts of the largest term.
template <class T> double residual(const Grid &grid, const CompactScheme &scheme, Parity parity, double number) {
  const Sides sides = grid.boundaries[1];
  const std::int64_t n = grid.nodes[1], size = product(grid.nodes);
  ImplicitLines<T> lines(scheme, n, sides, parity, squared_metric(grid));
  const LineSystem<T> second(scheme, n, sides, parity, 1, squared_metric(grid));
  double smallest = grid.lengths[1];
  for (const double distance : grid.distances(1))
    smallest = std::min(smallest, distance);
  const double before = number * smallest * smallest, after = before / 2;
  lines.prepare(before, after);
  std::vector<T> f(static_cast<std::size_t>(size)), sum(f), change(f), of_f(f), of_change(f);
  for_each_point({{0, 0, 0}, grid.nodes}, [&](const Index3 &p, std::int64_t at) {
    f[at] = static_cast<T>(noise(p, 1));
    sum[at] = static_cast<T>(noise(p, 2));
  });
  lines.sweep(Lines::along(1, grid.nodes), f.data(), sum.data(), StoreTo<T, 1>{{change.data()}});
  apply(second, 1, grid.nodes, f.data(), of_f.data());
  apply(second, 1, grid.nodes, change.data(), of_change.data());
  double largest = 0, scale = 1;
  for_each_point({{0, 0, 0}, grid.nodes}, [&](const Index3 &p, std::int64_t at) {
    const bool given = (p[1] == 0 && lines.given(false)) || (p[1] == n - 1 && lines.given(true));
    const double left = change[at] - (given ? 0 : after * of_change[at]);
    const double right = sum[at] + (given ? 0 : before * of_f[at]);
    largest = !(std::fabs(left - right) <= largest) ? std::fabs(left - right) : largest;
    scale = std::max(scale, std::fabs(right));
  });
  return largest / scale;
}

} // namespace

TEST(ImplicitLines, SolveTheirEquation) {
  if (world().rank() != 0)
    return; // this test does not use several ranks
  for (const Sides &sides :
       {Sides(dirichlet), Sides(free_slip), Sides(dirichlet, free_slip), Sides(free_slip, dirichlet)})
    for (const auto &stretching :
         {std::optional<Stretching>{}, std::optional(Stretching(Stretching::Where::walls, 0.1)),
          std::optional(Stretching(Stretching::Where::centre, 0.6)),
          std::optional(Stretching(Stretching::Where::bottom, 0.3))})
      for (const std::int64_t ny : {8, 9, 33})
        for (const bool wide : {false, true})
          for (const Parity parity : {Parity::odd, Parity::even})
            for (const double number : {0.01, 1.0, 30.0, 1e4}) {
              const Grid grid({19, ny, 11}, {1.0, 1.7, 1.0}, {periodic, sides, periodic}, stretching);
              const CompactScheme scheme = wide ? hyperviscous_scheme(grid.spacing(1), {4, 0.44})
                                                : compact_scheme(Operation::second_derivative, grid.spacing(1));
              const auto what = [&] {
                return sides_name(sides) + ", " + std::to_string(ny) + (stretching ? ", stretched" : "") +
                       (wide ? ", wide" : "") + (parity == Parity::odd ? ", odd, " : ", even, ") +
                       std::to_string(number);
              };
              EXPECT_LE(residual<double>(grid, scheme, parity, number), 1e-12) << what();
              EXPECT_LE(residual<float>(grid, scheme, parity, number), 1e-3) << what();
            }
}
