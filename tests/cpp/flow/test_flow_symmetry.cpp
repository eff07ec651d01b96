// Compares the solver with itself: with exchanged axes, with mirrored periodic flows, and on one rank and many ranks.
#include "flow/flows.hpp"
#include <tailrace/flow/navier_stokes.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {

/// The function of (x, y, z) with exchanged axes: direction d of the result is direction axes[d] of the original.
Vector permuted(const Vector &u, const std::array<int, 3> &axes) {
  return [=](const Point &x) {
    Point original;
    for (int d = 0; d < 3; ++d)
      original[axes[d]] = x[d];
    const Point value = u(original);
    return Point{value[axes[0]], value[axes[1]], value[axes[2]]};
  };
}

template <class A> A permuted(const A &a, const std::array<int, 3> &axes) {
  return {a[axes[0]], a[axes[1]], a[axes[2]]};
}

using State = std::array<std::vector<double>, 3>;

/// The state after some steps, computed by this rank alone.
State run_alone(const Grid &grid, const Vector &u, int steps, double dt, TimeScheme scheme = TimeScheme::rk3) {
  NavierStokes<double> flow(grid, {0.01, scheme}, alone(), TransposeMethod::alltoall);
  set(flow, u);
  for (int s = 0; s < steps; ++s)
    flow.step(dt);
  State state;
  for (int i = 0; i < 3; ++i)
    state[i].assign(flow.velocity(i).values().begin(), flow.velocity(i).values().end());
  return state;
}

} // namespace

TEST(FlowSymmetry, ExchangedAxesExchangeTheResult) {
  if (world().rank() != 0)
    return; // this test does not use several ranks
  const Index3 nodes{18, 16, 21};
  const Point lengths{2.0, 1.5, 2.6};
  for (const auto &boundaries : every_flow_boundary()) {
    const Grid grid(nodes, lengths, boundaries);
    const State original = run_alone(grid, tangled(grid), 10, 0.01);
    for (const std::array<int, 3> axes : {std::array{1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}}) {
      const Grid turned(permuted(nodes, axes), permuted(lengths, axes), permuted(boundaries, axes));
      const State result = run_alone(turned, permuted(tangled(grid), axes), 10, 0.01);
      double largest = 0;
      for_each_point({{0, 0, 0}, turned.nodes}, [&](const Index3 &p, std::int64_t at) {
        Index3 q;
        for (int d = 0; d < 3; ++d)
          q[axes[d]] = p[d];
        for (int i = 0; i < 3; ++i)
          largest = std::max(largest, std::fabs(result[i][at] - original[axes[i]][linear(nodes, q)]));
      });
      EXPECT_LE(largest, 2e-13) << name(boundaries) << " as " << axes[0] << axes[1] << axes[2];
    }
  }
}

TEST(FlowSymmetry, FreeSlipIsHalfOfAMirroredPeriodicFlow) {
  if (world().rank() != 0)
    return;
  const Index3 cells{10, 12, 9};
  const Point lengths{1.0, 1.4, 0.8};
  const std::array<Boundary, 3> all_free{Boundary::free_slip, Boundary::free_slip, Boundary::free_slip};
  const Grid octant({cells[0] + 1, cells[1] + 1, cells[2] + 1}, lengths, all_free);
  const Vector u = tangled(octant); // sines and cosines continue the flow in the same way as the mirror does
  const State expected = run_alone(octant, u, 10, 0.01);
  for (const auto &boundaries : every_flow_boundary()) {
    Index3 nodes;
    Point sides;
    for (int d = 0; d < 3; ++d) {
      const bool periodic = boundaries[d] == Boundary::periodic;
      nodes[d] = periodic ? 2 * cells[d] : cells[d] + 1;
      sides[d] = periodic ? 2 * lengths[d] : lengths[d];
    }
    const State found = run_alone(Grid(nodes, sides, boundaries), u, 10, 0.01);
    double largest = 0;
    for_each_point({{0, 0, 0}, octant.nodes}, [&](const Index3 &p, std::int64_t at) {
      Index3 q;
      for (int d = 0; d < 3; ++d)
        q[d] = p[d] % nodes[d];
      for (int i = 0; i < 3; ++i)
        largest = std::max(largest, std::fabs(found[i][linear(nodes, q)] - expected[i][at]));
    });
    EXPECT_LE(largest, 2e-13) << name(boundaries);
  }
}

