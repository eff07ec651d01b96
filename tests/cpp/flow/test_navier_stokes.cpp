// Compares the whole solver with exact solutions, and tests properties that every flow keeps.
#include "flow/flows.hpp"
#include <tailrace/flow/navier_stokes.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {

double pressure_error(NavierStokes<double> &flow, const std::function<double(const Point &)> &exact) {
  const Box box = flow.velocity(0).box();
  std::vector<double> p(static_cast<std::size_t>(box.size())), expected(p.size());
  flow.pressure(p.data());
  for_each_point(box, [&](const Index3 &at, std::int64_t i) { expected[i] = exact(position(flow.grid(), at)); });
  return max_difference(p.data(), expected.data(), box.size());
}

/// A grid for the vortex: periodic directions are one wave long, free-slip directions half a wave.
Grid grid_for(const PlaneVortex &vortex, Boundary along_a, Boundary along_b, Boundary across) {
  Index3 nodes{9, 9, 9};
  Point lengths{0.8, 0.8, 0.8};
  std::array<Boundary, 3> boundaries{across, across, across};
  const auto along = [&](int d, double k, Boundary boundary, std::int64_t cells) {
    const bool periodic = boundary == Boundary::periodic;
    nodes[d] = periodic ? cells : cells / 2 + 1;
    lengths[d] = (periodic ? 2 : 1) * pi / k;
    boundaries[d] = boundary;
  };
  along(vortex.a, vortex.k, along_a, 24);
  along(vortex.b, vortex.l, along_b, 28);
  return {nodes, lengths, boundaries};
}

constexpr Boundary flow_boundaries[] = {Boundary::periodic, Boundary::free_slip};

/// Calls visit(vortex, grid) for every plane, both orders of its directions, and every kind of boundary.
template <class Visit> void for_each_plane_vortex(Visit visit) {
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (const Boundary along_a : flow_boundaries)
        for (const Boundary along_b : flow_boundaries)
          if (a != b) {
            const PlaneVortex vortex{a, b, 1.5, 1.0, 0.05};
            const Boundary across = a < b ? along_a : along_b;
            visit(vortex, grid_for(vortex, along_a, along_b, across));
          }
}

} // namespace

TEST(NavierStokes, PlaneTaylorGreenVortexDecaysExactly) {
  const double dt = 0.01;
  const int steps = 10;
  for_each_plane_vortex([&](const PlaneVortex &vortex, const Grid &grid) {
    NavierStokes<double> flow(grid, {vortex.viscosity}, every_process_grid().back(), TransposeMethod::alltoall);
    set(flow, vortex.velocity(0));
    // The flow changes by 2e-2. The errors in space with 24 points per wave are 4e-7.
    for (int s = 0; s < steps; ++s)
      flow.step(dt);
    EXPECT_LE(error(flow, vortex.velocity(steps * dt)), 1e-6)
        << "in " << "xyz"[vortex.a] << "xyz"[vortex.b] << ", " << name(grid.boundaries);
    EXPECT_GE(error(flow, vortex.velocity(0)), 1e-2);
  });
}

TEST(NavierStokes, PressureOfThePlaneVortex) {
  const double dt = 1e-3;
  for_each_plane_vortex([&](const PlaneVortex &vortex, const Grid &grid) {
    NavierStokes<double> flow(grid, {vortex.viscosity}, every_process_grid().front(), TransposeMethod::alltoall);
    set(flow, vortex.velocity(0));
    const double before = pressure_error(flow, [&](const Point &x) { return vortex.pressure(x, 0); });
    EXPECT_LE(before, 2e-5) << "before the first step, " << name(grid.boundaries);
    EXPECT_EQ(error(flow, vortex.velocity(0)), 0) << "asking for the pressure changed the velocity";
    for (int s = 0; s < 10; ++s)
      flow.step(dt);
    // The pressure of the last stage belongs to a time within the step: the error is a third of dt dp/dt = 2.6e-4.
    const double after = pressure_error(flow, [&](const Point &x) { return vortex.pressure(x, 10 * dt); });
    EXPECT_LE(after, 1e-4) << "after ten steps, " << name(grid.boundaries);
  });
}

TEST(NavierStokes, PressureAfterStepsOfEveryScheme) {
  const PlaneVortex vortex{2, 0, 1.5, 1.0, 0.05};
  const Grid grid = grid_for(vortex, Boundary::free_slip, Boundary::periodic, Boundary::periodic);
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab2, TimeScheme::ab3, TimeScheme::rk3}) {
    NavierStokes<double> flow(grid, {vortex.viscosity, scheme}, every_process_grid().back(), TransposeMethod::alltoall);
    set(flow, vortex.velocity(0));
    for (int s = 1; s <= 5; ++s)
      flow.step(1e-3);
    // Multi-step schemes report the pressure at the beginning of the step: the error is dt dp/dt = 2.6e-4.
    EXPECT_LE(pressure_error(flow, [&](const Point &x) { return vortex.pressure(x, 5e-3); }), 3.5e-4)
        << static_cast<int>(scheme);
    EXPECT_EQ(flow.steps(), 5);
  }
}

