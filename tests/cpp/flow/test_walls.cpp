// Flows between walls, on stretched grids, with scalars and an outflow: with exchanged axes, as half of a symmetric
// flow, on one rank and many ranks, and without divergence.
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

constexpr double time_step = 0.005; // stable with hyperviscosity on the stretched grids

/// A flow with everything that its parts can be given, in directions that may be exchanged.
struct Setting {
  Grid grid;
  FlowOptions options;
  std::optional<int> outflow = {};
  bool still = false; ///< whether nothing is given at the ends

  double scalar(const Point &x) const {
    double sum = 1;
    for (int d = 0; d < 3; ++d)
      sum += (0.3 + 0.1 * d) * std::cos((grid.periodic(d) ? 2 : 1) * pi * x[d] / grid.lengths[d] + 0.2 * d);
    return sum;
  }
};

/// 1 within an end of direction d, 0 where another end that is not periodic meets it.
double away_from_edges(const Grid &grid, int d, const Point &x) {
  double product = 1;
  for (int e = 0; e < 3; ++e)
    if (e != d && !grid.periodic(e))
      product *= std::sin(pi * x[e] / grid.lengths[e]);
  return product;
}

/// The velocity given at an end, by its direction; in directions `names` of a setting whose axes were exchanged.
Point given(const Grid &grid, const std::array<int, 3> &names, int d, bool upper, const Point &x) {
  Point u;
  for (int i = 0; i < 3; ++i)
    u[i] = 0.1 * (1 + names[i]) * (upper ? -0.7 : 1) * away_from_edges(grid, d, x);
  const double through = 0.2 * away_from_edges(grid, d, x); // in and out again
  u[d] = through;
  return u;
}

template <class T> void give(NavierStokes<T> &flow, const std::array<int, 3> &names) {
  for (int d = 0; d < 3; ++d)
    for (const bool upper : {false, true}) {
      if (flow.grid().periodic(d))
        continue;
      Face<T> &face = flow.face(d, upper);
      const Sides &sides = flow.grid().boundaries[d];
      if (face.boundary != dirichlet)
        continue;
      const bool walls = sides.lower == dirichlet && sides.upper == dirichlet; // only then as much flows out
      for_each_point(face.box, [&](const Index3 &p, std::int64_t at) {
        const Point u = given(flow.grid(), names, d, upper, position(flow.grid(), p));
        for (int i = 0; i < 3; ++i)
          face.value[i].data()[at] = static_cast<T>(i == d && !walls ? 0 : u[i]);
      });
    }
}

/// Velocity and scalars.
template <class T> using Fields = std::vector<std::vector<T>>;

template <class T>
Fields<T> run(const Setting &s, const Vector &u, const std::function<double(const Point &)> &phi,
              const Processes &processes, TransposeMethod method, int steps, double dt,
              const std::array<int, 3> &names = {0, 1, 2}) {
  NavierStokes<T> flow(s.grid, s.options, processes, method);
  set(flow, u);
  if (!s.still)
    give(flow, names);
  if (s.outflow)
    flow.make_outflow(*s.outflow, {}, true);
  for (Scalar<T> &scalar : flow.scalars()) {
    for_each_point(scalar.values().box(), [&](const Index3 &p, std::int64_t at) {
      scalar.values().data()[at] = static_cast<T>(phi(position(s.grid, p)));
    });
    for (int d = 0; d < 3; ++d)
      for (const bool upper : {false, true})
        if ((upper ? scalar.options().boundaries[d].upper : scalar.options().boundaries[d].lower) == dirichlet) {
          Field<T> &end = scalar.given(d, upper);
          for_each_point(end.box(), [&](const Index3 &p, std::int64_t at) {
            end.data()[at] = static_cast<T>(phi(position(s.grid, p)));
          });
        }
  }
  const double longest = *std::max_element(s.grid.lengths.begin(), s.grid.lengths.end());
  for (int step = 0; step < steps; ++step) {
    flow.step(dt);
    if (step % 3 == 0) {
      EXPECT_LE(flow.max_divergence() * longest, sizeof(T) == 8 ? 1e-11 : 1e-2)
          << name(s.grid.boundaries) << ", step " << step;
    }
  }
  Fields<T> fields;
  for (int i = 0; i < 3; ++i)
    fields.emplace_back(flow.velocity(i).values().begin(), flow.velocity(i).values().end());
  for (Scalar<T> &scalar : flow.scalars())
    fields.emplace_back(scalar.values().values().begin(), scalar.values().values().end());
  return fields;
}

