#include "flows.hpp"
#include <tailrace/flow/control_volume.hpp>
#include <tailrace/ops/operators.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::test;

namespace {

const Boundaries mixed(Boundary::dirichlet, Sides(Boundary::free_slip, Boundary::dirichlet), Boundary::periodic);
const Boundaries periodic(Boundary::periodic, Boundary::periodic, Boundary::periodic);

/// A slab from a to b along direction d; where a > b it goes on beyond the end of a periodic direction.
Indicator slab(int d, double a, double b) {
  return [=](std::span<const double> x, std::span<const double> y, std::span<const double> z,
             std::span<std::uint8_t> inside) {
    const std::span<const double> along[3] = {x, y, z};
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const double at = along[d][i];
      inside[i] = a < b ? at > a && at < b : at > a || at < b;
    }
  };
}

/// The lines of a pencil along d, with f at all nodes; solid nodes are replaced by something else.
template <class T, class Function>
std::vector<std::vector<T>> rebuilt_lines(const Grid &grid, const Body<T> &body, const Decomposition &nodes, int d,
                                          Function f) {
  const Box box = nodes.box(static_cast<Pencil>(d));
  const std::vector<double> x = grid.coordinates(d);
  const Lines lines = Lines::along(d, box.count);
  std::vector<std::vector<T>> all;
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    std::vector<T> values;
    for (const double at : x)
      values.push_back(static_cast<T>(f(at)));
    body.along(d).rebuild(line, values.data(), 1);
    all.push_back(values);
  }
  return all;
}

} // namespace

/// Where entry and exit are found without error, a polynomial that is zero there is rebuilt without error, up to the
/// degree that two nodes on either side allow.
TEST(Body, RebuildsPolynomials) {
  const Grid grid({17, 19, 16}, {2.0, 1.7, 1.5}, mixed, Stretching{Stretching::Where::walls, 0.4});
  for (const Processes &processes : every_process_grid()) {
    const Decomposition nodes(processes, grid.nodes);
    for (int d = 0; d < 3; ++d) {
      // Halfway between two points of the finer mesh, which has 4 points for each node.
      Grid finer = grid;
      finer.nodes[d] = grid.cells()[d] * 4 + (grid.periodic(d) ? 0 : 1);
      const std::vector<double> fine = finer.coordinates(d);
      const double a = (fine[22] + fine[23]) / 2, b = (fine[40] + fine[41]) / 2;
      const Body<double> body(grid, nodes, slab(d, a, b), 4);
      const auto f = [&](double x) { return (x - a) * (x - b) * (1 + x * (0.5 - x * (0.7 + 0.3 * x))); };
      const std::vector<double> x = grid.coordinates(d);
      int solid = 0;
      const auto with_holes = [&](double at) {
        const bool inside = at > a && at < b;
        solid += inside;
        return inside ? 1e3 : f(at);
      };
      for (const auto &line : rebuilt_lines(grid, body, nodes, d, with_holes))
        for (std::size_t i = 0; i < x.size(); ++i)
          EXPECT_NEAR(line[i], f(x[i]), 1e-12) << "node " << i << " in " << "xyz"[d];
      EXPECT_GT(solid, 0);
    }
  }
}

/// The same beyond the end of a periodic direction, where the polynomial goes on from the last nodes to the first.
TEST(Body, GoesOnBeyondPeriodicEnds) {
  const Grid grid({16, 12, 14}, {1.6, 1.2, 1.4}, periodic);
  const Decomposition nodes(every_process_grid().front(), grid.nodes);
  for (int d = 0; d < 3; ++d) {
    const double length = grid.lengths[d], a = length - 0.1625, b = 0.1375, middle = (a + b + length) / 2;
    const Body<double> body(grid, nodes, slab(d, a, b), 4);
    const auto f = [&](double x) { // a polynomial of the place on the other side of the end
      const double s = x < length / 2 ? x + length - middle : x - middle, half = (b + length - a) / 2;
      return (s * s - half * half) * (1 + s);
    };
    const auto inside = [&](double x) { return x > a || x < b; };
    const auto with_holes = [&](double x) { return inside(x) ? 1e3 : f(x); };
    for (const auto &line : rebuilt_lines(grid, body, nodes, d, with_holes))
      for (std::size_t i = 0; i < line.size(); ++i) {
        const double x = grid.coordinates(d)[i];
        EXPECT_NEAR(line[i], f(x), 1e-12) << "node " << i << " in " << "xyz"[d];
      }
  }
}

