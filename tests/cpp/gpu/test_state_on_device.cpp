// The fields of a flow on a device and what is measured of them: who has them, who may change them, and how a flow goes
// on.
#include "gpu/computed.hpp"
#include <tailrace/device/stream.hpp>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

using StateOnDevice = OnDevice;

TEST_F(StateOnDevice, MovesBetweenRanksThroughTheHost) {
  const Grid grid({20, 17, 26}, {2.0, 1.5, 1.8},
                  std::array<Boundary, 3>{Boundary::periodic, Boundary::dirichlet, Boundary::free_slip});
  const struct Pretend {
    Pretend() { device::pretend_own_memory(true); }
    ~Pretend() { device::pretend_own_memory(false); }
  } pretend;
  expect_equal<double>({grid, {0.01}}, 1e-13, "own memory");
  expect_equal<float>({grid, {0.01}}, 2e-5, "own memory, float");
  FlowOptions options{0.01};
  options.scalars = {ScalarOptions{0.02, grid.boundaries}};
  const Wanted wanted{grid, options, 0, set_scalars};
  Computed<double> expected(wanted, false), found(wanted, true);
  for (NavierStokes<double> *flow : {&expected, &found})
    flow->step(0.005);
  EXPECT_LE(scalars_apart(expected, found), 1e-13);
  EXPECT_NEAR(averages_of(found).enstrophy / averages_of(expected).enstrophy, 1, 1e-10);
}

TEST_F(StateOnDevice, WhoLooksChangesNothing) {
  const Grid grid({20, 33, 18}, {2.0, 1.5, 1.8},
                  std::array<Boundary, 3>{Boundary::periodic, Boundary::dirichlet, Boundary::periodic},
                  Stretching{Stretching::Where::walls, 0.7});
  FlowOptions options{0.003};
  options.flow_rate = FlowRate{0, 0.8};
  options.linear = 0.3;
  const Wanted wanted{grid, options};
  Computed<double> quiet(wanted, true), watched(wanted, true);
  for (int step = 0; step < 4; ++step) {
    quiet.step(0.005);
    watched.step(0.005);
    const double first = watched.rate();
    EXPECT_NE(watched.velocity(step % 3).data(), nullptr);
    EXPECT_EQ(watched.rate(), first);
  }
  EXPECT_EQ(apart<double>(quiet, watched), 0);
}

TEST_F(StateOnDevice, TakesWhatTheCallerChangesBetweenSteps) {
  const Wanted wanted{box({20, 17, 26}, Boundary::periodic, Boundary::free_slip, Boundary::periodic),
                      {0.01, TimeScheme::ab3}};
  Computed<double> expected(wanted, false), found(wanted, true);
  for (NavierStokes<double> *flow : {&expected, &found})
    for (int step = 0; step < 4; ++step) {
      flow->step(0.01);
      flow->velocity(1).data()[5 * step + 40] += 0.125;
      flow->velocity(1).data()[step] += 0.5; // at a mirror the normal velocity is set back to zero
      if (step == 2)
        flow->history(2, 0).data()[77] -= 0.5;
    }
  EXPECT_LE(apart<double>(expected, found), 1e-13);
  EXPECT_LE(std::fabs(expected.max_divergence() - found.max_divergence()), 1e-10);
}

TEST_F(StateOnDevice, GoesOnFromTheProcessorsStateAndBack) {
  const Wanted wanted{box({20, 17, 26}, Boundary::periodic, Boundary::free_slip, Boundary::periodic),
                      {0.01, TimeScheme::ab3}};
  Computed<double> expected(wanted, false), first(wanted, true);
  for (int step = 0; step < 3; ++step) {
    expected.step(0.01);
    first.step(0.01);
  }
  Computed<double> second(wanted, false), third(wanted, true);
  const auto hand_over = [](NavierStokes<double> &from, NavierStokes<double> &to) {
    to.set_steps(from.steps());
    for (int i = 0; i < 3; ++i) {
      std::copy_n(from.velocity(i).data(), from.velocity(i).size(), to.velocity(i).data());
      for (const int age : {1, 2})
        std::copy_n(from.history(age, i).data(), from.velocity(i).size(), to.history(age, i).data());
    }
  };
  hand_over(first, second);
  for (NavierStokes<double> *flow : {&expected, &second})
    for (int step = 0; step < 2; ++step)
      flow->step(0.01);
  hand_over(second, third);
  for (NavierStokes<double> *flow : {&expected, &third})
    for (int step = 0; step < 2; ++step)
      flow->step(0.01);
  EXPECT_LE(apart<double>(expected, third), 1e-13);
}