Fields<double> run_alone(const Setting &s, int steps, const std::array<int, 3> &names = {0, 1, 2}) {
  return run<double>(
      s, tangled(s.grid), [&](const Point &x) { return s.scalar(x); }, alone(), TransposeMethod::alltoall, steps,
      time_step, names);
}

template <class A> A permuted(const A &a, const std::array<int, 3> &axes) {
  return {a[axes[0]], a[axes[1]], a[axes[2]]};
}
Boundaries permuted(const Boundaries &b, const std::array<int, 3> &axes) {
  return {b[axes[0]], b[axes[1]], b[axes[2]]};
}

/// Direction d of the result is direction axes[d] of the original.
Setting permuted(const Setting &s, const std::array<int, 3> &axes) {
  Setting turned{Grid(permuted(s.grid.nodes, axes), permuted(s.grid.lengths, axes), permuted(s.grid.boundaries, axes)),
                 s.options};
  const auto where = [&](int d) { return static_cast<int>(std::find(axes.begin(), axes.end(), d) - axes.begin()); };
  turned.options.acceleration = permuted(s.options.acceleration, axes);
  const bool mirrors = (axes[1] - axes[0] + 3) % 3 != 1; // an odd permutation: an angular velocity changes its sign
  for (int d = 0; d < 3; ++d)
    turned.options.coriolis[d] = (mirrors ? -1 : 1) * s.options.coriolis[axes[d]];
  if (s.options.flow_rate)
    turned.options.flow_rate = {where(s.options.flow_rate->direction), s.options.flow_rate->velocity};
  for (ScalarOptions &scalar : turned.options.scalars) {
    scalar.boundaries = permuted(scalar.boundaries, axes);
    scalar.ends = permuted(scalar.ends, axes);
    scalar.buoyancy = permuted(scalar.buoyancy, axes);
    scalar.settling = permuted(scalar.settling, axes);
  }
  if (s.outflow)
    turned.outflow = where(*s.outflow);
  return turned;
}

const Index3 nodes{15, 13, 17};
const Point lengths{2.0, 1.5, 2.6};

ScalarOptions scalar_in(const Boundaries &boundaries) {
  ScalarOptions scalar{0.005, boundaries};
  scalar.buoyancy = {0.3, -0.7, 0.2};
  scalar.settling = {0.05, -0.1, -0.02}; // towards one of the ends that let nothing through
  return scalar;
}

Setting setting(const Boundaries &boundaries) {
  Setting s{Grid(nodes, lengths, boundaries), {0.004}};
  s.options.acceleration = {0.1, -0.2, 0.05};
  s.options.coriolis = {0.4, -0.3, 0.9};
  s.options.linear = 0.2;
  s.options.hyperviscosity.fill(Hyperviscosity{4, 0.44});
  s.options.scalars = {scalar_in(boundaries), scalar_in(boundaries)};
  s.options.scalars[1].diffusivity = 0.002;
  s.options.scalars[1].ends = {{{ScalarEnd::no_flux, ScalarEnd::given},
                                {ScalarEnd::no_flux, ScalarEnd::no_flux},
                                {ScalarEnd::given, ScalarEnd::no_flux}}};
  return s;
}

/// The largest difference of the result with exchanged axes.
double difference(const Setting &s, const std::array<int, 3> &axes, const Fields<double> &original, int steps) {
  const Setting turned = permuted(s, axes);
  const Vector u = tangled(s.grid);
  const auto back = [&](const Point &x) {
    Point y;
    for (int d = 0; d < 3; ++d)
      y[axes[d]] = x[d];
    return y;
  };
  const auto found = run<double>(
      turned, [&](const Point &x) { return permuted(u(back(x)), axes); },
      [&](const Point &x) { return s.scalar(back(x)); }, alone(), TransposeMethod::alltoall, steps, time_step, axes);
  double largest = 0;
  for_each_point({{0, 0, 0}, turned.grid.nodes}, [&](const Index3 &p, std::int64_t at) {
    Index3 q;
    for (int d = 0; d < 3; ++d)
      q[axes[d]] = p[d];
    const std::int64_t there = linear(s.grid.nodes, q);
    for (std::size_t f = 0; f < found.size(); ++f) {
      const double e = std::fabs(found[f][at] - original[f < 3 ? static_cast<std::size_t>(axes[f]) : f][there]);
      largest = std::isnan(e) ? INFINITY : std::max(largest, e);
    }
  });
  return largest;
}

