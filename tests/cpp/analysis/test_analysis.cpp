// Compares spectra on every decomposition with direct sums, vortex markers of simple flows with exact values, and
// running moments with moments computed in two passes over all samples.
#include "support.hpp"
#include <tailrace/analysis/moments.hpp>
#include <tailrace/analysis/spectrum.hpp>
#include <tailrace/ops/invariants.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::analysis;
using namespace tailrace::test;

namespace {

using Complex = std::complex<double>;

Complex wave(double turns) { return std::polar(1.0, -2 * std::numbers::pi * turns); }

/// The values of `noise` on the X pencil of this rank.
std::vector<double> noise_on(const Processes &processes, const Index3 &shape, std::uint64_t salt) {
  const Box box = Decomposition(processes, shape, true).box(Pencil::x);
  std::vector<double> values(static_cast<std::size_t>(box.size()));
  for_each_point(box, [&](const Index3 &p, std::int64_t at) { values[at] = noise(p, salt); });
  return values;
}

/// |f_k|^2 / 2 of every mode, computed as direct sums along one direction after the other.
std::vector<double> energies(const Index3 &shape, std::uint64_t salt) {
  const Box all{{0, 0, 0}, shape};
  std::vector<Complex> values(static_cast<std::size_t>(all.size()));
  for_each_point(all, [&](const Index3 &p, std::int64_t at) { values[at] = noise(p, salt); });
  for (int d = 0; d < 3; ++d) {
    std::vector<Complex> next(values.size());
    for_each_point(all, [&](Index3 p, std::int64_t at) {
      const std::int64_t k = p[d];
      for (std::int64_t j = 0; j < shape[d]; ++j) {
        p[d] = j;
        next[at] += values[linear(shape, p)] * wave(static_cast<double>(j * k) / static_cast<double>(shape[d]));
      }
    });
    values = next;
  }
  std::vector<double> result;
  const auto points = static_cast<double>(all.size());
  for (const Complex &value : values)
    result.push_back(std::norm(value) / (2 * points * points));
  return result;
}

} // namespace

TEST(Spectrum, EveryModeIsInItsShell) {
  for (const Index3 &shape : {Index3{8, 9, 10}, Index3{11, 8, 13}}) {
    const Grid grid(shape, {1.1, 2.3, 1.9}, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
    std::vector<double> expected(64);
    std::vector<std::int64_t> modes(64);
    double total = 0;
    for (const std::uint64_t salt : {1, 2}) {
      const std::vector<double> all = energies(shape, salt);
      for_each_point({{0, 0, 0}, shape}, [&](const Index3 &p, std::int64_t at) {
        double square = 0;
        for (int d = 0; d < 3; ++d) {
          const auto i = static_cast<double>(2 * p[d] <= shape[d] ? p[d] : p[d] - shape[d]);
          square += i * i * 2.3 * 2.3 / (grid.lengths[d] * grid.lengths[d]);
        }
        const auto shell = static_cast<std::size_t>(std::floor(std::sqrt(square) + 0.5));
        expected[shell] += all[at];
        modes[shell] += salt == 1 ? 1 : 0;
        total += all[at];
      });
    }
    for (const Processes &processes : every_process_grid()) {
      const auto f = noise_on(processes, shape, 1), g = noise_on(processes, shape, 2);
      const Shells shells = shell_spectrum(grid, processes, {f.data(), g.data()});
      EXPECT_DOUBLE_EQ(shells.width, 2 * std::numbers::pi / 2.3);
      double sum = 0;
      for (std::size_t n = 0; n < expected.size(); ++n) {
        const bool there = n < shells.energy.size();
        EXPECT_NEAR(there ? shells.energy[n] : 0, expected[n], 1e-15) << n << " on " << name(*processes);
        EXPECT_EQ(there ? shells.modes[n] : 0, modes[n]) << n << " on " << name(*processes);
        sum += there ? shells.energy[n] : 0;
      }
      EXPECT_NEAR(sum, total, 1e-12 * total);
    }
  }
}

TEST(Spectrum, NeedsPeriodicDirections) {
  const Grid grid({8, 9, 10}, {1, 1, 1}, {Boundary::periodic, Boundary::periodic, Boundary::free_slip});
  EXPECT_THROW(shell_spectrum(grid, every_process_grid().front(), {}), InputError);
  EXPECT_THROW(mean_cross_spectrum(grid, {}, every_process_grid().front(), 2, 9, nullptr, nullptr), InputError);
}

TEST(Spectrum, LinesOfEveryDirectionWithAndWithoutZeros) {
  const Grid grid({8, 9, 10}, {1, 1, 1}, {Boundary::free_slip, Boundary::periodic, Boundary::dirichlet});
  const std::array<bool, 3> centred{true, false, false};
  const Index3 shape{7, 9, 10};
  for (int d = 0; d < 3; ++d)
    for (const std::int64_t points : {shape[d], 2 * shape[d]}) {
      std::vector<Complex> expected(static_cast<std::size_t>(points / 2 + 1));
      Index3 lines = shape;
      lines[d] = 1;
      for_each_point({{0, 0, 0}, lines}, [&](Index3 p, std::int64_t) {
        double weight = 1;
        for (int e = 0; e < 3; ++e) // the first and the last node have half the weight
          weight *= e == d ? 1 : (e == 2 && (p[e] == 0 || p[e] == 9) ? 0.5 : 1) / (e == 0 ? 7.0 : 9.0);
        for (std::size_t k = 0; k < expected.size(); ++k) {
          Complex f = 0, g = 0;
          for (std::int64_t j = 0; j < shape[d]; ++j) {
            p[d] = j;
            const Complex w = wave(static_cast<double>(j * static_cast<std::int64_t>(k)) / static_cast<double>(points));
            f += noise(p, 1) * w;
            g += noise(p, 2) * w;
          }
          expected[k] += weight * std::conj(f) * g;
        }
      });
      for (const Processes &processes : every_process_grid()) {
        const auto f = noise_on(processes, shape, 1), g = noise_on(processes, shape, 2);
        const auto found = mean_cross_spectrum(grid, centred, processes, d, points, f.data(), g.data());
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t k = 0; k < expected.size(); ++k)
          EXPECT_NEAR(std::abs(found[k] - expected[k]), 0, 1e-12) << "mode " << k << " in " << "xyz"[d];
      }
    }
}

