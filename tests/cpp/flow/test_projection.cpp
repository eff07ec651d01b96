#include "support.hpp"
#include <tailrace/flow/projection.hpp>
#include <tailrace/ops/operators.hpp>

#include <gtest/gtest.h>

#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;
using namespace tailrace::test;

namespace {

const std::array<double, 3> lengths{1.0, 1.7, 0.6};

template <class T> using Velocity = std::array<std::vector<T>, 3>;
template <class T> std::array<T *, 3> pointers(Velocity<T> &u) { return {u[0].data(), u[1].data(), u[2].data()}; }
template <class T> std::array<const T *, 3> constants(const Velocity<T> &u) {
  return {u[0].data(), u[1].data(), u[2].data()};
}

/// Noise on the nodes. The normal velocity is zero on free-slip boundaries.
template <class T> Velocity<T> noisy_velocity(const Grid &grid, const Box &box) {
  Velocity<T> u;
  for (int i = 0; i < 3; ++i) {
    u[i].resize(static_cast<std::size_t>(box.size()));
    for_each_point(box, [&](const Index3 &p, std::int64_t at) {
      const bool on_boundary = !grid.periodic(i) && (p[i] == 0 || p[i] == grid.nodes[i] - 1);
      u[i][at] = on_boundary ? T(0) : static_cast<T>(noise(p, 11 + i));
    });
  }
  return u;
}

template <class T> struct Flow {
  Flow(const Grid &g, const Processes &processes, TransposeMethod method = TransposeMethod::alltoall,
       Interpolation interpolation = Interpolation::aggressive, WallDivergence walls = WallDivergence::mirrored)
      : grid(g), nodes(processes, g.nodes),
        projection(g, interpolation, processes, method, std::make_shared<Workspace>(), walls) {}

  double max_divergence(const Velocity<T> &u) {
    std::vector<T> div(static_cast<std::size_t>(projection.cells().box(Pencil::z).size()), T(NAN));
    projection.divergence(constants(u), div.data());
    return world().max(max_abs(div));
  }

  Grid grid;
  Decomposition nodes;
  Projection<T> projection;
};

/// max |div u| L / U after the projection of noise, where L is the longest side.
template <class T> double scaled_divergence(Flow<T> &setup) {
  auto u = noisy_velocity<T>(setup.grid, setup.nodes.box(Pencil::x));
  EXPECT_GT(setup.max_divergence(u), 1) << "nothing to project";
  setup.projection(pointers(u));
  double speed = 0;
  for (const auto &component : u)
    speed = std::max(speed, max_abs(component));
  speed = world().max(speed);
  EXPECT_GT(speed, 0.2) << "the projection removed the flow";
  return setup.max_divergence(u) * *std::max_element(lengths.begin(), lengths.end()) / speed;
}

template <class Visit> void for_each_setup(Visit visit) {
  for (const Processes &processes : every_process_grid())
    for (const auto &boundaries : every_flow_boundary())
      for (const Index3 &nodes : {Index3{12, 10, 14}, Index3{11, 13, 9}})
        visit(Grid(nodes, lengths, boundaries), processes,
              name(boundaries) + ", " + std::to_string(nodes[0]) + " nodes in x, on " + name(*processes));
}

} // namespace

TEST(Projection, LeavesNoDivergence) {
  for_each_setup([](const Grid &grid, const Processes &processes, const std::string &what) {
    for (const TransposeMethod method : every_method()) {
      Flow<double> setup(grid, processes, method);
      EXPECT_LE(scaled_divergence(setup), 1e-11) << what;
    }
    for (const Interpolation interpolation : {Interpolation::classic, Interpolation::optimised}) {
      Flow<double> setup(grid, processes, TransposeMethod::alltoall, interpolation);
      EXPECT_LE(scaled_divergence(setup), 1e-11) << what;
    }
    Flow<float> single(grid, processes);
    EXPECT_LE(scaled_divergence(single), 1e-3) << what << ", float";
  });
}

TEST(Projection, OnLargerGridsToo) {
  for (const auto &boundaries : every_flow_boundary()) {
    Flow<double> setup(Grid({40, 33, 36}, lengths, boundaries), every_process_grid().back());
    EXPECT_LE(scaled_divergence(setup), 1e-11) << name(boundaries);
  }
}