namespace {

/// The largest difference from a run on one rank after some steps, over all components and ranks.
double difference_from_one_rank(const Grid &grid, const Processes &processes, TransposeMethod method, TimeScheme scheme,
                                const State &whole) {
  NavierStokes<double> flow(grid, {0.01, scheme}, processes, method);
  set(flow, tangled(grid));
  const double longest = *std::max_element(grid.lengths.begin(), grid.lengths.end());
  for (int s = 0; s < 50; ++s) {
    flow.step(0.01);
    const double divergence = s % 10 == 0 ? flow.max_divergence() : 0;
    EXPECT_LE(divergence * longest, 1e-11) << "step " << s << " on " << name(*processes);
  }
  double largest = 0;
  for (int i = 0; i < 3; ++i) {
    const auto expected = part_of(whole[i], grid.nodes, flow.velocity(i).box());
    largest = std::max(largest, max_difference(flow.velocity(i).data(), expected.data(), flow.velocity(i).size()));
  }
  return largest;
}

} // namespace

TEST(FlowSymmetry, TheSameOnEveryDecomposition) {
  const std::array<Boundary, 3> choices[] = {
      {Boundary::periodic, Boundary::periodic, Boundary::periodic},
      {Boundary::free_slip, Boundary::free_slip, Boundary::free_slip},
      {Boundary::periodic, Boundary::free_slip, Boundary::periodic},
      {Boundary::free_slip, Boundary::periodic, Boundary::free_slip},
  };
  for (const auto &boundaries : choices) {
    const Grid grid(odd_nodes, odd_lengths, boundaries);
    const State whole = run_alone(grid, tangled(grid), 50, 0.01);
    for (const Processes &processes : every_process_grid())
      EXPECT_LE(difference_from_one_rank(grid, processes, TransposeMethod::alltoall, TimeScheme::rk3, whole), 1e-13)
          << name(boundaries) << " on " << name(*processes);
  }
}

TEST(FlowSymmetry, TheSameByEveryMethodAndScheme) {
  const Grid grid(odd_nodes, odd_lengths, {Boundary::free_slip, Boundary::periodic, Boundary::periodic});
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab3, TimeScheme::rk3}) {
    const State whole = run_alone(grid, tangled(grid), 50, 0.01, scheme);
    for (const Processes &processes : every_process_grid())
      for (const TransposeMethod method : every_method())
        EXPECT_LE(difference_from_one_rank(grid, processes, method, scheme, whole), 1e-13) << name(*processes);
  }
}

TEST(FlowSymmetry, PressureTheSameOnEveryDecomposition) {
  const Grid grid({17, 13, 15}, odd_lengths, {Boundary::free_slip, Boundary::periodic, Boundary::periodic});
  const auto pressures = [&](const Processes &processes, TransposeMethod method) {
    NavierStokes<double> flow(grid, {0.01}, processes, method);
    set(flow, tangled(grid));
    const auto size = static_cast<std::size_t>(flow.velocity(0).size());
    std::array<std::vector<double>, 2> p{std::vector<double>(size), std::vector<double>(size)};
    flow.pressure(p[0].data()); // before the first step; p[1] is computed after some steps
    for (int s = 0; s < 3; ++s)
      flow.step(0.01);
    flow.pressure(p[1].data());
    return p;
  };
  const auto whole = pressures(alone(), TransposeMethod::alltoall);
  for (const Processes &processes : every_process_grid())
    for (const TransposeMethod method : every_method()) {
      const auto found = pressures(processes, method);
      const Box box = Decomposition(processes, grid.nodes).box(Pencil::x);
      for (int when = 0; when < 2; ++when) {
        const auto expected = part_of(whole[when], grid.nodes, box);
        EXPECT_LE(max_difference(found[when].data(), expected.data(), box.size()), 2e-12) // the pressure is about 10
            << (when == 0 ? "before, " : "after, ") << name(*processes);
      }
    }
}
