// Measures the orders of accuracy in dt of the whole solver. An asymmetric flow on a coarse non-cubic grid is compared
// with the same flow computed in tiny steps, so that the errors in space cancel. `ctest -V` shows the measured orders.
#include "support.hpp"
#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {

constexpr double viscosity = 0.02;
constexpr double end_time = 0.5;

Grid mixed_grid() {
  return {{10, 13, 12}, {2.0, 3.0, 2.5}, {Boundary::periodic, Boundary::free_slip, Boundary::periodic}};
}

using Flow = NavierStokes<double>;
using State = std::array<std::vector<double>, 3>;

State state_of(Flow &flow) {
  State state;
  for (int i = 0; i < 3; ++i)
    state[i].assign(flow.velocity(i).values().begin(), flow.velocity(i).values().end());
  return state;
}

void set(Flow &flow, const State &state) {
  for (int i = 0; i < 3; ++i)
    std::copy(state[i].begin(), state[i].end(), flow.velocity(i).data());
}

/// Long waves with no symmetry other than free-slip in y, projected to be divergence-free on the grid. Without this
/// projection, the first right-hand side would belong to a different flow than the later ones.
State initial_state(const Grid &grid, const Processes &processes) {
  const Box box = Decomposition(processes, grid.nodes).box(Pencil::x);
  const double pi = std::numbers::pi;
  State u;
  for (auto &component : u)
    component.resize(static_cast<std::size_t>(box.size()));
  for_each_point(box, [&](const Index3 &p, std::int64_t at) {
    const double x = 2 * pi * static_cast<double>(p[0]) / static_cast<double>(grid.nodes[0]);
    const double y = pi * static_cast<double>(p[1]) / static_cast<double>(grid.nodes[1] - 1);
    const double z = 2 * pi * static_cast<double>(p[2]) / static_cast<double>(grid.nodes[2]);
    u[0][at] = 0.4 + std::sin(x + 0.3) * std::cos(y) + 0.5 * std::cos(2 * y) * std::sin(z);
    u[1][at] = std::sin(y) * (std::cos(x - z) + 0.3 * std::sin(z + 1)) + 0.4 * std::sin(2 * y) * std::cos(x);
    u[2][at] = -0.3 + std::cos(y) * std::sin(x + z) + 0.6 * std::cos(x + 2);
  });
  Projection<double> projection(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall,
                                std::make_shared<Workspace>());
  projection({u[0].data(), u[1].data(), u[2].data()});
  return u;
}

State run(TimeScheme scheme, int steps, double time, const State &initial, const Processes &processes) {
  Flow flow(mixed_grid(), {viscosity, scheme}, processes, TransposeMethod::alltoall);
  set(flow, initial);
  for (int s = 0; s < steps; ++s)
    flow.step(time / steps);
  return state_of(flow);
}

double difference(const State &a, const State &b) {
  double largest = 0;
  for (int i = 0; i < 3; ++i)
    largest = std::max(largest, max_difference(a[i].data(), b[i].data(), static_cast<std::int64_t>(a[i].size())));
  return largest;
}

/// The explicit part F(u) of du/dt for a state, as the solver stores it.
State right_hand_side(const State &state, const Processes &processes) {
  Flow flow(mixed_grid(), {viscosity, TimeScheme::euler}, processes, TransposeMethod::alltoall);
  set(flow, state);
  flow.step(1e-3);
  State rhs;
  for (int i = 0; i < 3; ++i)
    rhs[i].assign(flow.history(1, i).values().begin(), flow.history(1, i).values().end());
  return rhs;
}

/// An Adams-Bashforth run that gets exact states and right-hand sides for its first steps, as after a restart.
State run_from_history(TimeScheme scheme, int steps, const State &initial, const Processes &processes) {
  const double dt = end_time / steps;
  const int given = scheme == TimeScheme::ab3 ? 2 : 1;
  Flow flow(mixed_grid(), {viscosity, scheme}, processes, TransposeMethod::alltoall);
  State state = initial;
  for (int done = 0; done < given; ++done) {
    const State rhs = right_hand_side(state, processes);
    for (int i = 0; i < 3; ++i)
      std::copy(rhs[i].begin(), rhs[i].end(), flow.history(given - done, i).data());
    state = run(TimeScheme::rk3, 8, dt, state, processes);
  }
  set(flow, state);
  flow.set_steps(given);
  for (int s = given; s < steps; ++s)
    flow.step(dt);
  return state_of(flow);
}