TEST(Projection, IsIdempotent) {
  for_each_setup([](const Grid &grid, const Processes &processes, const std::string &what) {
    Flow<double> setup(grid, processes);
    auto u = noisy_velocity<double>(grid, setup.nodes.box(Pencil::x));
    setup.projection(pointers(u));
    const auto once = u;
    setup.projection(pointers(u));
    for (int i = 0; i < 3; ++i)
      EXPECT_LE(max_difference(u[i].data(), once[i].data(), setup.nodes.box(Pencil::x).size()), 1e-13) << what;
  });
}

TEST(Projection, KeepsTheNormalVelocityZeroOnBoundaries) {
  for_each_setup([](const Grid &grid, const Processes &processes, const std::string &what) {
    Flow<double> setup(grid, processes);
    auto u = noisy_velocity<double>(grid, setup.nodes.box(Pencil::x));
    setup.projection(pointers(u));
    for (int i = 0; i < 3; ++i)
      for_each_point(setup.nodes.box(Pencil::x), [&](const Index3 &p, std::int64_t at) {
        const bool on_boundary = !grid.periodic(i) && (p[i] == 0 || p[i] == grid.nodes[i] - 1);
        EXPECT_TRUE(!on_boundary || u[i][at] == 0) << what << ", component " << i;
      });
  });
}

namespace {

/// Applies one staggered operator per direction on the X pencils of this rank, the derivative along `derivative`.
std::vector<double> staggered(Operators<double> &operators, bool to_nodes, int derivative, std::vector<double> values) {
  std::array<bool, 3> centred{to_nodes, to_nodes, to_nodes};
  for (int d = 0; d < 3; ++d) {
    const bool derives = d == derivative;
    const Operation op = to_nodes ? (derives ? Operation::derivative_to_node : Operation::interpolate_to_node)
                                  : (derives ? Operation::derivative_to_centre : Operation::interpolate_to_centre);
    auto centred_out = centred;
    centred_out[d] = !to_nodes;
    std::vector<double> out(static_cast<std::size_t>(operators.box(centred_out).size()));
    operators.apply(op, d, !to_nodes && derives ? Parity::odd : Parity::even, centred, values.data(), out.data());
    values = std::move(out);
    centred = centred_out;
  }
  return values;
}

/// Converts values of the cells from the X pencil to the Z pencil of this rank.
std::vector<double> to_z(const Decomposition &cells, std::vector<double> x) {
  Exchange<double> exchange(cells, TransposeMethod::alltoall, std::make_shared<Workspace>());
  std::vector<double> y(static_cast<std::size_t>(cells.box(Pencil::y).size())), z(cells.box(Pencil::z).size());
  double *moved =
      exchange.move(Pencil::y, Pencil::z, exchange.move(Pencil::x, Pencil::y, x.data(), y.data()), z.data());
  return {moved, moved + z.size()};
}

/// The divergence of the setup is that which operators on its grid give.
void expect_divergence_of_operators(Flow<double> &setup, const Processes &processes, const std::string &what) {
  Operators<double> operators(setup.grid, processes, TransposeMethod::alltoall);
  const auto u = noisy_velocity<double>(setup.grid, setup.nodes.box(Pencil::x));
  std::vector<double> expected(static_cast<std::size_t>(operators.box({true, true, true}).size()), 0);
  for (int d = 0; d < 3; ++d) {
    const auto part = staggered(operators, false, d, u[d]);
    for (std::size_t i = 0; i < part.size(); ++i)
      expected[i] += part[i];
  }
  const auto in_z = to_z(setup.projection.cells(), expected);
  std::vector<double> found(in_z.size());
  setup.projection.divergence(constants(u), found.data());
  // The values are of order U / dx = 20.
  EXPECT_LE(max_difference(found.data(), in_z.data(), static_cast<std::int64_t>(in_z.size())), 1e-12) << what;
}

/// Grids between walls in y, uniform and stretched to them, with the divergence there one-sided.
template <class Visit> void for_each_one_sided(Visit visit) {
  for (const Processes &processes : every_process_grid())
    for (const auto &stretching :
         {std::optional<Stretching>{}, std::optional(Stretching(Stretching::Where::walls, 0.3))})
      visit(Grid({12, 15, 9}, lengths, {Boundary::periodic, Boundary::dirichlet, Boundary::periodic}, stretching),
            processes, (stretching ? "stretched, on " : "uniform, on ") + name(*processes));
}

} // namespace

