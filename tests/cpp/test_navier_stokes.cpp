// The whole solver against exact solutions, against itself with axes exchanged, against mirrored periodic flows, and on
// one rank against many.
#include "support.hpp"
#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numbers>

using namespace tailrace;
using namespace tailrace::test;

namespace {

constexpr double pi = std::numbers::pi;
using Point = std::array<double, 3>;
using Vector = std::function<Point(const Point &)>;

Point position(const Grid &grid, const Index3 &p) {
  Point x;
  for (int d = 0; d < 3; ++d)
    x[d] = grid.spacing(d) * static_cast<double>(p[d]);
  return x;
}

template <class T> void set(NavierStokes<T> &flow, const Vector &u) {
  for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
    const Point value = u(position(flow.grid(), p));
    for (int i = 0; i < 3; ++i)
      flow.velocity(i).data()[at] = static_cast<T>(value[i]);
  });
}

/// Largest difference from `u` over components and ranks.
template <class T> double error(NavierStokes<T> &flow, const Vector &u) {
  double largest = 0;
  for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
    const Point exact = u(position(flow.grid(), p));
    for (int i = 0; i < 3; ++i) {
      const double e = std::fabs(static_cast<double>(flow.velocity(i).data()[at]) - exact[i]);
      largest = std::isnan(e) ? INFINITY : std::max(largest, e);
    }
  });
  return world().max(largest);
}

double pressure_error(NavierStokes<double> &flow, const std::function<double(const Point &)> &exact) {
  const Box box = flow.velocity(0).box();
  std::vector<double> p(static_cast<std::size_t>(box.size())), expected(p.size());
  flow.pressure(p.data());
  for_each_point(box, [&](const Index3 &at, std::int64_t i) { expected[i] = exact(position(flow.grid(), at)); });
  return max_difference(p.data(), expected.data(), box.size());
}

/// The two-dimensional Taylor-Green vortex in the plane of directions a and b, wave numbers k and l:
/// an exact solution that decays with exp(-nu (k^2 + l^2) t).
struct PlaneVortex {
  int a, b;
  double k, l, viscosity;

  double decay(double t) const { return std::exp(-viscosity * (k * k + l * l) * t); }
  Vector velocity(double t) const {
    return [*this, t](const Point &x) {
      Point u{};
      u[a] = decay(t) * l * std::sin(k * x[a]) * std::cos(l * x[b]);
      u[b] = -decay(t) * k * std::cos(k * x[a]) * std::sin(l * x[b]);
      return u;
    };
  }
  double pressure(const Point &x, double t) const {
    const double d = decay(t);
    return d * d * (l * l * std::cos(2 * k * x[a]) + k * k * std::cos(2 * l * x[b])) / 4;
  }
};

/// A grid that holds the vortex: periodic directions one wave long, free-slip ones half a wave.
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

/// visit(vortex, grid) for every plane, both ways round, and every boundary.
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
    // The flow changes by 2e-2; errors in space at 24 points a wave are 4e-7.
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
    // The last stage's pressure is one of the time within the step: an error of a third of dt dp/dt = 2.6e-4.
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
    // Multi-step schemes report the pressure of the step's beginning: dt dp/dt = 2.6e-4.
    EXPECT_LE(pressure_error(flow, [&](const Point &x) { return vortex.pressure(x, 5e-3); }), 3.5e-4)
        << static_cast<int>(scheme);
    EXPECT_EQ(flow.steps(), 5);
  }
}

namespace {

/// The Arnold-Beltrami-Childress flow of wave number k, all coefficients different: curl u = k u, so that it decays
/// with exp(-nu k^2 t), the nonlinear term being all pressure, p = <u^2> / 2 - u^2 / 2.
Vector beltrami(double k, double amplitude) {
  return [=](const Point &x) {
    const double a = amplitude, b = 0.7 * amplitude, c = 0.43 * amplitude;
    return Point{a * std::sin(k * x[2]) + c * std::cos(k * x[1]), b * std::sin(k * x[0]) + a * std::cos(k * x[2]),
                 c * std::sin(k * x[1]) + b * std::cos(k * x[0])};
  };
}

/// Boxes of one, two and three waves in some order.
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
    EXPECT_LE(pressure_error(flow, pressure_at(decay)), 1e-3); // dt dp/dt
  }
}

