// The stages of a flow on a device give what the processor's give, which test_navier_stokes.cpp holds against exact
// solutions.
#include "gpu/computed.hpp"
#include <tailrace/ops/lanes/per_lane.hpp>

#include <random>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {
constexpr Boundary kinds[] = {Boundary::periodic, Boundary::free_slip};
} // namespace

using FlowOnDevice = OnDevice;

TEST_F(FlowOnDevice, GivesTheProcessorsFieldsWithEveryBoundary) {
  for (const Boundary x : kinds)
    for (const Boundary y : kinds)
      for (const Boundary z : kinds) {
        const Grid grid = box({20, 17, 26}, x, y, z);
        expect_equal<double>({grid, {0.01}}, 1e-13, name(grid.boundaries));
        expect_equal<float>({grid, {0.01}}, 2e-5, name(grid.boundaries) + ", float");
      }
}

TEST_F(FlowOnDevice, TakesEveryNumberOfPoints) {
  using enum Boundary;
  for (const auto &[nodes, z] : std::vector<std::pair<Index3, Boundary>>{{{32, 32, 32}, periodic},
                                                                         {{9, 33, 8}, free_slip},
                                                                         {{40, 8, 65}, free_slip},
                                                                         {{70, 11, 129}, periodic},
                                                                         {{13, 90, 12}, free_slip},
                                                                         {{8, 9, 300}, periodic}}) {
    const Grid grid = box(nodes, nodes[0] % 2 == 0 ? periodic : free_slip, nodes[1] % 2 == 0 ? periodic : free_slip, z);
    expect_equal<double>({grid, {0.01}}, 3e-13, std::to_string(nodes[0]) + " nodes in x");
  }
}

TEST_F(FlowOnDevice, TakesEverySchemeAndInterpolation) {
  const Grid grid = box({18, 15, 22}, Boundary::periodic, Boundary::free_slip, Boundary::periodic);
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab2, TimeScheme::ab3, TimeScheme::rk3})
    for (const Interpolation interpolation :
         {Interpolation::classic, Interpolation::optimised, Interpolation::aggressive}) {
      FlowOptions options{0.01, scheme, interpolation};
      options.hyperviscosity[1] = options.hyperviscosity[2] = Hyperviscosity{4, 0.44};
      expect_equal<double>({grid, options, 4}, 1e-13, "scheme " + std::to_string(static_cast<int>(scheme)));
    }
}

TEST_F(FlowOnDevice, TheOrderOfTheLanesDoesNotMatter) {
  const Wanted wanted{box({20, 17, 26}, Boundary::free_slip, Boundary::periodic, Boundary::free_slip), {0.01}};
  Computed<double> usual(wanted, true), other(wanted, true);
  usual.step(0.02);
  std::shuffle(Warp::order().begin(), Warp::order().end(), std::mt19937(7));
  other.step(0.02);
  Warp::order() = Warp::in_order();
  EXPECT_EQ(apart<double>(usual, other), 0);
}

TEST_F(FlowOnDevice, TakesWallsOnAnySide) {
  using enum Boundary;
  const Sides every[] = {periodic, free_slip, dirichlet, {free_slip, dirichlet}, {dirichlet, free_slip}};
  for (int d = 0; d < 3; ++d)
    for (const Sides &sides : every)
      for (const Sides &others : {Sides(periodic), Sides(dirichlet)}) {
        const Sides of[] = {d == 0 ? sides : others, d == 1 ? sides : others, d == 2 ? sides : others};
        const Grid grid({20, 17, 26}, {2.0, 1.5, 1.8}, Boundaries(of[0], of[1], of[2]));
        expect_equal<double>({grid, {0.01}}, 1e-13, name(grid.boundaries));
      }
  const Grid grid = box({20, 17, 26}, periodic, dirichlet, free_slip);
  expect_equal<float>({grid, {0.01}}, 2e-5, "walls, float");
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab3})
    expect_equal<double>({grid, {0.01, scheme}, 4}, 1e-13, "walls, another scheme");
}

