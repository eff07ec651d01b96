// The solver must invert exactly the discrete operators: the test computes p -> grad p -> div grad p with the staggered
// operators, and solves for p.
#include "support.hpp"
#include <tailrace/ops/operators.hpp>
#include <tailrace/ops/poisson.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

constexpr std::array<bool, 3> on_cells{true, true, true};

/// Applies one staggered operator per direction: the derivative along `derivative`, interpolations in the others.
template <class T>
std::vector<T> staggered(Operators<T> &operators, bool to_nodes, int derivative, std::vector<T> values) {
  std::array<bool, 3> centred{to_nodes, to_nodes, to_nodes};
  for (int d = 0; d < 3; ++d) {
    const Operation op = to_nodes
                             ? (d == derivative ? Operation::derivative_to_node : Operation::interpolate_to_node)
                             : (d == derivative ? Operation::derivative_to_centre : Operation::interpolate_to_centre);
    // The pressure is even. Its derivative is odd, like the normal velocity.
    const Parity parity = !to_nodes && d == derivative ? Parity::odd : Parity::even;
    auto centred_out = centred;
    centred_out[d] = !to_nodes;
    std::vector<T> out(static_cast<std::size_t>(operators.box(centred_out).size()));
    operators.apply(op, d, parity, centred, values.data(), out.data());
    values = std::move(out);
    centred = centred_out;
  }
  return values;
}

/// div grad p on the X pencil of the cells of this rank, with other operators for div.
template <class T> std::vector<T> laplacian(Operators<T> &gradient, Operators<T> &divergence, const std::vector<T> &p) {
  std::vector<T> sum(p.size(), T(0));
  for (int d = 0; d < 3; ++d) {
    const auto part = staggered(divergence, false, d, staggered(gradient, true, d, p));
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += part[i];
  }
  return sum;
}

/// Removes the wave +-+- along d: subtracts the mean of sign * p, where the sign alternates along d.
void remove_shortest_wave(std::vector<double> &p, const Index3 &n, int d) {
  const auto sign = [&](const Index3 &at) { return at[d] % 2 == 0 ? 1.0 : -1.0; };
  std::vector<double> mean(p.size(), 0);
  const auto line = [&](Index3 at) {
    at[d] = 0;
    return linear(n, at);
  };
  const Box whole{{0, 0, 0}, n};
  for_each_point(
      whole, [&](const Index3 &at, std::int64_t i) { mean[line(at)] += sign(at) * p[i] / static_cast<double>(n[d]); });
  for_each_point(whole, [&](const Index3 &at, std::int64_t i) { p[i] -= sign(at) * mean[line(at)]; });
}

/// Noise on all cells without the modes that the operators map to zero: the mean, and the waves that are shortest in
/// two directions. (The noise contains waves that are shortest along x alone.)
std::vector<double> visible_noise(const Grid &grid) {
  const Index3 n = grid.cells();
  std::vector<double> p(static_cast<std::size_t>(product(n)));
  for_each_point({{0, 0, 0}, n}, [&](const Index3 &at, std::int64_t i) { p[i] = noise(at, 77); });
  for (const int d : {1, 2})
    if (grid.periodic(d) && n[d] % 2 == 0)
      remove_shortest_wave(p, n, d);
  double mean = 0;
  for (const double value : p)
    mean += value / static_cast<double>(p.size());
  for (double &value : p)
    value -= mean;
  return p;
}

struct Result {
  double error;    ///< error of p, relative to max |p|
  double residual; ///< residual of div grad p = f, relative to max |f|
};

/// The solution for f = div grad p, transposed from Z to X pencils.
template <class T>
std::vector<T> solve(Poisson<T> &poisson, const Processes &processes, const Grid &grid, std::vector<T> f) {
  const Decomposition cells(processes, grid.cells(), true);
  Exchange<T> exchange(cells, TransposeMethod::alltoall, std::make_shared<Workspace>());
  std::vector<T> y(static_cast<std::size_t>(cells.box(Pencil::y).size())), z(cells.box(Pencil::z).size());
  T *in_y = exchange.move(Pencil::x, Pencil::y, f.data(), y.data());
  T *in_z = exchange.move(Pencil::y, Pencil::z, in_y, z.data());
  std::vector<T> p(static_cast<std::size_t>(cells.box(Pencil::z).size()));
  poisson.solve(in_z, p.data());
  std::vector<T> in_place(in_z, in_z + cells.box(Pencil::z).size());
  poisson.solve(in_place.data(), in_place.data());
  EXPECT_TRUE(in_place == p) << "in place differs";
  std::vector<T> back_y(static_cast<std::size_t>(cells.box(Pencil::y).size())), x(f.size());
  T *out_y = exchange.move(Pencil::z, Pencil::y, p.data(), back_y.data());
  T *out_x = exchange.move(Pencil::y, Pencil::x, out_y, x.data());
  return {out_x, out_x + x.size()};
}