namespace {

/// The Arnold-Beltrami-Childress flow of wave number k with three different coefficients. Its curl is k u, so it decays
/// with exp(-nu k^2 t). The pressure p = <u^2> / 2 - u^2 / 2 cancels the nonlinear term.
Vector beltrami(double k, double amplitude) {
  return [=](const Point &x) {
    const double a = amplitude, b = 0.7 * amplitude, c = 0.43 * amplitude;
    return Point{a * std::sin(k * x[2]) + c * std::cos(k * x[1]), b * std::sin(k * x[0]) + a * std::cos(k * x[2]),
                 c * std::sin(k * x[1]) + b * std::cos(k * x[0])};
  };
}

/// Boxes with lengths of one, two and three waves, in different orders.
const Grid beltrami_grids[] = {
    {{20, 42, 64}, {pi, 2 * pi, 3 * pi}, {Boundary::periodic, Boundary::periodic, Boundary::periodic}},
    {{60, 22, 40}, {3 * pi, pi, 2 * pi}, {Boundary::periodic, Boundary::periodic, Boundary::periodic}},
};

} // namespace

TEST(NavierStokes, BeltramiFlowDecaysExactly) {
  const double k = 2, viscosity = 0.05, dt = 0.01;
  for (const Grid &grid : beltrami_grids) {
    NavierStokes<double> flow(grid, {viscosity}, every_process_grid().back(), TransposeMethod::alltoall);
    set(flow, beltrami(k, 1));
    const double mean = 1 + 0.7 * 0.7 + 0.43 * 0.43;
    const auto pressure_at = [&](double decay) {
      return [=](const Point &x) {
        const Point u = beltrami(k, decay)(x);
        return (decay * decay * mean - u[0] * u[0] - u[1] * u[1] - u[2] * u[2]) / 2;
      };
    };
    EXPECT_LE(pressure_error(flow, pressure_at(1)), 2e-6);
    for (int s = 0; s < 10; ++s)
      flow.step(dt);
    const double decay = std::exp(-viscosity * k * k * 10 * dt);
    EXPECT_LE(error(flow, beltrami(k, decay)), 2e-7);
    EXPECT_LE(pressure_error(flow, pressure_at(decay)), 1e-3); // the error is dt dp/dt
  }
}

TEST(NavierStokes, DivergenceVanishesAfterEveryStep) {
  for (const auto &boundaries : every_flow_boundary()) {
    const Grid grid({13, 16, 11}, odd_lengths, boundaries);
    NavierStokes<double> flow(grid, {0.01}, every_process_grid().back(), TransposeMethod::alltoall);
    set(flow, tangled(grid)); // the flow is of order 1 and its divergence is large
    EXPECT_GE(flow.max_divergence(), 0.1);
    for (int s = 0; s < 5; ++s) {
      flow.step(0.005);
      EXPECT_LE(flow.max_divergence() * 2.0, 1e-11) << name(boundaries);
    }
  }
}

TEST(NavierStokes, FreeSlipLetsNothingThrough) {
  const Grid grid({13, 16, 11}, odd_lengths, {Boundary::free_slip, Boundary::free_slip, Boundary::free_slip});
  NavierStokes<double> flow(grid, {0.01}, every_process_grid().back(), TransposeMethod::alltoall);
  set(flow, tangled(grid));
  for (int s = 0; s < 20; ++s)
    flow.step(0.01);
  double largest = 0;
  for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
    for (int d = 0; d < 3; ++d)
      if (p[d] == 0 || p[d] == grid.nodes[d] - 1)
        largest = std::max(largest, std::fabs(flow.velocity(d).data()[at]));
  });
  EXPECT_LE(largest, 1e-15); // sin(pi) in the initial field is not exactly zero
}