TEST_F(FlowOnDevice, TakesInflowAndOutflow) {
  using enum Boundary;
  for (const bool balance : {false, true}) {
    const Grid grid = box({24, 17, 20}, dirichlet, free_slip, periodic);
    const auto outflow = [&](NavierStokes<double> &flow) {
      flow.make_outflow(0, {ConvectionSpeed::Kind::middle, 0}, balance);
      for (double &value : flow.face(0, false).value[0].values())
        value = 1 + 0.1 * value;
      for (double &value : flow.velocity(0).values())
        value = 1 + 0.1 * value;
    };
    expect_equal<double>({grid, {0.01}, 4, outflow}, 1e-13, balance ? "balanced" : "not balanced");
  }
}

TEST_F(FlowOnDevice, TakesAStretchedY) {
  using enum Boundary;
  for (const Stretching::Where where : {Stretching::Where::centre, Stretching::Where::walls, Stretching::Where::bottom})
    for (const Boundary y : {free_slip, dirichlet}) {
      const Boundary x = where == Stretching::Where::centre ? periodic : y; // modes in x may be cosines too
      const Grid grid({20, 33, 18}, {2.0, 1.5, 1.8}, std::array<Boundary, 3>{x, y, periodic}, Stretching{where, 0.7});
      FlowOptions options{0.003};
      expect_equal<double>({grid, options}, 1e-12, "stretched, " + name(grid.boundaries));
      options.hyperviscosity[1] = Hyperviscosity{1, 0.3};
      expect_equal<double>({grid, options}, 1e-12, "stretched, hyperviscous, " + name(grid.boundaries));
    }
}

TEST_F(FlowOnDevice, TakesForces) {
  using enum Boundary;
  const Grid grid = box({20, 17, 26}, periodic, dirichlet, periodic);
  FlowOptions options{0.01};
  options.acceleration = {0.3, -0.2, 0.1};
  expect_equal<double>({grid, options}, 1e-13, "acceleration");
  options.coriolis = {0.5, 0.7, -0.4};
  expect_equal<double>({grid, options}, 1e-13, "acceleration and rotation");
  options.linear = 0.6;
  expect_equal<double>({grid, options}, 1e-13, "linear forcing too");
  const auto field = [](NavierStokes<double> &flow) {
    flow.add_force();
    for (int i = 0; i < 3; ++i)
      for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
        flow.force(i).data()[at] = noise(p, 3 + static_cast<unsigned>(i));
      });
  };
  expect_equal<double>({grid, options, 3, field}, 1e-13, "a field of forces too");
}

TEST_F(FlowOnDevice, KeepsAFlowRate) {
  const Grid grid({20, 33, 18}, {2.0, 1.5, 1.8},
                  std::array<Boundary, 3>{Boundary::periodic, Boundary::dirichlet, Boundary::periodic},
                  Stretching{Stretching::Where::walls, 0.7});
  FlowOptions options{0.003};
  options.flow_rate = FlowRate{0, 0.8};
  const Wanted wanted{grid, options};
  Computed<double> expected(wanted, false), found(wanted, true);
  for (NavierStokes<double> *flow : {&expected, &found})
    for (int step = 0; step < 3; ++step)
      flow->step(0.005);
  EXPECT_NEAR(found.flow_rate_force() / expected.flow_rate_force(), 1, 1e-10);
  EXPECT_NEAR(found.flow_rate()->work() / expected.flow_rate()->work(), 1, 1e-12);
  EXPECT_LE(apart<double>(expected, found), 1e-12);
}