/// Lines that are solid throughout are zero, and so is what the divergence sees.
TEST(Body, MaskIsTheIndicator) {
  const Grid grid({16, 12, 14}, {1.6, 1.2, 1.4}, periodic);
  const Decomposition nodes(every_process_grid().back(), grid.nodes);
  const Body<float> body(grid, nodes, slab(1, 0.25, 0.65), 10);
  const Box box = nodes.box(Pencil::x);
  for_each_point(box, [&](const Index3 &p, std::int64_t at) {
    EXPECT_EQ(body.solid().data()[at], p[1] >= 3 && p[1] <= 6) << p[1];
  });
  for (std::int64_t line = 0; line < box.count[1] * box.count[2]; ++line)
    for (const auto *lines : {&body.mask(), &body.along(0)}) {
      std::vector<float> values(16, 1);
      lines->rebuild(line, values.data(), 1);
      const std::int64_t y = box.start[1] + line % box.count[1];
      EXPECT_EQ(values, std::vector<float>(16, y >= 3 && y <= 6 ? 0.0F : 1.0F));
    }
}

TEST(Body, RefusesWhatIsNoBody) {
  const Grid grid({16, 12, 14}, {1.6, 1.2, 1.4}, periodic);
  const Decomposition nodes(every_process_grid().front(), grid.nodes);
  EXPECT_THROW(Body<double>(grid, nodes, slab(0, 0.31, 0.32), 10), InputError);
  EXPECT_THROW(Body<double>(grid, nodes, slab(0, 0.31, 0.72), 0), InputError);
  const Indicator fails = [&](auto...) {
    if (world().rank() == world().size() - 1)
      throw InputError("the last rank fails");
  };
  EXPECT_THROW(Body<double>(grid, nodes, fails, 10), InputError); // on all ranks
}

/// Where rebuilding changes nothing, lines of a body give what all other lines give, whatever the ends and the scheme.
TEST(Body, ItsPathIsTheKernel) {
  const Stretching stretching{Stretching::Where::bottom, 0.4};
  const Boundaries slip(Boundary::free_slip, Boundary::free_slip, Boundary::free_slip);
  for (const Grid &grid :
       {Grid({17, 19, 16}, {2.0, 1.7, 1.5}, mixed, stretching), Grid({17, 19, 16}, {2, 1.7, 1.5}, slip)})
    for (const auto &dissipation : {std::optional<Hyperviscosity>{}, std::optional<Hyperviscosity>{{4, 0.44}}})
      for (int d = 0; d < 3; ++d) {
        const Lines lines = Lines::along(d, grid.nodes);
        SolidLines<double> solid(grid.nodes[d]);
        for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line)
          solid.add_line(line / 5 % 11 != 3 ? std::vector<SolidLines<double>::Stretch>{}
                                            : std::vector<SolidLines<double>::Stretch>{{5, 1, 1, {5}, {1.0}}});
        std::array<std::vector<double>, 3> u, with, without;
        for (int i = 0; i < 3; ++i) {
          const auto size = static_cast<std::size_t>(product(grid.nodes));
          u[i].resize(size), with[i].resize(size), without[i].resize(size);
          for_each_point(Box{{}, grid.nodes}, [&](const Index3 &p, std::int64_t at) {
            const bool end = !grid.periodic(i) && (p[i] == 0 || p[i] == grid.nodes[i] - 1);
            u[i][static_cast<std::size_t>(at)] = end ? 0 : noise(p, 7 + i);
          });
        }
        const ConvectionDiffusion<double> terms(grid, d, 0.03, dissipation);
        const std::array<const double *, 3> in{u[0].data(), u[1].data(), u[2].data()};
        terms.sweep(lines, in, StoreTo<double, 3>{{without[0].data(), without[1].data(), without[2].data()}});
        terms.sweep(lines, in, StoreTo<double, 3>{{with[0].data(), with[1].data(), with[2].data()}}, &solid, 0);
        for (int i = 0; i < 3; ++i) {
          double largest = 0, difference = 0;
          for (std::size_t p = 0; p < u[i].size(); ++p) {
            largest = std::max(largest, std::fabs(without[i][p]));
            difference = std::max(difference, std::fabs(with[i][p] - without[i][p]));
          }
          EXPECT_LT(difference, 1e-12 * largest) << "component " << i << " along " << "xyz"[d];
        }
      }
}

