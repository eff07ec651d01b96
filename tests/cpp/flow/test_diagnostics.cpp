// Compares the diagnostics of a flow with exact values.
#include "flow/flows.hpp"
#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <limits>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

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

/// Squared modified wave numbers of the first and the second derivative, for waves of wave number 1 and spacing h.
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
      const VolumeAverages numbers = v.diagnostics.averages(dt);
      const double hx = v.grid.spacing(0), hy = v.grid.spacing(1), hz = v.grid.spacing(2);
      const double kx = std::sqrt(first_square(hx)), ky = std::sqrt(first_square(hy)), kz = std::sqrt(first_square(hz));
      // The analytic values with the modified wave numbers kx, ky, kz in place of 1 are exact on any grid.
      const double enstrophy = (2 * kz * kz + (kx + ky) * (kx + ky)) / 16;
      const double strain = (2 * kx * kx + 2 * ky * ky + (kx - ky) * (kx - ky) + 2 * kz * kz) / 16;
      const double laplacian = viscosity * (second_square(hx) + second_square(hy) + second_square(hz)) / 4;
      EXPECT_NEAR(numbers.kinetic_energy, 0.125, 1e-15) << name(boundaries);
      EXPECT_NEAR(numbers.enstrophy, enstrophy, 1e-14) << name(boundaries);
      EXPECT_NEAR(numbers.dissipation, 2 * viscosity * strain, 1e-16) << name(boundaries);
      EXPECT_NEAR(numbers.dissipation_laplacian, laplacian, 1e-16) << name(boundaries);
      // They agree with the analytic values to sixth order: the error with 20 points per wave is 3e-7.
      EXPECT_NEAR(numbers.enstrophy, 0.375, 1e-6);
      EXPECT_NEAR(numbers.dissipation, 2 * viscosity * 0.375, 1e-6 * viscosity);
      EXPECT_NEAR(numbers.dissipation_laplacian, 2 * viscosity * 0.375, 1e-6 * viscosity);
      EXPECT_NEAR(numbers.max_divergence, v.flow.max_divergence(), 0);
      // |sin x cos y| / hx + |cos x sin y| / hy is largest at (pi/2, 0) or (0, pi/2), nodes of all these grids.
      EXPECT_NEAR(numbers.cfl, dt / std::min(hx, hy), 1e-12) << name(boundaries);
    }
}

TEST(Diagnostics, CflIsTheSumOverAllDirections) {
  // Each velocity and spacing is its own, and of one direction it is negative: no other combination gives this number.
  const Grid grid(odd_nodes, odd_lengths, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
  const Point u{1.5, -2.0, 0.75};
  const double dt = 0.01;
  for (const Processes &processes : every_process_grid()) {
    Vortex v(grid, 0.01, processes);
    set(v.flow, [&](const Point &) { return u; });
    double sum = 0;
    for (int d = 0; d < 3; ++d)
      sum += std::fabs(u[static_cast<std::size_t>(d)]) / grid.spacing(d);
    EXPECT_NEAR(v.diagnostics.averages(dt).cfl, sum * dt, 1e-14);
    // One point that is twice as fast counts, on any rank.
    for_each_point(v.flow.velocity(1).box(), [&](const Index3 &p, std::int64_t at) {
      if (p == Index3{odd_nodes[0] - 1, odd_nodes[1] - 1, odd_nodes[2] - 1})
        for (int i = 0; i < 3; ++i)
          v.flow.velocity(i).data()[at] *= 2;
    });
    EXPECT_NEAR(v.diagnostics.averages(dt).cfl, 2 * sum * dt, 1e-14);
  }
}

namespace {

/// Averages of products of derivatives, computed with one derivative at a time and one point at a time.
template <class T> struct PlainAverages {
  NavierStokes<T> &flow;
  Operators<T> operators;

  PlainAverages(NavierStokes<T> &f, const Processes &processes)
      : flow(f), operators(f.grid(), processes, TransposeMethod::alltoall, f.options().interpolation) {}

  std::vector<T> derivative(Operation operation, int i, int d) {
    std::vector<T> out(static_cast<std::size_t>(flow.velocity(i).size()));
    operators.apply(operation, d, i == d ? Parity::odd : Parity::even, {false, false, false}, flow.velocity(i).data(),
                    out.data());
    return out;
  }
  /// The trapezoidal average of value(point).
  template <class Value> double average(Value value) const {
    const Grid &grid = flow.grid();
    long double sum = 0;
    for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
      double weight = 1;
      for (int d = 0; d < 3; ++d)
        weight *= !grid.periodic(d) && (p[d] == 0 || p[d] == grid.nodes[d] - 1) ? 0.5 : 1.0;
      sum += weight * static_cast<long double>(value(static_cast<std::size_t>(at)));
    });
    return world().sum(static_cast<double>(sum)) / static_cast<double>(product(grid.cells()));
  }
  VolumeAverages averages() {
    VolumeAverages result{};
    std::vector<T> g[3][3];
    const double nu = flow.options().viscosity;
    for (int i = 0; i < 3; ++i)
      for (int d = 0; d < 3; ++d) {
        g[i][d] = derivative(Operation::first_derivative, i, d);
        const auto second = derivative(Operation::second_derivative, i, d);
        result.dissipation_laplacian -=
            nu * average([&](std::size_t p) {
              return static_cast<double>(flow.velocity(i).data()[p]) * static_cast<double>(second[p]);
            });
      }
    for (int i = 0; i < 3; ++i) {
      result.kinetic_energy += average([&](std::size_t p) { return 0.5 * std::pow(flow.velocity(i).data()[p], 2.0); });
      const int j = (i + 1) % 3;
      result.enstrophy += average([&](std::size_t p) {
        return 0.5 * std::pow(static_cast<double>(g[i][j][p]) - static_cast<double>(g[j][i][p]), 2);
      });
      for (int d = 0; d < 3; ++d)
        result.dissipation +=
            nu * average([&](std::size_t p) {
              return 0.5 * std::pow(static_cast<double>(g[i][d][p]) + static_cast<double>(g[d][i][p]), 2);
            });
    }
    return result;
  }
};