TEST_F(FlowOnDevice, CarriesScalars) {
  using enum Boundary;
  const Grid grid({24, 17, 20}, {2.0, 1.5, 1.8}, std::array<Boundary, 3>{dirichlet, dirichlet, periodic},
                  Stretching{Stretching::Where::walls, 0.7});
  for (const TimeScheme scheme : {TimeScheme::rk3, TimeScheme::ab3}) {
    FlowOptions options{0.005, scheme};
    options.hyperviscosity[2] = Hyperviscosity{1, 0.3};
    ScalarOptions warm{0.004, Boundaries(dirichlet, dirichlet, periodic)};
    warm.ends = {{{ScalarEnd::given, ScalarEnd::convected}, {ScalarEnd::given, ScalarEnd::no_flux}, {}}};
    warm.buoyancy = {0.1, 0.7, -0.2};
    ScalarOptions sand{0.006, Boundaries(dirichlet, {dirichlet, free_slip}, periodic)};
    sand.ends = {{{ScalarEnd::free, ScalarEnd::convected}, {ScalarEnd::no_flux, ScalarEnd::free}, {}}};
    sand.settling = {0, -0.3, 0.1};
    sand.least = 0.1;
    sand.most = 0.9;
    options.scalars = {warm, sand};
    const auto begin = [](NavierStokes<double> &flow) {
      flow.make_outflow(0, {ConvectionSpeed::Kind::largest, 0}, true);
      for (double &value : flow.velocity(0).values())
        value = 1 + 0.1 * value;
      set_scalars(flow);
      for (double &value : flow.scalars()[0].given(1, false).values())
        value = 0.75;
    };
    const Wanted wanted{grid, options, 0, begin};
    Computed<double> expected(wanted, false), found(wanted, true);
    for (NavierStokes<double> *flow : {&expected, &found})
      for (int step = 0; step < 4; ++step) {
        flow->step(0.002);
        if (step == 1)
          flow->scalar_values(0).data()[60] += 0.2; // the caller's until the next step
      }
    EXPECT_LE(apart<double>(expected, found), 1e-12);
    EXPECT_LE(scalars_apart(expected, found), 1e-12);
    EXPECT_LE(pressures_apart<double>(expected, found), 1e-10);
    EXPECT_LE(
        apart(expected.scalar_history(1, 1).data(), found.scalar_history(1, 1).data(), expected.velocity(0).size()),
        1e-11);
  }
}

TEST_F(FlowOnDevice, RefusesWhatItDoesNotComputeYet) {
  using enum Boundary;
  const auto refuses = [](const Grid &grid, const FlowOptions &options, const std::string &what) {
    NavierStokes<double> flow(grid, options, every_process_grid().front(), TransposeMethod::alltoall);
    try {
      gpu::accelerate(flow);
      ADD_FAILURE() << "took " << what;
    } catch (const InputError &error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  const Grid grid = box({20, 17, 26}, periodic, dirichlet, periodic);
  refuses(
      {grid.nodes, grid.lengths, Boundaries(periodic, dirichlet, free_slip), Stretching{Stretching::Where::walls, 0.3}},
      {0.01}, "grid.stretching");
  FlowOptions one_sided{0.01};
  one_sided.wall_divergence = WallDivergence::one_sided;
  refuses(grid, one_sided, "numerics.wall_divergence");
  FlowOptions eddies{0.01};
  eddies.eddy_model.emplace();
  refuses(grid, eddies, "eddy");
  FlowOptions implicit{0.01};
  implicit.implicit_y = true;
  refuses(grid, implicit, "numerics.implicit_y");
  refuses(box({1064, 8, 8}, periodic, periodic, periodic), {0.01}, "1056");
  for (const auto &processes : every_process_grid())
    if (processes->rows() > 1) {
      NavierStokes<double> flow(grid, {0.01}, processes, TransposeMethod::alltoall);
      EXPECT_THROW(gpu::accelerate(flow), InputError);
    }
  const auto ball = [](auto x, auto y, auto z, auto inside) {
    for (std::size_t p = 0; p < x.size(); ++p)
      inside[p] = std::hypot(x[p] - 1, y[p] - 0.75, z[p] - 0.9) < 0.3 ? 1 : 0;
  };
  Computed<double> flow({grid, {0.01}}, true), with_body({grid, {0.01}}, false);
  EXPECT_THROW(flow.set_body(ball, 1), InputError);
  with_body.set_body(ball, 1);
  EXPECT_THROW(gpu::accelerate<double>(with_body), InputError);
}