TEST_F(StateOnDevice, PressureAndMeanPressureAreThoseOfTheProcessor) {
  const Wanted wanted{box({20, 17, 26}, Boundary::free_slip, Boundary::free_slip, Boundary::periodic), {0.01}};
  Computed<double> expected(wanted, false), found(wanted, true);
  EXPECT_LE(pressures_apart<double>(expected, found), 1e-12) << "before the first step";
  for (NavierStokes<double> *flow : {&expected, &found}) {
    flow->keep_mean_pressure();
    flow->step(0.01);
  }
  std::vector<double> p(static_cast<std::size_t>(expected.velocity(0).size())), q(p.size());
  expected.mean_pressure(p.data());
  found.mean_pressure(q.data());
  EXPECT_LE(apart(p.data(), q.data(), expected.velocity(0).size()), 1e-12);
}

TEST_F(StateOnDevice, AveragesAreThoseOfTheProcessor) {
  using enum Boundary;
  for (const Grid &grid : {box({20, 17, 26}, periodic, free_slip, periodic),
                           Grid({20, 33, 18}, {2.0, 1.5, 1.8}, std::array<Boundary, 3>{dirichlet, dirichlet, periodic},
                                Stretching{Stretching::Where::walls, 0.7})}) {
    FlowOptions options{0.003};
    options.hyperviscosity[0] = options.hyperviscosity[1] = Hyperviscosity{2, 0.4};
    const Wanted wanted{grid, options};
    Computed<double> expected(wanted, false), found(wanted, true);
    for (NavierStokes<double> *flow : {&expected, &found})
      flow->step(0.005);
    const auto processes = every_process_grid().front();
    Diagnostics<double> of_expected(expected, processes, TransposeMethod::alltoall),
        of_found(found, processes, TransposeMethod::alltoall);
    const VolumeAverages a = of_expected.averages(0.01), b = of_found.averages(0.01);
    EXPECT_NEAR(b.kinetic_energy / a.kinetic_energy, 1, 1e-11);
    EXPECT_NEAR(b.dissipation / a.dissipation, 1, 1e-10);
    EXPECT_NEAR(b.dissipation_laplacian / a.dissipation_laplacian, 1, 1e-10);
    EXPECT_NEAR(b.enstrophy / a.enstrophy, 1, 1e-10);
    EXPECT_NEAR(b.cfl / a.cfl, 1, 1e-11);
    EXPECT_LE(b.max_divergence, 1e-8);
    EXPECT_NEAR(of_found.energy_rates().hyperviscous / of_expected.energy_rates().hyperviscous, 1, 1e-9);
    EXPECT_NEAR(of_found.energy() / of_expected.energy(), 1, 1e-11);
    EXPECT_LE(pressures_apart<double>(expected, found), 1e-10) << "measuring the divergence changed the pressure";
    for (NavierStokes<double> *flow : {&expected, &found}) // a divergence that is there
      for (double &value : flow->velocity(1).values())
        value *= 1.5;
    EXPECT_NEAR(found.max_divergence() / expected.max_divergence(), 1, 1e-10);
    EXPECT_GT(found.max_divergence(), 1e-2);
  }
}

TEST_F(StateOnDevice, RateIsThatOfTheProcessorAndInfiniteWithoutANumber) {
  const Grid grid({20, 33, 18}, {2.0, 1.5, 1.8},
                  std::array<Boundary, 3>{Boundary::periodic, Boundary::dirichlet, Boundary::free_slip});
  const Wanted wanted{grid, {0.003}};
  Computed<double> expected(wanted, false), found(wanted, true);
  for (NavierStokes<double> *flow : {&expected, &found})
    flow->step(0.005);
  EXPECT_NEAR(found.rate() / expected.rate(), 1, 1e-12);
  EXPECT_GT(found.rate(), 1);
  for (NavierStokes<double> *flow : {&expected, &found}) {
    if (world().rank() == world().size() - 1)
      flow->velocity(2).data()[41] = NAN;
    EXPECT_EQ(flow->rate(), INFINITY);
    flow->step(0.005);
    EXPECT_EQ(flow->rate(), INFINITY);
  }
}