constexpr std::array<int, 3> orders[] = {{1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}};

} // namespace

TEST(Walls, ExchangedAxesExchangeTheResult) {
  if (world().rank() != 0)
    return; // this test does not use several ranks
  for (const Boundaries &boundaries :
       {Boundaries{periodic, dirichlet, periodic}, Boundaries{free_slip, dirichlet, periodic},
        Boundaries{dirichlet, dirichlet, periodic}, Boundaries{dirichlet, dirichlet, dirichlet},
        Boundaries{periodic, Sides(dirichlet, free_slip), free_slip},
        Boundaries{Sides(free_slip, dirichlet), dirichlet, Sides(dirichlet, free_slip)}}) {
    Setting s = setting(boundaries);
    if (s.grid.periodic(0))
      s.options.flow_rate = {0, 0.4};
    const Fields<double> original = run_alone(s, 10);
    for (const auto &axes : orders)
      EXPECT_LE(difference(s, axes, original, 10), 5e-13)
          << name(boundaries) << " as " << axes[0] << axes[1] << axes[2];
  }
}

TEST(Walls, ExchangedAxesExchangeAnEddyViscosity) {
  if (world().rank() != 0)
    return;
  for (const EddyModel::Kind kind : {EddyModel::Kind::smagorinsky, EddyModel::Kind::wale}) {
    Setting s = setting({Sides(free_slip, dirichlet), dirichlet, periodic});
    const Fields<double> without = run_alone(s, 5);
    s.options.eddy_model = {kind, 0.3};
    const Fields<double> original = run_alone(s, 5);
    EXPECT_NE(original[0], without[0]) << "the model does nothing";
    for (const auto &axes : orders)
      EXPECT_LE(difference(s, axes, original, 5), 5e-13)
          << static_cast<int>(kind) << " as " << axes[0] << axes[1] << axes[2];
  }
}

TEST(Walls, ExchangedAxesExchangeAnOutflow) {
  if (world().rank() != 0)
    return;
  for (const Boundaries &boundaries :
       {Boundaries{dirichlet, periodic, periodic}, Boundaries{dirichlet, dirichlet, periodic},
        Boundaries{dirichlet, dirichlet, free_slip}, Boundaries{dirichlet, dirichlet, dirichlet}}) {
    Setting s = setting(boundaries);
    s.options.acceleration = {}, s.options.coriolis = {}, s.options.linear = 0;
    s.outflow = 0;
    for (ScalarOptions &scalar : s.options.scalars)
      scalar.ends[0][1] = ScalarEnd::convected;
    const Fields<double> original = run_alone(s, 10);
    for (const auto &axes : orders)
      EXPECT_LE(difference(s, axes, original, 10), 5e-13)
          << name(boundaries) << " as " << axes[0] << axes[1] << axes[2];
  }
}