struct Orders {
  double first, second;
};

template <class Run> Orders measure(const char *name, int steps, const State &exact, Run run_with) {
  const double e1 = difference(run_with(steps), exact), e2 = difference(run_with(2 * steps), exact),
               e4 = difference(run_with(4 * steps), exact);
  if (world().rank() == 0)
    std::printf("%-22s errors %.2e %.2e %.2e, orders %.2f %.2f\n", name, e1, e2, e4, order(e1, e2), order(e2, e4));
  EXPECT_GT(e4, 1e-11) << name << ": too close to rounding to tell the order";
  return {order(e1, e2), order(e2, e4)};
}

void expect_order(const char *name, double expected, const Orders &measured) {
  EXPECT_NEAR(measured.second, expected, 0.15) << name;
  EXPECT_NEAR(measured.first, expected, 0.35) << name;
}

} // namespace

TEST(TimeIntegration, OrdersOfAccuracy) {
  const Processes processes = every_process_grid().back();
  const State initial = initial_state(mixed_grid(), processes);
  const State exact = run(TimeScheme::rk3, 320, end_time, initial, processes);
  const auto with = [&](TimeScheme scheme) {
    return [&, scheme](int steps) { return run(scheme, steps, end_time, initial, processes); };
  };
  const auto from_history = [&](TimeScheme scheme) {
    return [&, scheme](int steps) { return run_from_history(scheme, steps, initial, processes); };
  };
  expect_order("euler", 1, measure("euler", 20, exact, with(TimeScheme::euler)));
  expect_order("ab2", 2, measure("ab2", 20, exact, with(TimeScheme::ab2)));
  expect_order("ab2 with history", 2, measure("ab2 with history", 20, exact, from_history(TimeScheme::ab2)));
  expect_order("ab3 with history", 3, measure("ab3 with history", 20, exact, from_history(TimeScheme::ab3)));
  expect_order("rk3", 3, measure("rk3", 10, exact, with(TimeScheme::rk3)));
  // This run starts with one Euler step, whose error of dt^2 remains until the end.
  const Orders ab3 = measure("ab3", 20, exact, with(TimeScheme::ab3));
  EXPECT_GE(ab3.second, 1.85) << "ab3";
}

TEST(TimeIntegration, StagesAddUpToOneStep) {
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab2, TimeScheme::ab3, TimeScheme::rk3})
    for (const long done : {0L, 1L, 2L, 3L, 1000L}) {
      double total = 0;
      std::size_t older = 0;
      for (const Stage &stage : stages(scheme, done)) {
        total += stage.share();
        older = std::max(older, stage.weights.size() - 1);
      }
      EXPECT_NEAR(total, 1, 1e-15);
      EXPECT_LE(static_cast<int>(older), stored_right_hand_sides(scheme));
      // The first stage may use old right-hand sides only if the scheme keeps them between steps and they exist.
      const long back = static_cast<long>(stages(scheme, done).front().weights.size()) - 1;
      EXPECT_TRUE(back == 0 || history_outlives_step(scheme));
      EXPECT_LE(back, done);
    }
}

TEST(TimeIntegration, Names) {
  EXPECT_EQ(time_scheme_from_name("euler"), TimeScheme::euler);
  EXPECT_EQ(time_scheme_from_name("ab2"), TimeScheme::ab2);
  EXPECT_EQ(time_scheme_from_name("ab3"), TimeScheme::ab3);
  EXPECT_EQ(time_scheme_from_name("rk3"), TimeScheme::rk3);
  EXPECT_THROW(time_scheme_from_name("rk4"), InputError);
}

TEST(TimeIntegration, AStepOfNoLengthChangesNothing) {
  const Processes processes = every_process_grid().back();
  const State initial = initial_state(mixed_grid(), processes);
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab2, TimeScheme::ab3, TimeScheme::rk3})
    EXPECT_LE(difference(run(scheme, 3, 0, initial, processes), initial), 1e-13);
}