namespace {

/// A smooth flow without any symmetry but that of free-slip boundaries, for waves of these lengths; not
/// divergence-free.
Vector tangled(const Grid &grid) {
  return [grid](const Point &x) {
    double c[3], s[3], c2[3]; // cosines are even about free-slip boundaries, sines odd
    for (int d = 0; d < 3; ++d) {
      const bool periodic = grid.periodic(d);
      const double phase = (periodic ? 2 : 1) * pi * x[d] / grid.lengths[d] + (periodic ? 0.3 + d : 0);
      c[d] = std::cos(phase), s[d] = std::sin(phase), c2[d] = std::cos(2 * phase);
    }
    return Point{s[0] * c[1] * (1 + 0.5 * c2[2]) + 0.3 * s[0] * c[2], -0.8 * c[0] * s[1] * c[2] + 0.4 * s[1] * c2[0],
                 0.6 * c[0] * c[1] * s[2] - 0.3 * s[2] * c2[1]};
  };
}

/// The function of (x, y, z) whose axes are exchanged: direction d of the result is direction axes[d] of the original.
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

/// The flow by itself on this rank, after some steps.
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

TEST(NavierStokes, ExchangedAxesExchangeTheResult) {
  if (world().rank() != 0)
    return; // nothing here is parallel
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

TEST(NavierStokes, FreeSlipIsHalfOfAMirroredPeriodicFlow) {
  if (world().rank() != 0)
    return;
  const Index3 cells{10, 12, 9};
  const Point lengths{1.0, 1.4, 0.8};
  const std::array<Boundary, 3> all_free{Boundary::free_slip, Boundary::free_slip, Boundary::free_slip};
  const Grid octant({cells[0] + 1, cells[1] + 1, cells[2] + 1}, lengths, all_free);
  const Vector u = tangled(octant); // sines and cosines continue it as the mirror would
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

const Index3 odd_nodes{24, 18, 20};
const Point odd_lengths{2.0, 1.5, 1.8};

/// Largest difference from one rank after some steps, over all components and ranks.
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

TEST(NavierStokes, TheSameOnEveryDecomposition) {
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

TEST(NavierStokes, TheSameByEveryMethodAndScheme) {
  const Grid grid(odd_nodes, odd_lengths, {Boundary::free_slip, Boundary::periodic, Boundary::periodic});
  for (const TimeScheme scheme : {TimeScheme::euler, TimeScheme::ab3, TimeScheme::rk3}) {
    const State whole = run_alone(grid, tangled(grid), 50, 0.01, scheme);
    for (const Processes &processes : every_process_grid())
      for (const TransposeMethod method : every_method())
        EXPECT_LE(difference_from_one_rank(grid, processes, method, scheme, whole), 1e-13) << name(*processes);
  }
}

TEST(NavierStokes, PressureTheSameOnEveryDecomposition) {
  const Grid grid({17, 13, 15}, odd_lengths, {Boundary::free_slip, Boundary::periodic, Boundary::periodic});
  const auto pressures = [&](const Processes &processes, TransposeMethod method) {
    NavierStokes<double> flow(grid, {0.01}, processes, method);
    set(flow, tangled(grid));
    const auto size = static_cast<std::size_t>(flow.velocity(0).size());
    std::array<std::vector<double>, 2> p{std::vector<double>(size), std::vector<double>(size)};
    flow.pressure(p[0].data()); // before the first step, and after some
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
        EXPECT_LE(max_difference(found[when].data(), expected.data(), box.size()), 2e-12) // of order ten
            << (when == 0 ? "before, " : "after, ") << name(*processes);
      }
    }
}

TEST(NavierStokes, DivergenceVanishesAfterEveryStep) {
  for (const auto &boundaries : every_flow_boundary()) {
    const Grid grid({13, 16, 11}, odd_lengths, boundaries);
    NavierStokes<double> flow(grid, {0.01}, every_process_grid().back(), TransposeMethod::alltoall);
    set(flow, tangled(grid)); // of order one, and far from divergence-free
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
  EXPECT_LE(largest, 1e-15); // sin(pi) in the initial field is not quite zero
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

TEST(NavierStokes, RefusesDirichletOnEveryRank) {
  const Grid grid(odd_nodes, odd_lengths, {Boundary::periodic, Boundary::dirichlet, Boundary::periodic});
  EXPECT_THROW(NavierStokes<double>(grid, {0.01}, every_process_grid().back(), TransposeMethod::alltoall), InputError);
}

namespace {

struct Vortex {
  Grid grid;
  Processes processes;
  NavierStokes<double> flow;
  Diagnostics<double> diagnostics;

  Vortex(const Grid &g, double viscosity, const Processes &p)
      : grid(g), processes(p), flow(g, {viscosity}, p, TransposeMethod::alltoall),
        diagnostics(flow, p, TransposeMethod::alltoall) {}
};

/// Modified wave numbers, squared, of waves of number one and spacing h: of the first and the second derivative.
double first_square(double h) {
  const double k = compact_scheme(Operation::first_derivative, h).response(h);
  return k * k;
}
double second_square(double h) { return -compact_scheme(Operation::second_derivative, h).response(h); }

Point taylor_green(const Point &x) {
  return {std::sin(x[0]) * std::cos(x[1]) * std::cos(x[2]), -std::cos(x[0]) * std::sin(x[1]) * std::cos(x[2]), 0};
}

} // namespace

TEST(Diagnostics, NumbersOfTheTaylorGreenVortex) {
  const double viscosity = 1.0 / 1600, dt = 0.01;
  for (const auto &boundaries : every_flow_boundary())
    for (const Processes &processes : every_process_grid()) {
      Index3 nodes{20, 28, 24};
      Point sides;
      for (int d = 0; d < 3; ++d) {
        const bool periodic = boundaries[d] == Boundary::periodic;
        nodes[d] = periodic ? nodes[d] : nodes[d] / 2 + 1;
        sides[d] = periodic ? 2 * pi : pi;
      }
      Vortex v(Grid(nodes, sides, boundaries), viscosity, processes);
      set(v.flow, taylor_green);
      const FlowNumbers numbers = v.diagnostics.numbers(dt);
      const double hx = v.grid.spacing(0), hy = v.grid.spacing(1), hz = v.grid.spacing(2);
      const double kx = std::sqrt(first_square(hx)), ky = std::sqrt(first_square(hy)), kz = std::sqrt(first_square(hz));
      // The analytic values with the modified wave numbers kx, ky, kz in place of 1: exact on any grid.
      const double enstrophy = (2 * kz * kz + (kx + ky) * (kx + ky)) / 16;
      const double strain = (2 * kx * kx + 2 * ky * ky + (kx - ky) * (kx - ky) + 2 * kz * kz) / 16;
      const double laplacian = viscosity * (second_square(hx) + second_square(hy) + second_square(hz)) / 4;
      EXPECT_NEAR(numbers.kinetic_energy, 0.125, 1e-15) << name(boundaries);
      EXPECT_NEAR(numbers.enstrophy, enstrophy, 1e-14) << name(boundaries);
      EXPECT_NEAR(numbers.dissipation, 2 * viscosity * strain, 1e-16) << name(boundaries);
      EXPECT_NEAR(numbers.dissipation_laplacian, laplacian, 1e-16) << name(boundaries);
      // And those are the analytic ones to sixth order: 20 points per wave leave 3e-7.
      EXPECT_NEAR(numbers.enstrophy, 0.375, 1e-6);
      EXPECT_NEAR(numbers.dissipation, 2 * viscosity * 0.375, 1e-6 * viscosity);
      EXPECT_NEAR(numbers.dissipation_laplacian, 2 * viscosity * 0.375, 1e-6 * viscosity);
      EXPECT_NEAR(numbers.max_divergence, v.flow.max_divergence(), 0);
      // |sin x cos y| / hx + |cos x sin y| / hy is largest at (pi/2, 0) or (0, pi/2), nodes of all these grids.
      EXPECT_NEAR(numbers.cfl, dt / std::min(hx, hy), 1e-12) << name(boundaries);
    }
}

TEST(Diagnostics, NamesTheDirectionsOfTheVorticity) {
  // u = (f(z), g(x), h(y)) with three different amplitudes: one derivative in each component of the vorticity.
  const Grid grid({20, 28, 24}, {2 * pi, 2 * pi, 2 * pi}, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
  const auto shear = [](const Point &x) { return Point{std::sin(x[2]), 2 * std::sin(x[0]), 3 * std::sin(x[1])}; };
  for (const Processes &processes : every_process_grid()) {
    Vortex v(grid, 0.01, processes);
    set(v.flow, shear);
    const Box box = v.flow.velocity(0).box();
    std::vector<double> found(static_cast<std::size_t>(box.size())), exact(found.size());
    const auto expect = [&](const std::string &field, const std::function<double(double, double, double)> &value) {
      v.diagnostics.derive(field, found.data());
      for_each_point(box, [&](const Index3 &p, std::int64_t at) {
        const Point x = position(grid, p);
        exact[at] = value(3 * std::cos(x[1]), std::cos(x[2]), 2 * std::cos(x[0]));
      });
      EXPECT_LE(max_difference(found.data(), exact.data(), box.size()), 3e-6)
          << field; // sixth order at 20 points a wave
    };
    expect("vorticity_x", [](double x, double, double) { return x; });
    expect("vorticity_y", [](double, double y, double) { return y; });
    expect("vorticity_z", [](double, double, double z) { return z; });
    expect("vorticity", [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); });
    // |w|^2 / 4 - |S|^2 / 2 with S_xy = z / 2, S_xz = y / 2, S_yz = x / 2: all cancels but nothing is zero.
    expect("q", [](double, double, double) { return 0.0; });
    EXPECT_THROW(v.diagnostics.derive("vorticity_w", found.data()), InputError);
  }
}

TEST(Diagnostics, QOfThePlaneVortex) {
  // A Taylor-Green plane: Q = -du_i/dx_j du_j/dx_i / 2 = -(u_x^2 + v_y^2 + 2 u_y v_x) / 2.
  const Grid grid({24, 30, 9}, {2 * pi, 2 * pi, 1}, {Boundary::periodic, Boundary::periodic, Boundary::free_slip});
  Vortex v(grid, 0.01, every_process_grid().back());
  set(v.flow, PlaneVortex{0, 1, 1, 1, 0.01}.velocity(0));
  const Box box = v.flow.velocity(0).box();
  std::vector<double> q(static_cast<std::size_t>(box.size())), exact(q.size());
  v.diagnostics.derive("q", q.data());
  for_each_point(box, [&](const Index3 &p, std::int64_t at) {
    const Point x = position(grid, p);
    const double cc = std::cos(x[0]) * std::cos(x[1]), ss = std::sin(x[0]) * std::sin(x[1]);
    exact[at] = ss * ss - cc * cc;
  });
  EXPECT_LE(max_difference(q.data(), exact.data(), box.size()), 6e-7);
}

TEST(Diagnostics, FollowTheFlowOnlyWhenTold) {
  const Grid grid({12, 10, 14}, {2 * pi, 2 * pi, 2 * pi}, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
  Vortex v(grid, 0.01, every_process_grid().back());
  set(v.flow, taylor_green);
  const Box box = v.flow.velocity(0).box();
  std::vector<double> before(static_cast<std::size_t>(box.size())), after(before.size());
  v.diagnostics.derive("vorticity_z", before.data());
  for (int i = 0; i < 3; ++i)
    for (double &value : v.flow.velocity(i).values())
      value *= 2;
  v.diagnostics.invalidate();
  v.diagnostics.derive("vorticity_z", after.data());
  for (double &value : before)
    value *= 2;
  EXPECT_LE(max_difference(after.data(), before.data(), box.size()), 1e-14);
  // The sum of squares grows by four, whatever was asked before.
  const double enstrophy = v.diagnostics.numbers(0.1).enstrophy;
  set(v.flow, taylor_green);
  EXPECT_NEAR(v.diagnostics.numbers(0.1).enstrophy, enstrophy / 4, 1e-14);
}

TEST(Diagnostics, EnergyBalancesDissipation) {
  // dE/dt over one small step against both dissipations, in a flow with all boundary kinds.
  const Grid grid({32, 33, 30}, {2 * pi, pi, 2 * pi}, {Boundary::periodic, Boundary::free_slip, Boundary::periodic});
  Vortex v(grid, 0.02, every_process_grid().back());
  set(v.flow, taylor_green);
  const double dt = 1e-3;
  v.flow.step(dt);
  const FlowNumbers first = v.diagnostics.numbers(dt);
  v.flow.step(dt);
  v.diagnostics.invalidate();
  const FlowNumbers middle = v.diagnostics.numbers(dt);
  v.flow.step(dt);
  v.diagnostics.invalidate();
  const FlowNumbers last = v.diagnostics.numbers(dt);
  const double loss = (first.kinetic_energy - last.kinetic_energy) / (2 * dt);
  EXPECT_NEAR(loss, middle.dissipation, 2e-6 * middle.dissipation);
  EXPECT_NEAR(loss, middle.dissipation_laplacian, 2e-6 * middle.dissipation);
}

TEST(Diagnostics, FindsTheBadPoint) {
  const Grid grid({12, 10, 14}, odd_lengths, {Boundary::periodic, Boundary::free_slip, Boundary::periodic});
  const auto plant = [&](Vortex &v, int component, const Index3 &where, double value) {
    for_each_point(v.flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
      if (p == where)
        v.flow.velocity(component).data()[at] = value;
    });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const Processes &processes : every_process_grid())
    for (const Index3 &where : {Index3{0, 0, 0}, Index3{11, 9, 13}, Index3{5, 7, 3}, Index3{2, 1, 12}})
      for (const int component : {0, 1, 2})
        for (const double value : {nan, infinity, -infinity}) {
          Vortex v(grid, 0.01, processes);
          set(v.flow, tangled(grid));
          EXPECT_FALSE(v.diagnostics.find_bad_point().has_value());
          plant(v, component, where, value);
          const auto found = v.diagnostics.find_bad_point();
          ASSERT_TRUE(found.has_value());
          EXPECT_EQ(found->component, component);
          EXPECT_EQ(found->node, where);
        }
}

TEST(Diagnostics, TheLowestRankNamesTheBadPoint) {
  const Grid grid({12, 10, 14}, odd_lengths, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
  for (const Processes &processes : every_process_grid()) {
    Vortex v(grid, 0.01, processes);
    set(v.flow, tangled(grid));
    v.flow.velocity(2)(3, 0, 1) = NAN; // the same local point on every rank
    const auto found = v.diagnostics.find_bad_point();
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->component, 2);
    EXPECT_EQ(found->node, (Index3{3, 0, 1})); // rank 0's
  }
}