TEST(Invariants, OfFlowsKnownByHeart) {
  const auto all_of = [](const std::array<double, 9> &g) {
    std::array<const double *, 9> at;
    for (int e = 0; e < 9; ++e)
      at[e] = &g[e];
    std::array<double, 3> found{};
    invariant<double>(Invariant::q, at, 1, &found[0]);
    invariant<double>(Invariant::lambda2, at, 1, &found[1]);
    invariant<double>(Invariant::third, at, 1, &found[2]);
    return found;
  };
  // Rotation about z: W^2 has the eigenvalues -9, -9, 0.
  EXPECT_EQ(all_of({0, -3, 0, 3, 0, 0, 0, 0, 0}), (std::array<double, 3>{9, -9, 0}));
  // Strain (1, 1, -2): Q = -(1 + 1 + 4) / 2, the eigenvalues are 1, 1, 4.
  const auto strain = all_of({1, 0, 0, 0, 1, 0, 0, 0, -2});
  EXPECT_DOUBLE_EQ(strain[0], -3);
  EXPECT_DOUBLE_EQ(strain[1], 1);
  EXPECT_DOUBLE_EQ(strain[2], 2);
  // In a pure shear flow, rotation and strain are equally large.
  EXPECT_EQ(all_of({0, 5, 0, 0, 0, 0, 0, 0, 0}), (std::array<double, 3>{0, 0, 0}));
}

TEST(Moments, EqualTwoPassesOverAllSamples) {
  constexpr std::int64_t points = 2500; // more than two blocks; the last block is not full
  constexpr int samples = 7;
  const auto value = [](int sample, int field, std::int64_t i) {
    return 1e3 * (field + 1) + noise({i, sample, field}) + (field == 1 ? noise({i, sample, 0}) : 0);
  };
  std::array<std::vector<double>, 2> means{std::vector<double>(points), std::vector<double>(points)};
  std::array<std::vector<double>, 3> products{std::vector<double>(points), std::vector<double>(points),
                                              std::vector<double>(points)};
  double total = 0;
  for (int s = 0; s < samples; ++s) {
    std::array<std::vector<double>, 2> fields;
    for (int a = 0; a < 2; ++a)
      for (std::int64_t i = 0; i < points; ++i)
        fields[a].push_back(value(s, a, i));
    const double weight = 1 + s;
    add_sample<double>({fields[0].data(), fields[1].data()}, points, weight / (total + weight),
                       weight * total / (total + weight), {means[0].data(), means[1].data()},
                       {products[0].data(), products[1].data(), products[2].data()});
    total += weight;
  }
  for (std::int64_t i = 0; i < points; ++i) {
    std::array<double, 2> mean{};
    std::array<double, 3> product{};
    for (int s = 0; s < samples; ++s)
      for (int a = 0; a < 2; ++a)
        mean[a] += (1 + s) * value(s, a, i) / total;
    for (int s = 0; s < samples; ++s) {
      const double x = value(s, 0, i) - mean[0], y = value(s, 1, i) - mean[1];
      product[0] += (1 + s) * x * x;
      product[1] += (1 + s) * x * y;
      product[2] += (1 + s) * y * y;
    }
    for (int a = 0; a < 2; ++a)
      ASSERT_NEAR(means[a][i], mean[a], 1e-12 * mean[a]);
    for (int p = 0; p < 3; ++p)
      ASSERT_NEAR(products[p][i], product[p], 1e-9); // the values are of order 1e3 and have rounding errors of 1e-13
  }
}
