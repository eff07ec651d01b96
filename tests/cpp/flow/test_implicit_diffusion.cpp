// Implicit diffusion along y in the whole solver: it becomes the explicit one in small steps, stays stable in large
// ones, and is the same on every process grid. Exact solutions are in tests/python/flow/test_implicit_diffusion.py.
#include "flow/flows.hpp"
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {

using enum Boundary;
using Where = Stretching::Where;
using Fields = std::vector<std::vector<double>>;

const Index3 nodes{15, 13, 17};
const Point lengths{2.0, 1.5, 2.6};

struct Setting {
  Grid grid;
  FlowOptions options;
};

/// Everything that goes with implicit diffusion: two scalars, of which one has given ends, forces, hyperviscosity.
Setting setting(const Sides &y, const std::optional<Stretching> &stretching = {}, bool wide = true) {
  const Boundaries boundaries{periodic, y, Sides(free_slip, dirichlet)};
  Setting s{Grid(nodes, lengths, boundaries, stretching), {0.01}};
  s.options.acceleration = {0.1, -0.2, 0.05};
  s.options.coriolis = {0.4, -0.3, 0.9};
  if (wide)
    s.options.hyperviscosity.fill(Hyperviscosity{4, 0.44});
  s.options.scalars = {{0.02, {periodic, dirichlet, free_slip}}, {0.004, {periodic, free_slip, free_slip}}};
  s.options.scalars[0].buoyancy = {0.3, -0.7, 0.2};
  s.options.scalars[1].settling = {0.05, -0.1, -0.02};
  return s;
}

std::unique_ptr<NavierStokes<double>> make(const Setting &s, bool implicit, const Processes &processes,
                                           TransposeMethod method = TransposeMethod::alltoall) {
  FlowOptions options = s.options;
  options.implicit_y = implicit;
  auto flow = std::make_unique<NavierStokes<double>>(s.grid, options, processes, method);
  set(*flow, tangled(s.grid));
  for (const bool upper : {false, true})
    if (flow->face(1, upper).boundary == dirichlet) // the tangled flow does not end at rest
      for_each_point(flow->face(1, upper).box, [&](const Index3 &p, std::int64_t at) {
        flow->face(1, upper).value[0].data()[at] = 0.3 * std::sin(pi * position(s.grid, p)[2] / s.grid.lengths[2]);
      });
  const auto heat = [&](const Index3 &p) {
    const Point x = position(s.grid, p);
    return 1 + 0.3 * std::cos(2 * pi * x[0] / s.grid.lengths[0]) * std::cos(pi * x[1] / s.grid.lengths[1]);
  };
  for (Scalar<double> &scalar : flow->scalars()) {
    for_each_point(scalar.values().box(),
                   [&](const Index3 &p, std::int64_t at) { scalar.values().data()[at] = heat(p); });
    if (scalar.options().boundaries[1].lower == dirichlet)
      for (const bool upper : {false, true}) {
        Field<double> &end = scalar.given(1, upper);
        for_each_point(end.box(), [&](const Index3 &p, std::int64_t at) { end.data()[at] = heat(p); });
      }
  }
  flow->project();
  return flow;
}

Fields fields_of(NavierStokes<double> &flow) {
  Fields fields;
  for (int i = 0; i < 3; ++i)
    fields.emplace_back(flow.velocity(i).values().begin(), flow.velocity(i).values().end());
  for (Scalar<double> &scalar : flow.scalars())
    fields.emplace_back(scalar.values().values().begin(), scalar.values().values().end());
  return fields;
}

/// Without a check, for flows that explode.
Fields run_unchecked(NavierStokes<double> &flow, int steps, double dt) {
  for (int step = 0; step < steps; ++step)
    flow.step(dt);
  return fields_of(flow);
}

Fields run(const Setting &s, bool implicit, int steps, double dt, const Processes &processes = alone(),
           TransposeMethod method = TransposeMethod::alltoall) {
  const auto flow = make(s, implicit, processes, method);
  const Fields fields = run_unchecked(*flow, steps, dt);
  EXPECT_LE(flow->max_divergence() * lengths[2], 1e-11) << name(s.grid.boundaries);
  return fields;
}

/// The largest difference away from Dirichlet ends of scalars, whose values between steps do not count.
double difference(const Grid &grid, const Fields &a, const Fields &b) {
  double largest = 0;
  for_each_point({{0, 0, 0}, grid.nodes}, [&](const Index3 &p, std::int64_t at) {
    for (std::size_t f = 0; f < a.size(); ++f) {
      if (f >= 3 && (p[1] == 0 || p[1] == grid.nodes[1] - 1))
        continue;
      const double e = std::fabs(a[f][at] - b[f][at]);
      largest = std::isnan(e) ? INFINITY : std::max(largest, e);
    }
  });
  return largest;
}

const Sides every_side[] = {dirichlet, free_slip, Sides(dirichlet, free_slip), Sides(free_slip, dirichlet)};

} // namespace

