// The stages of a flow on a device give what the processor's give, which test_navier_stokes.cpp holds against exact
// solutions. Where the library was built for tests, the device is the processor, and runs the same kernels.
#include "flow/flows.hpp"
#include <tailrace/device/stream.hpp>
#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/gpu/accelerate.hpp>
#include <tailrace/ops/lanes/per_lane.hpp>

#include <gtest/gtest.h>

#include <random>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {

constexpr Boundary kinds[] = {Boundary::periodic, Boundary::free_slip};

/// A flow without symmetries but those of the ends, and not free of divergence.
Vector some_flow(const Grid &grid) {
  return [&grid](const Point &x) {
    Point u;
    for (int i = 0; i < 3; ++i) {
      double product = 1 + 0.3 * i;
      for (int d = 0; d < 3; ++d) {
        const double k = (grid.periodic(d) ? 2 : 1) * pi * ((i + 2 * d) % 3 + 1) / grid.lengths[d];
        product *= !grid.periodic(d) ? (i == d ? std::sin(k * x[d]) : 0.2 + std::cos(k * x[d]))
                                     : std::cos(k * x[d] + 0.3 + i + 0.7 * d) + 0.4 * std::sin(3 * k * x[d]);
      }
      u[i] = product;
    }
    return u;
  };
}

struct Wanted {
  Grid grid;
  FlowOptions options;
  int steps = 3;
  std::function<void(NavierStokes<double> &)> after = {}; ///< what is done to a flow before its first step
};

/// A flow, computed by the processor or by a device.
template <class T> struct Computed : NavierStokes<T> {
  Computed(const Wanted &wanted, bool on_device)
      : NavierStokes<T>(wanted.grid, wanted.options, every_process_grid().front(), TransposeMethod::alltoall) {
    if (on_device)
      gpu::accelerate<T>(*this);
    const Vector flow = some_flow(wanted.grid);
    set<T>(*this, flow);
    for (int d = 0; d < 3; ++d)
      for (const bool upper : {false, true})
        if ((upper ? wanted.grid.boundaries[d].upper : wanted.grid.boundaries[d].lower) == Boundary::dirichlet)
          give(this->face(d, upper), flow);
    if constexpr (std::is_same_v<T, double>)
      if (wanted.after)
        wanted.after(*this);
    this->project();
  }

private:
  void give(Face<T> &face, const Vector &flow) {
    for_each_point(face.box, [&](const Index3 &p, std::int64_t at) {
      const Point value = flow(position(this->grid(), p));
      for (int i = 0; i < 3; ++i)
        face.value[i].data()[at] = static_cast<T>(0.3 * value[i]);
    });
  }
};

/// The largest difference of two fields, in units of the largest value of all ranks.
template <class T> double apart(const T *a, const T *b, std::int64_t size) {
  double most = 0, largest = 0;
  for (std::int64_t p = 0; p < size; ++p) {
    const double difference = std::fabs(static_cast<double>(a[p]) - static_cast<double>(b[p]));
    most = std::isnan(difference) ? INFINITY : std::max(most, difference);
    largest = std::max(largest, std::fabs(static_cast<double>(a[p])));
  }
  return world().max(most) / world().max(largest);
}

template <class T> double apart(NavierStokes<T> &a, NavierStokes<T> &b) {
  double most = 0;
  for (int i = 0; i < 3; ++i)
    most = std::max(most, apart(a.velocity(i).data(), b.velocity(i).data(), a.velocity(i).size()));
  return most;
}

template <class T> double pressures_apart(NavierStokes<T> &a, NavierStokes<T> &b) {
  std::vector<T> p(static_cast<std::size_t>(a.velocity(0).size())), q(p.size());
  a.pressure(p.data());
  b.pressure(q.data());
  return apart(p.data(), q.data(), a.velocity(0).size());
}

template <class T> void expect_equal(const Wanted &wanted, double tolerance, const std::string &what) {
  Computed<T> expected(wanted, false), found(wanted, true);
  const Grid &grid = wanted.grid;
  const double dt = 0.2 * std::min({grid.spacing(0), grid.spacing(1), grid.spacing(2)});
  for (int step = 0; step < wanted.steps; ++step) {
    expected.step(dt);
    found.step(dt);
  }
  EXPECT_LE(apart<T>(expected, found), tolerance) << what;
  EXPECT_LE(pressures_apart<T>(expected, found), 100 * tolerance) << what;
  EXPECT_GT(apart(expected.velocity(0).data(), expected.velocity(1).data(), expected.velocity(0).size()), 0.1);
}

Grid box(const Index3 &nodes, Boundary x, Boundary y, Boundary z) {
  return {nodes, {2.0, 1.5, 1.8}, std::array<Boundary, 3>{x, y, z}};
}

/// Whether this process has a device, or the processor in place of one.
bool has_device() {
  try {
    gpu::device_name();
    return true;
  } catch (const InputError &) {
    return false;
  }
}

} // namespace

namespace {

/// Largest differences of the scalars, in units of the largest value of each.
double scalars_apart(NavierStokes<double> &a, NavierStokes<double> &b) {
  double most = 0;
  for (std::size_t s = 0; s < a.scalars().size(); ++s)
    most = std::max(most, apart(a.scalar_values(s).data(), b.scalar_values(s).data(), a.velocity(0).size()));
  return most;
}

void set_scalars(NavierStokes<double> &flow) {
  for (std::size_t s = 0; s < flow.scalars().size(); ++s)
    for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
      flow.scalar_values(s).data()[at] = 0.5 + 0.4 * noise(p, 11 + static_cast<unsigned>(s));
    });
}

VolumeAverages averages_of(NavierStokes<double> &flow) {
  return Diagnostics<double>(flow, every_process_grid().front(), TransposeMethod::alltoall).averages(0.01);
}

} // namespace

class FlowOnDevice : public testing::Test {
protected:
  void SetUp() override {
    if (!has_device())
      GTEST_SKIP() << "this process has no device";
  }
};

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

TEST_F(FlowOnDevice, MovesBetweenRanksThroughTheHost) {
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

TEST_F(FlowOnDevice, WhoLooksChangesNothing) {
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

TEST_F(FlowOnDevice, TakesWhatTheCallerChangesBetweenSteps) {
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

TEST_F(FlowOnDevice, GoesOnFromTheProcessorsStateAndBack) {
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

TEST_F(FlowOnDevice, PressureAndMeanPressureAreThoseOfTheProcessor) {
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

TEST_F(FlowOnDevice, AveragesAreThoseOfTheProcessor) {
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

TEST_F(FlowOnDevice, RateIsThatOfTheProcessorAndInfiniteWithoutANumber) {
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