/// The solution of f = div grad p with the divergence of the schemes of `grid`, whose walls may be one-sided, and the
/// gradient of those of mirrors.
template <class T>
Result solve_back(const Grid &grid, Interpolation interpolation, const Processes &processes, TransposeMethod method,
                  WallDivergence walls = WallDivergence::mirrored) {
  Grid mirrored = grid;
  mirrored.boundaries = {grid.boundaries[0], divergence_sides(grid, WallDivergence::mirrored), grid.boundaries[2]};
  Operators<T> gradient(mirrored, processes, method, interpolation);
  Operators<T> divergence(walls == WallDivergence::mirrored ? mirrored : grid, processes, method, interpolation);
  Poisson<T> poisson(grid, interpolation, processes, method, std::make_shared<Workspace>(), walls);
  const auto exact = part_of(visible_noise(grid), grid.cells(), gradient.box(on_cells));
  const std::vector<T> p(exact.begin(), exact.end());
  const auto f = laplacian(gradient, divergence, p);
  const auto found = solve(poisson, processes, grid, f);
  const auto again = laplacian(gradient, divergence, found);
  const auto n = static_cast<std::int64_t>(p.size());
  return {max_difference(found.data(), p.data(), n) / world().max(max_abs(p)),
          max_difference(again.data(), f.data(), n) / world().max(max_abs(f))};
}

const std::array<double, 3> lengths{1.0, 1.7, 0.6};

/// A grid with the number of cells `cells`, for any boundaries.
Grid grid_with_cells(const Index3 &cells, const std::array<Boundary, 3> &boundaries) {
  Index3 nodes = cells;
  for (int d = 0; d < 3; ++d)
    nodes[d] += boundaries[d] == Boundary::periodic ? 0 : 1;
  return {nodes, lengths, boundaries};
}

// The residual is a few rounding errors. The error of p is larger by the ratio of the largest and smallest eigenvalue.
constexpr double tight = 2e-14;
constexpr double conditioned = 2e-13;

} // namespace

TEST(Poisson, InvertsTheStaggeredOperators) {
  const Index3 sizes[] = {{12, 10, 14}, {11, 13, 9}, {12, 9, 11}, {9, 10, 13}};
  for (const Processes &processes : every_process_grid())
    for (const auto &boundaries : every_flow_boundary())
      for (const Index3 &cells : sizes) {
        const Grid grid = grid_with_cells(cells, boundaries);
        const Result result = solve_back<double>(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall);
        EXPECT_LE(result.residual, tight) << name(boundaries) << ", cells " << cells[0] << " on " << name(*processes);
        EXPECT_LE(result.error, conditioned)
            << name(boundaries) << ", cells " << cells[0] << " on " << name(*processes);
      }
}

TEST(Poisson, EveryInterpolationAndMethod) {
  for (const Processes &processes : every_process_grid())
    for (const auto &boundaries : every_flow_boundary())
      for (const Interpolation interpolation : {Interpolation::classic, Interpolation::optimised}) {
        const Grid grid = grid_with_cells({10, 9, 12}, boundaries);
        const Result result = solve_back<double>(grid, interpolation, processes, TransposeMethod::subarray);
        EXPECT_LE(result.residual, tight) << name(boundaries) << " on " << name(*processes);
        EXPECT_LE(result.error, conditioned) << name(boundaries) << " on " << name(*processes);
      }
}

TEST(Poisson, SinglePrecision) {
  for (const Processes &processes : every_process_grid())
    for (const auto &boundaries : every_flow_boundary()) {
      const Grid grid = grid_with_cells({12, 9, 10}, boundaries);
      const Result result = solve_back<float>(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall);
      EXPECT_LE(result.residual, 3e-6) << name(boundaries) << " on " << name(*processes);
    }
}