TEST(ImplicitDiffusion, BecomesTheExplicitOneInSmallSteps) {
  if (world().rank() != 0)
    return; // this test does not use several ranks
  for (const Sides &sides : every_side)
    for (const auto &stretching : {std::optional<Stretching>{}, std::optional(Stretching(Where::walls, 0.4))})
      for (const bool wide : {false, true}) {
        Setting s = setting(sides, stretching, wide);
        s.options.scheme = TimeScheme::ab2; // of rk3 both are of first order beside walls, by the projection
        double differences[2];
        for (const int halvings : {0, 1}) {
          const int steps = 10 << halvings;
          const double dt = 0.02 / steps;
          differences[halvings] = difference(s.grid, run(s, true, steps, dt), run(s, false, steps, dt));
        }
        EXPECT_GT(differences[0], 1e-10) << "implicit diffusion is not used";
        EXPECT_LE(differences[0], 1e-3);
        EXPECT_GE(order(differences[0], differences[1]), 1.8)
            << name(s.grid.boundaries) << (stretching ? ", stretched" : "") << (wide ? ", wide " : " ")
            << differences[0] << " " << differences[1];
      }
}

TEST(ImplicitDiffusion, IsStableInLargeSteps) {
  if (world().rank() != 0)
    return;
  for (const Sides &sides : every_side)
    for (const bool wide : {false, true}) {
      Setting s = setting(sides, {}, wide);
      s.grid = Grid({15, 33, 17}, {8.0, 1.5, 10.4}, s.grid.boundaries,
                    Stretching(Where::walls, 0.1)); // x and z are no limit
      s.options.viscosity = 0.1;
      s.options.scalars[0].diffusivity = 0.2;
      s.options.acceleration = s.options.coriolis = {};
      s.options.scalars[0].buoyancy = {};
      const std::vector<double> distances = s.grid.distances(1);
      const double smallest = *std::min_element(distances.begin(), distances.end());
      const double dt = 0.018;
      EXPECT_GE(s.options.viscosity * dt / (smallest * smallest), 20);
      const auto largest = [&](bool implicit) {
        const Fields fields = run_unchecked(*make(s, implicit, alone()), 100, dt);
        double size = 0;
        for (const auto &field : fields)
          size = std::max(size, std::isnan(max_abs(field)) ? INFINITY : max_abs(field));
        return size;
      };
      EXPECT_LE(largest(true), 3) << name(s.grid.boundaries);
      EXPECT_GE(largest(false), 1e3) << "explicit steps are stable too, so that this shows nothing";
    }
}

TEST(ImplicitDiffusion, IsTheSameOnEveryProcessGrid) {
  for (const Sides &sides : every_side) {
    const Setting s = setting(sides, Stretching(Where::walls, 0.3));
    for (const TimeScheme scheme : {TimeScheme::rk3, TimeScheme::ab3}) {
      Setting of_scheme = s;
      of_scheme.options.scheme = scheme;
      const Fields expected = run(of_scheme, true, 4, 0.004);
      for (const Processes &processes : every_process_grid())
        for (const TransposeMethod method : every_method()) {
          const Fields found = run(of_scheme, true, 4, 0.004, processes, method);
          const Box box = Decomposition(processes, nodes).box(Pencil::x);
          for (std::size_t f = 0; f < found.size(); ++f)
            EXPECT_LE(max_difference(found[f].data(), part_of(expected[f], nodes, box).data(), box.size()), 1e-12)
                << name(*processes) << ", method " << static_cast<int>(method) << ", field " << f;
        }
    }
  }
}

TEST(ImplicitDiffusion, LeavesThePressureOfAStateAsItIs) {
  const Setting s = setting(dirichlet, Stretching(Where::walls, 0.4));
  for (const Processes &processes : every_process_grid()) {
    const auto implicit = make(s, true, processes), plain = make(s, false, processes);
    const std::int64_t size = implicit->velocity(0).size();
    std::vector<double> found(static_cast<std::size_t>(size)), expected(found);
    implicit->pressure(found.data());
    plain->pressure(expected.data());
    EXPECT_GT(world().max(max_abs(expected)), 0.1);
    EXPECT_LE(max_difference(found.data(), expected.data(), size), 1e-11) << name(*processes);
  }
}

TEST(ImplicitDiffusion, RefusesWhatItCannotDo) {
  const auto flow_of = [](Setting s) {
    s.options.implicit_y = true;
    return NavierStokes<double>(s.grid, s.options, alone(), TransposeMethod::alltoall);
  };
  Setting s{Grid(nodes, lengths, {dirichlet, periodic, periodic}), {0.01}};
  EXPECT_THROW(flow_of(s), InputError);
  Setting walls{Grid(nodes, lengths, {periodic, dirichlet, periodic}), {0.01}};
  auto flow = flow_of(walls);
  EXPECT_THROW(flow.set_body([](auto, auto, auto, std::span<std::uint8_t> inside) { std::ranges::fill(inside, 0); }, 1),
               InputError);
  walls.options.scalars = {{0.01, {periodic, dirichlet, periodic}}};
  EXPECT_NO_THROW(flow_of(walls));
  walls.options.scalars[0].ends[1][0] = ScalarEnd::no_flux;
  EXPECT_THROW(flow_of(walls), InputError);
}