/// Without a body the derivatives are those of the operators, of both orders, also where nodes are stretched.
TEST(VelocityDerivatives, AreThoseOfOperators) {
  const Grid grid({17, 19, 16}, {2.0, 1.7, 1.5}, {Boundary::periodic, Sides(Boundary::dirichlet), Boundary::periodic},
                  Stretching{Stretching::Where::walls, 0.4});
  for (const Processes &processes : every_process_grid()) {
    NavierStokes<double> flow(grid, {0.02}, processes, every_method().back());
    for (int i = 0; i < 3; ++i)
      for_each_point(flow.velocity(i).box(),
                     [&](const Index3 &p, std::int64_t at) { flow.velocity(i).data()[at] = noise(p, 3 + i); });
    VelocityDerivatives<double> derivative(flow);
    Operators<double> operators(grid, processes, every_method().back(), Interpolation::aggressive);
    std::vector<double> expected(static_cast<std::size_t>(flow.velocity(0).size()));
    for (const Operation operation : {Operation::first_derivative, Operation::second_derivative})
      for (int i = 0; i < 3; ++i)
        for (int d = 0; d < 3; ++d) {
          operators.combine({{0, 0, d, operation, i == d ? Parity::odd : Parity::even, 1}}, {flow.velocity(i).data()},
                            {expected.data()});
          const double *found = derivative(i, d, operation);
          double difference = 0, largest = 0;
          for (std::size_t p = 0; p < expected.size(); ++p) {
            difference = std::max(difference, std::fabs(found[p] - expected[p]));
            largest = std::max(largest, std::fabs(expected[p]));
          }
          EXPECT_LT(difference, 1e-11 * largest)
              << "component " << i << " along " << "xyz"[d] << " on " << name(*processes);
        }
  }
}

/// A vortex that decays, without a body: the force is zero, to second order in the distance of nodes.
TEST(ControlVolume, BalancesMomentum) {
  std::array<double, 2> errors{};
  for (const int factor : {1, 2}) {
    const Grid grid({24 * factor, 20 * factor, 8}, {2.0, 1.5, 1.8}, periodic);
    const PlaneVortex vortex{0, 1, 2 * pi / 2.0, 2 * pi / 1.5, 0.02};
    FlowOptions options{0.02};
    options.acceleration = {0.3, 0, -0.1};
    NavierStokes<double> flow(grid, options, every_process_grid().back(), every_method().back());
    Diagnostics<double> diagnostics(flow, every_process_grid().back(), every_method().back());
    set(flow, vortex.velocity(0));
    const Index3 first{3 * factor, 2 * factor, 0}, last{11 * factor, 9 * factor, 7};
    ControlVolume<double> volume(flow, diagnostics, first, last);
    const double dt = 1e-4; // the pressure is that of the middle of the step
    const auto before = volume.momentum();
    const auto step = [&] {
      flow.step(dt);
      diagnostics.invalidate();
    };
    step();
    const MomentumBalance now = volume.balance();
    step();
    const auto after = volume.momentum();
    double largest = 0;
    for (int i = 0; i < 3; ++i) {
      const double gain = (after[i] - before[i]) / (2 * dt);
      EXPECT_GT(std::fabs(now.driving[i]) + std::fabs(now.convection[i]), i == 2 ? 1e-3 : 1e-2);
      largest =
          std::max(largest, std::fabs(now.pressure[i] + now.viscous[i] + now.driving[i] - now.convection[i] - gain));
    }
    errors[static_cast<std::size_t>(factor - 1)] = largest;
  }
  EXPECT_LT(errors[0], 0.02);
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.3);
}

TEST(ControlVolume, RefusesOtherNodes) {
  const Grid grid({16, 12, 14}, {1.6, 1.2, 1.4}, periodic);
  NavierStokes<double> flow(grid, {0.02}, every_process_grid().front(), TransposeMethod::alltoall);
  Diagnostics<double> diagnostics(flow, every_process_grid().front(), TransposeMethod::alltoall);
  EXPECT_THROW(ControlVolume<double>(flow, diagnostics, {0, 0, 0}, {15, 12, 13}), InputError);
  EXPECT_THROW(ControlVolume<double>(flow, diagnostics, {5, 0, 0}, {5, 11, 13}), InputError);
}