TEST(NavierStokes, AForceIsThatOfTheTimeOfEachStage) {
  const Grid grid(odd_nodes, odd_lengths, {Boundary::periodic, Boundary::free_slip, Boundary::periodic});
  const double dt = 0.3;
  const std::vector<std::pair<TimeScheme, std::vector<double>>> schemes{
      {TimeScheme::euler, {0}}, {TimeScheme::ab2, {0}}, {TimeScheme::rk3, {0, 8.0 / 15, 2.0 / 3}}};
  for (const Processes &processes : every_process_grid())
    for (const auto &[scheme, stages] : schemes) {
      NavierStokes<double> flow(grid, {0.01, scheme}, processes, TransposeMethod::alltoall);
      flow.add_force();
      std::vector<double> asked;
      flow.step(dt, [&](double since_start, double) {
        asked.push_back(since_start);
        std::ranges::fill(flow.force(0).values(), 2 * since_start);
        std::ranges::fill(flow.force(2).values(), -1.5);
      });
      ASSERT_EQ(asked.size(), stages.size());
      for (std::size_t s = 0; s < stages.size(); ++s)
        EXPECT_NEAR(asked[s], stages[s] * dt, 1e-15);
      // The integral of 2 t, which an RK3 step has exactly, and that of a constant, which every scheme has.
      const double x = scheme == TimeScheme::rk3 ? dt * dt : 0;
      EXPECT_LE(error(flow, [&](const Point &) { return Point{x, 0, -1.5 * dt}; }), 1e-14);
    }
}

TEST(NavierStokes, SinglePrecisionFollowsDouble) {
  const Grid grid(odd_nodes, odd_lengths, {Boundary::free_slip, Boundary::periodic, Boundary::periodic});
  const Processes processes = every_process_grid().back();
  NavierStokes<float> single(grid, {0.01}, processes, TransposeMethod::alltoall);
  NavierStokes<double> twice(grid, {0.01}, processes, TransposeMethod::alltoall);
  set(single, tangled(grid));
  set(twice, tangled(grid));
  for (int s = 0; s < 20; ++s) {
    single.step(0.01);
    twice.step(0.01);
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_LE(max_difference(single.velocity(i).data(), twice.velocity(i).data(), twice.velocity(i).size()), 5e-6);
}

TEST(NavierStokes, RefusesWhatDoesNotFitOnEveryRank) {
  using enum Boundary;
  const Grid walls(odd_nodes, odd_lengths, {periodic, dirichlet, periodic});
  const Processes processes = every_process_grid().back();
  const auto make = [&](const Boundaries &scalar) {
    FlowOptions options{0.01};
    options.scalars.push_back({0.01, scalar});
    NavierStokes<double>(walls, options, processes, TransposeMethod::alltoall);
  };
  EXPECT_NO_THROW(make({periodic, Sides(dirichlet, free_slip), periodic}));
  EXPECT_THROW(make({periodic, periodic, periodic}), InputError);
  EXPECT_THROW(make({dirichlet, dirichlet, periodic}), InputError);
  NavierStokes<double> flow(walls, {0.01}, processes, TransposeMethod::alltoall);
  for (const int direction : {-1, 3}) {
    FlowOptions options{0.01};
    options.flow_rate = {direction, 1.0};
    EXPECT_THROW(NavierStokes<double>(walls, options, processes, TransposeMethod::alltoall), InputError) << direction;
  }
  EXPECT_THROW(flow.make_outflow(0, {}, false), InputError);
  EXPECT_THROW(flow.face(2, true), InputError);
  EXPECT_NO_THROW(flow.make_outflow(1, {}, false));
}

TEST(NavierStokes, RefusesAGridOfTwoDimensionsOnEveryRank) {
  using enum Boundary;
  const Grid plane({16, 12, 1}, {1, 1, 1}, {periodic, periodic, periodic});
  const Processes processes = every_process_grid().back();
  try {
    NavierStokes<double>(plane, {0.01}, processes, TransposeMethod::alltoall);
    FAIL();
  } catch (const InputError &error) {
    EXPECT_EQ(std::string(error.what()), "grid has 1 node in z; the solver computes flows of three dimensions, with at "
                                         "least 8 nodes in each");
  }
}

TEST(NavierStokes, RefusesEndsWithoutNeighboursOnEveryRank) {
  using enum Boundary;
  const Grid walls({13, 8, 8}, odd_lengths, {periodic, dirichlet, dirichlet});
  for (const Processes &processes : every_process_grid()) {
    NavierStokes<double> flow(walls, {0.01}, processes, TransposeMethod::alltoall);
    if (processes->rows() > 4)
      EXPECT_THROW(flow.make_outflow(1, {}, false), InputError) << name(*processes);
    else
      EXPECT_NO_THROW(flow.make_outflow(1, {}, false)) << name(*processes);
    FlowOptions options{0.01};
    options.scalars.push_back({0.01, walls.boundaries});
    options.scalars[0].ends[2][1] = ScalarEnd::no_flux;
    const auto make = [&] { NavierStokes<double>(walls, options, processes, TransposeMethod::alltoall); };
    if (processes->cols() > 4)
      EXPECT_THROW(make(), InputError) << name(*processes);
    else
      EXPECT_NO_THROW(make()) << name(*processes);
  }
}