namespace {

/// A flow that is symmetric about the middle of y, of a box of twice this length in y.
Point symmetric(const Point &x, double half) {
  const double s = pi * x[1] / half, c = std::cos(2 * pi * x[0] / lengths[0]), z = std::sin(2 * pi * x[2] / lengths[2]);
  return {std::sin(s / 2) * (1 + 0.3 * c * z), 0.4 * std::sin(s) * c, 0.2 * (1 + std::cos(s)) * (z + 0.4 * c)};
}

/// How much the lower or the upper half of a symmetric flow differs from a flow that has free slip in the middle.
double difference_from_half(std::optional<Stretching> whole, std::optional<Stretching> half, bool upper) {
  const Index3 half_nodes{12, 14, 10};
  const double height = 0.8;
  const auto flow_in = [&](const Sides &sides, std::int64_t ny, double length, std::optional<Stretching> stretching,
                           double start) {
    Setting s{Grid({half_nodes[0], ny, half_nodes[2]}, {lengths[0], length, lengths[2]}, {periodic, sides, periodic},
                   stretching),
              {0.02}};
    s.still = true;
    s.options.acceleration = {0.3, 0, 0};
    s.options.scalars.push_back({0.01, s.grid.boundaries});
    const auto moved = [=](Point x) {
      x[1] += start;
      return x;
    };
    return run<double>(
        s, [&](const Point &x) { return symmetric(moved(x), height); },
        [&](const Point &x) { return symmetric(moved(x), height)[2]; }, alone(), TransposeMethod::alltoall, 20, 0.01);
  };
  const auto two = flow_in(dirichlet, 2 * half_nodes[1] - 1, 2 * height, whole, 0);
  const auto one = flow_in(upper ? Sides(free_slip, dirichlet) : Sides(dirichlet, free_slip), half_nodes[1], height,
                           half, upper ? height : 0);
  double largest = 0;
  for_each_point({{0, 0, 0}, half_nodes}, [&](const Index3 &p, std::int64_t at) {
    const Index3 q{p[0], p[1] + (upper ? half_nodes[1] - 1 : 0), p[2]};
    const std::int64_t there = linear({half_nodes[0], 2 * half_nodes[1] - 1, half_nodes[2]}, q);
    for (std::size_t f = 0; f < one.size(); ++f)
      largest = std::max(largest, std::fabs(one[f][at] - two[f][there]));
  });
  return largest;
}

} // namespace

TEST(Walls, FreeSlipInTheMiddleIsHalfOfASymmetricChannel) {
  if (world().rank() != 0)
    return;
  EXPECT_LE(difference_from_half({}, {}, false), 1e-12);
  EXPECT_LE(difference_from_half({}, {}, true), 1e-12);
  // A mapping to both walls is twice one to the bottom, of half the length and beta; so is one to the centre.
  EXPECT_LE(difference_from_half(Stretching(Where::walls, 0.5), Stretching(Where::bottom, 0.25), false), 1e-12);
  EXPECT_LE(difference_from_half(Stretching(Where::centre, 1.2), Stretching(Where::bottom, 0.6), true), 1e-12);
}

namespace {

Setting all_at_once(const Boundaries &boundaries, std::optional<Stretching> stretching) {
  Setting s = setting(boundaries);
  s.grid = Grid({14, 17, 12}, lengths, boundaries, stretching);
  if (s.grid.periodic(0))
    s.options.flow_rate = {0, 0.4};
  return s;
}

constexpr int few_steps = 5;

/// The fields of `whole`, which one rank has made, on every process grid and by every method.
template <class T> void expect_one_rank(const Setting &s, const Fields<double> &whole, double tolerance) {
  for (const Processes &processes : every_process_grid())
    for (const TransposeMethod method : every_method()) {
      const auto fields = run<T>(
          s, tangled(s.grid), [&](const Point &x) { return s.scalar(x); }, processes, method, few_steps, time_step);
      const Box box = Decomposition(processes, s.grid.nodes).box(Pencil::x);
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const auto expected = part_of(whole[f], s.grid.nodes, box);
        EXPECT_LE(max_difference(fields[f].data(), expected.data(), box.size()), tolerance)
            << "field " << f << ", " << name(s.grid.boundaries) << " on " << name(*processes) << ", "
            << transpose_method_name(method);
      }
    }
}

} // namespace