TEST(Projection, DivergenceIsThatOfTheOperators) {
  for_each_setup([](const Grid &grid, const Processes &processes, const std::string &what) {
    Flow<double> setup(grid, processes);
    expect_divergence_of_operators(setup, processes, what);
  });
  for_each_one_sided([](const Grid &grid, const Processes &processes, const std::string &what) {
    Flow<double> setup(grid, processes, TransposeMethod::alltoall, Interpolation::aggressive,
                       WallDivergence::one_sided);
    expect_divergence_of_operators(setup, processes, what);
  });
}

TEST(Projection, LeavesNoDivergenceThatIsOneSidedAtWalls) {
  for_each_one_sided([](const Grid &grid, const Processes &processes, const std::string &what) {
    for (const TransposeMethod method : every_method()) {
      Flow<double> setup(grid, processes, method, Interpolation::aggressive, WallDivergence::one_sided);
      EXPECT_LE(scaled_divergence(setup), 1e-11) << what;
      Flow<double> mirrored(grid, processes, method);
      auto u = noisy_velocity<double>(grid, setup.nodes.box(Pencil::x));
      mirrored.projection(pointers(u));
      EXPECT_GT(setup.max_divergence(u), 0.1) << what << ": the two divergences are the same";
    }
    Flow<float> single(grid, processes, TransposeMethod::alltoall, Interpolation::optimised, WallDivergence::one_sided);
    EXPECT_LE(scaled_divergence(single), 2e-3) << what << ", float";
  });
}

TEST(Projection, RemovesGradientsAndReturnsTheirPotential) {
  for_each_setup([](const Grid &grid, const Processes &processes, const std::string &what) {
    Flow<double> setup(grid, processes);
    Operators<double> operators(grid, processes, TransposeMethod::alltoall);
    // A smooth potential without symmetry and with mean zero: waves of one and two periods.
    const Box box = operators.box({true, true, true});
    std::vector<double> p(static_cast<std::size_t>(box.size()));
    for_each_point(box, [&](const Index3 &at, std::int64_t i) {
      double phase[3];
      for (int d = 0; d < 3; ++d)
        phase[d] = (grid.periodic(d) ? 2 : 1) * std::numbers::pi * (static_cast<double>(at[d]) + 0.5) /
                   static_cast<double>(grid.cells()[d]);
      p[i] = std::cos(phase[0]) + 0.5 * std::cos(2 * phase[1]) * std::cos(phase[2]) +
             0.3 * std::cos(phase[0]) * std::cos(phase[1]);
    });
    Velocity<double> u;
    for (int d = 0; d < 3; ++d)
      u[d] = staggered(operators, true, d, p);
    setup.projection(pointers(u));
    for (int d = 0; d < 3; ++d) // the gradients are of order 20
      EXPECT_LE(world().max(max_abs(u[d])), 1e-12) << what;
    const auto expected = to_z(setup.projection.cells(), p);
    std::vector<double> potential(expected.size());
    setup.projection.potential(potential.data());
    EXPECT_LE(max_difference(potential.data(), expected.data(), static_cast<std::int64_t>(expected.size())), 5e-14)
        << what;
  });
}

TEST(Projection, NodesGetConstantsUnchangedAndWavesByTheirTransfer) {
  for_each_setup([](const Grid &grid, const Processes &processes, const std::string &what) {
    Flow<double> setup(grid, processes);
    const Box cells = setup.projection.cells().box(Pencil::z), nodes = setup.nodes.box(Pencil::x);
    double wave[3], transfer = 1;
    for (int d = 0; d < 3; ++d) {
      wave[d] = (d + 1) * (grid.periodic(d) ? 2 : 1) * std::numbers::pi / static_cast<double>(grid.cells()[d]);
      transfer *=
          compact_scheme(Operation::interpolate_to_node, grid.spacing(d), Interpolation::aggressive).response(wave[d]);
    }
    const auto value = [&](const Index3 &p, double shift) {
      double product = 1;
      for (int d = 0; d < 3; ++d)
        product *= std::cos(wave[d] * (static_cast<double>(p[d]) + shift) + (grid.periodic(d) ? 0.4 : 0));
      return product;
    };
    std::vector<double> in(static_cast<std::size_t>(cells.size())), out(nodes.size()), expected(nodes.size());
    for_each_point(cells, [&](const Index3 &p, std::int64_t at) { in[at] = 2.5 + value(p, 0.5); });
    for_each_point(nodes, [&](const Index3 &p, std::int64_t at) { expected[at] = 2.5 + transfer * value(p, 0); });
    setup.projection.to_nodes(in.data(), out.data());
    EXPECT_LE(max_difference(out.data(), expected.data(), nodes.size()), 1e-13) << what;
  });
}