template <class T> void expect_plain_averages(const Grid &grid, const Processes &processes, TransposeMethod method) {
  NavierStokes<T> flow(grid, {0.01}, processes, method);
  set(flow, tangled(grid));
  Diagnostics<T> diagnostics(flow, processes, method);
  const VolumeAverages found = diagnostics.averages(0.1), exact = PlainAverages<T>(flow, processes).averages();
  const auto expect = [](double value, double plain) { EXPECT_NEAR(value, plain, 1e-15 * plain); };
  expect(found.kinetic_energy, exact.kinetic_energy);
  expect(found.dissipation, exact.dissipation);
  expect(found.dissipation_laplacian, exact.dissipation_laplacian);
  expect(found.enstrophy, exact.enstrophy);
}

} // namespace

TEST(Diagnostics, AverageLikeSingleDerivativesAndPoints) {
  for (const auto &boundaries : every_flow_boundary())
    for (const Processes &processes : every_process_grid())
      for (const TransposeMethod method : every_method()) {
        const Grid grid(odd_nodes, odd_lengths, boundaries);
        expect_plain_averages<double>(grid, processes, method);
        expect_plain_averages<float>(grid, processes, method);
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
          << field; // the scheme has sixth order, with 20 points per wave
    };
    expect("vorticity_x", [](double x, double, double) { return x; });
    expect("vorticity_y", [](double, double y, double) { return y; });
    expect("vorticity_z", [](double, double, double z) { return z; });
    expect("vorticity", [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); });
    // |w|^2 / 4 - |S|^2 / 2 with S_xy = z / 2, S_xz = y / 2, S_yz = x / 2: the sum is zero, but no term is zero.
    expect("q", [](double, double, double) { return 0.0; });
    EXPECT_THROW(v.diagnostics.derive("vorticity_w", found.data()), InputError);
  }
}

TEST(Diagnostics, QOfThePlaneVortex) {
  // In a Taylor-Green plane, Q = -du_i/dx_j du_j/dx_i / 2 = -(u_x^2 + v_y^2 + 2 u_y v_x) / 2.
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
  // The enstrophy becomes four times as large, independent of the earlier calls.
  const double enstrophy = v.diagnostics.averages(0.1).enstrophy;
  set(v.flow, taylor_green);
  EXPECT_NEAR(v.diagnostics.averages(0.1).enstrophy, enstrophy / 4, 1e-14);
}

TEST(Diagnostics, EnergyBalancesDissipation) {
  // Compares dE/dt over one small step with both dissipations, in a flow with all kinds of boundaries.
  const Grid grid({32, 33, 30}, {2 * pi, pi, 2 * pi}, {Boundary::periodic, Boundary::free_slip, Boundary::periodic});
  Vortex v(grid, 0.02, every_process_grid().back());
  set(v.flow, taylor_green);
  const double dt = 1e-3;
  v.flow.step(dt);
  const VolumeAverages first = v.diagnostics.averages(dt);
  v.flow.step(dt);
  v.diagnostics.invalidate();
  const VolumeAverages middle = v.diagnostics.averages(dt);
  v.flow.step(dt);
  v.diagnostics.invalidate();
  const VolumeAverages last = v.diagnostics.averages(dt);
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
    EXPECT_EQ(found->node, (Index3{3, 0, 1})); // the point of rank 0
  }
}