TEST(Poisson, WorksWithFewerModesThanRanks) {
  // Eight points have five complex modes. With six ranks, some ranks get no mode.
  for (const Processes &processes : every_process_grid()) {
    const Grid grid({8, 8, 8}, lengths, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
    EXPECT_LE(solve_back<double>(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall).residual,
              tight);
    EXPECT_LE(solve_back<double>(grid, Interpolation::aggressive, processes, TransposeMethod::subarray).residual,
              tight);
  }
}

namespace {

/// Every kind of stretched y with the boundaries of x and z.
std::vector<Grid> stretched_grids(const Index3 &cells) {
  std::vector<Grid> grids;
  for (const auto &boundaries : every_flow_boundary())
    for (const auto where : {Stretching::Where::centre, Stretching::Where::walls, Stretching::Where::bottom})
      for (const double beta : {0.259065151, 1.3})
        if (boundaries[1] == Boundary::free_slip) {
          const Grid uniform = grid_with_cells(cells, boundaries);
          grids.emplace_back(uniform.nodes, uniform.lengths, boundaries, Stretching(where, beta));
        }
  return grids;
}

std::string about(const Grid &grid, const Processes &processes) {
  return name(grid.boundaries) + ", stretched to " + stretching_name(grid.stretching->where) + ", " +
         std::to_string(grid.nodes[1]) + " nodes in y, on " + name(*processes);
}

} // namespace

TEST(Poisson, InvertsTheStretchedOperators) {
  for (const Processes &processes : every_process_grid())
    for (const Index3 &cells : {Index3{12, 10, 14}, Index3{11, 13, 9}})
      for (const Grid &grid : stretched_grids(cells)) {
        const Result result = solve_back<double>(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall);
        EXPECT_LE(result.residual, 1e-13) << about(grid, processes);
        EXPECT_LE(result.error, 5e-12) << about(grid, processes);
      }
}

TEST(Poisson, StretchedByEveryInterpolationAndMethod) {
  for (const Processes &processes : every_process_grid())
    for (const Grid &grid : stretched_grids({10, 9, 12})) {
      for (const Interpolation interpolation : {Interpolation::classic, Interpolation::optimised})
        EXPECT_LE(solve_back<double>(grid, interpolation, processes, TransposeMethod::subarray).residual, 1e-13)
            << about(grid, processes);
      EXPECT_LE(solve_back<float>(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall).residual, 2e-5)
          << about(grid, processes);
    }
}

namespace {

/// A y with one or two walls, uniform and of every kind of stretching, between periodic x and z.
std::vector<Grid> walled_grids(const Index3 &cells) {
  std::vector<Grid> grids;
  const Index3 nodes{cells[0], cells[1] + 1, cells[2]};
  for (const Sides &y : {Sides{Boundary::dirichlet}, Sides{Boundary::dirichlet, Boundary::free_slip},
                         Sides{Boundary::free_slip, Boundary::dirichlet}}) {
    const Boundaries boundaries{Boundary::periodic, y, Boundary::periodic};
    grids.emplace_back(nodes, lengths, boundaries);
    for (const auto where : {Stretching::Where::centre, Stretching::Where::walls, Stretching::Where::bottom})
      grids.emplace_back(nodes, lengths, boundaries, Stretching(where, 0.4));
  }
  return grids;
}

} // namespace

TEST(Poisson, InvertsDivergencesThatAreOneSidedAtWalls) {
  for (const Processes &processes : every_process_grid())
    for (const Index3 &cells : {Index3{12, 10, 14}, Index3{11, 13, 9}})
      for (const Grid &grid : walled_grids(cells)) {
        const std::string what = sides_name(grid.boundaries[1]) + ", stretched to " +
                                 (grid.stretching ? stretching_name(grid.stretching->where) : "nowhere") + ", on " +
                                 name(*processes);
        for (const auto interpolation : {Interpolation::aggressive, Interpolation::classic, Interpolation::optimised}) {
          const Result result =
              solve_back<double>(grid, interpolation, processes, TransposeMethod::alltoall, WallDivergence::one_sided);
          EXPECT_LE(result.residual, 1e-13) << what;
          EXPECT_LE(result.error, 5e-12) << what;
        }
        EXPECT_LE(solve_back<float>(grid, Interpolation::aggressive, processes, TransposeMethod::subarray,
                                    WallDivergence::one_sided)
                      .residual,
                  2e-5)
            << what;
      }
}

TEST(Poisson, OneSidedDivergencesNeedAPeriodicXAndZ) {
  for (const auto &boundaries : {std::array{Boundary::free_slip, Boundary::dirichlet, Boundary::periodic},
                                 std::array{Boundary::periodic, Boundary::dirichlet, Boundary::dirichlet}}) {
    const Grid grid = grid_with_cells({12, 10, 14}, boundaries);
    const auto make = [&](WallDivergence walls) {
      Poisson<double>(grid, Interpolation::aggressive, every_process_grid().back(), TransposeMethod::alltoall,
                      std::make_shared<Workspace>(), walls);
    };
    EXPECT_THROW(make(WallDivergence::one_sided), InputError);
    EXPECT_NO_THROW(make(WallDivergence::mirrored));
  }
}

TEST(Poisson, SolvesTheStretchedContinuousEquationToSixthOrder) {
  const double pi = std::numbers::pi;
  for (const auto where : {Stretching::Where::centre, Stretching::Where::walls, Stretching::Where::bottom}) {
    const auto error_on = [&](std::int64_t n) {
      const Grid grid({n, 5 * n / 4 + 1, 9 * n / 8}, lengths,
                      {Boundary::periodic, Boundary::dirichlet, Boundary::periodic}, Stretching(where, 0.6));
      Poisson<double> poisson(grid, Interpolation::aggressive, every_process_grid().back(), TransposeMethod::alltoall,
                              std::make_shared<Workspace>());
      const Box box = poisson.cells().box(Pencil::z);
      const double k[3] = {2 * pi / lengths[0], pi / lengths[1], 2 * pi / lengths[2]};
      std::array<std::vector<double>, 3> x;
      for (int d = 0; d < 3; ++d)
        x[d] = grid.coordinates(d, true);
      std::vector<double> f(static_cast<std::size_t>(box.size())), p(f.size()), exact(f.size());
      for_each_point(box, [&](const Index3 &at, std::int64_t i) {
        exact[i] =
            std::sin(k[0] * x[0][at[0]] + 0.3) * std::cos(2 * k[1] * x[1][at[1]]) * std::sin(k[2] * x[2][at[2]] + 1);
        f[i] = -(k[0] * k[0] + 4 * k[1] * k[1] + k[2] * k[2]) * exact[i];
      });
      poisson.solve(f.data(), p.data());
      return max_difference(p.data(), exact.data(), box.size());
    };
    EXPECT_GE(order(error_on(24), error_on(48)), 5.6) << stretching_name(where);
  }
}

TEST(Poisson, ConstantsAndInvisibleWavesGiveNoPressure) {
  for (const Processes &processes : every_process_grid()) {
    const Grid grid({10, 12, 9}, lengths, {Boundary::periodic, Boundary::periodic, Boundary::free_slip});
    Poisson<double> poisson(grid, Interpolation::aggressive, processes, TransposeMethod::alltoall,
                            std::make_shared<Workspace>());
    const Box box = poisson.cells().box(Pencil::z);
    std::vector<double> f(static_cast<std::size_t>(box.size())), p(f.size());
    for_each_point(box, [&](const Index3 &at, std::int64_t i) { f[i] = 3 + 2 * ((at[0] + at[1]) % 2 == 0 ? 1 : -1); });
    poisson.solve(f.data(), p.data());
    EXPECT_LE(max_abs(p), 1e-13);
  }
}

TEST(Poisson, SolvesTheContinuousEquationToSixthOrder) {
  const double pi = std::numbers::pi;
  const auto error_on = [&](std::int64_t n) {
    const Grid grid =
        grid_with_cells({n, 5 * n / 4, 9 * n / 8}, {Boundary::periodic, Boundary::free_slip, Boundary::periodic});
    Poisson<double> poisson(grid, Interpolation::aggressive, every_process_grid().back(), TransposeMethod::alltoall,
                            std::make_shared<Workspace>());
    const Box box = poisson.cells().box(Pencil::z);
    const double k[3] = {2 * pi / lengths[0], pi / lengths[1], 2 * pi / lengths[2]};
    std::vector<double> f(static_cast<std::size_t>(box.size())), p(f.size()), exact(f.size());
    for_each_point(box, [&](const Index3 &at, std::int64_t i) {
      double x[3];
      for (int d = 0; d < 3; ++d)
        x[d] = grid.spacing(d) * (static_cast<double>(at[d]) + 0.5);
      exact[i] = std::sin(k[0] * x[0] + 0.3) * std::cos(2 * k[1] * x[1]) * std::sin(k[2] * x[2] + 1);
      f[i] = -(k[0] * k[0] + 4 * k[1] * k[1] + k[2] * k[2]) * exact[i];
    });
    poisson.solve(f.data(), p.data());
    return max_difference(p.data(), exact.data(), box.size());
  };
  EXPECT_GE(order(error_on(16), error_on(32)), 5.8);
}