TEST(Walls, TheSameOnEveryDecomposition) {
  const std::optional<Stretching> none;
  std::vector<Setting> settings{
      all_at_once({periodic, dirichlet, periodic}, Stretching(Where::walls, 0.4)),
      all_at_once({dirichlet, dirichlet, periodic}, Stretching(Where::bottom, 0.7)),
      all_at_once({periodic, Sides(dirichlet, free_slip), dirichlet}, Stretching(Where::centre, 0.9)),
      all_at_once({dirichlet, free_slip, Sides(free_slip, dirichlet)}, Stretching(Where::walls, 0.4)),
      all_at_once({dirichlet, periodic, dirichlet}, none),
      all_at_once({periodic, dirichlet, dirichlet}, none),
      all_at_once({periodic, dirichlet, Sides(free_slip, dirichlet)}, Stretching(Where::bottom, 0.7)),
  };
  for (const int d : {1, 2}) { // outflows in directions that ranks share
    Setting &s = settings[static_cast<std::size_t>(4 + d)];
    s.outflow = 3 - d;
    for (ScalarOptions &scalar : s.options.scalars)
      scalar.ends[static_cast<std::size_t>(3 - d)][1] = ScalarEnd::convected;
  }
  settings[0].options.eddy_model = {EddyModel::Kind::smagorinsky, 0.2};
  settings[3].options.eddy_model = {EddyModel::Kind::wale, 0.5};
  settings.push_back(settings[1]);
  settings.back().outflow = 0;
  settings.back().options.scheme = TimeScheme::ab3;
  for (const Setting &s : settings) {
    const auto whole = run_alone(s, few_steps);
    for (const auto &field : whole)
      EXPECT_GT(max_abs(field), 0.1);
    expect_one_rank<double>(s, whole, 1e-13);
    if (&s == &settings.back())
      expect_one_rank<float>(s, whole, 1e-4);
  }
}

namespace {

/// Noise between ends whose given velocities let in as much as out, but for the balance of an outflow.
double divergence_of_projected_noise(const Setting &s, const Processes &processes) {
  NavierStokes<double> flow(s.grid, s.options, processes, TransposeMethod::alltoall);
  for (int i = 0; i < 3; ++i)
    for_each_point(flow.velocity(i).box(), [&](const Index3 &p, std::int64_t at) {
      flow.velocity(i).data()[at] = noise(p, static_cast<std::uint64_t>(11 + i));
    });
  give(flow, {0, 1, 2});
  if (s.outflow)
    flow.make_outflow(*s.outflow, {}, true);
  EXPECT_GT(flow.max_divergence(), 1) << "nothing to project";
  flow.project();
  double speed = 0;
  for (int i = 0; i < 3; ++i) {
    double largest = 0;
    for (const double each : flow.velocity(i).values())
      largest = std::max(largest, std::fabs(each));
    speed = std::max(speed, world().max(largest));
  }
  EXPECT_GT(speed, 0.2) << "the projection removed the flow";
  for (int d = 0; d < 3; ++d)
    for (const bool upper : {false, true})
      if (!s.grid.periodic(d) && flow.face(d, upper).boundary == dirichlet && !(s.outflow == d && upper)) {
        const Face<double> &face = flow.face(d, upper);
        for_nodes(face, flow.velocity(d).box(), 0, [&](std::int64_t here, std::int64_t at) {
          // At edges the end of a later direction gives another value, which is 0 here.
          EXPECT_NEAR(flow.velocity(d).data()[at], face.value[d].data()[here], 1e-15);
        });
      }
  return flow.max_divergence() * 2.6 / speed;
}

} // namespace

TEST(Walls, ProjectionLeavesNoDivergenceBetweenGivenVelocities) {
  for (const Boundaries &boundaries :
       {Boundaries{periodic, dirichlet, periodic}, Boundaries{dirichlet, dirichlet, periodic},
        Boundaries{periodic, dirichlet, dirichlet}, Boundaries{dirichlet, dirichlet, dirichlet},
        Boundaries{dirichlet, Sides(free_slip, dirichlet), free_slip}})
    for (const auto &stretching :
         {std::optional<Stretching>{}, std::optional(Stretching(Where::centre, 0.6)),
          std::optional(Stretching(Where::walls, 0.4)), std::optional(Stretching(Where::bottom, 0.4))})
      for (const bool outflow : {false, true}) {
        Setting s{Grid(nodes, lengths, boundaries, stretching), {0.02}};
        if (outflow)
          s.outflow = s.grid.periodic(0) ? 1 : 0;
        // Without an outflow the given velocities let in as much as out on a uniform grid, by their symmetry; in
        // x and z of a stretched grid too, because both ends have the same.
        for (const Processes &processes : every_process_grid())
          EXPECT_LE(divergence_of_projected_noise(s, processes), 1e-11)
              << name(boundaries) << " on " << name(*processes) << (stretching ? ", stretched" : "")
              << (outflow ? ", outflow" : "");
      }
}
