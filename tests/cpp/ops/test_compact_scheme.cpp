// Compares the response to waves that a scheme states with the response of the solved line.
#include "ops/line_cases.hpp"
#include <tailrace/ops/apply.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

TEST(CompactScheme, ResponseToPeriodicWaves) {
  const std::int64_t n = 24;
  const double h = 0.7;
  for (const Operation op : operations)
    for (const Interpolation interpolation : interpolations)
      for (std::int64_t k = 0; k < n / 2; ++k) { // without the shortest wave, which has no phase and no derivative
        const Case c{op, Boundary::periodic, Parity::even, interpolation, n};
        const double w = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
        const auto scheme = compact_scheme(op, h, interpolation);
        const double response = scheme.response(w);
        const double shift = to_centre(op) ? 0.5 : to_node(op) ? -0.5 : 0;
        std::vector<double> re(n), im(n), out_re(n), out_im(n);
        for (std::int64_t j = 0; j < n; ++j)
          re[j] = std::cos(w * static_cast<double>(j)), im[j] = std::sin(w * static_cast<double>(j));
        const auto system = system_of<double>(c, h);
        apply(system, 0, {n, 1, 1}, re.data(), out_re.data());
        apply(system, 0, {n, 1, 1}, im.data(), out_im.data());
        for (std::int64_t j = 0; j < n; ++j) {
          const double phase = w * (static_cast<double>(j) + shift);
          const bool turns = c.symmetry() < 0; // the result is i exp(i phase)
          EXPECT_NEAR(out_re[j], response * (turns ? -std::sin(phase) : std::cos(phase)), 1e-12) << c << ", wave " << k;
          EXPECT_NEAR(out_im[j], response * (turns ? std::cos(phase) : std::sin(phase)), 1e-12) << c << ", wave " << k;
        }
      }
}

TEST(CompactScheme, ResponseToStandingWaves) {
  const std::int64_t n = 20, cells = n - 1;
  const double h = 0.7;
  for (const Case &c : every_case(n)) {
    if (c.boundary != Boundary::free_slip)
      continue;
    for (std::int64_t k = 1; k < cells; ++k) {
      const double w = std::numbers::pi * static_cast<double>(k) / static_cast<double>(cells);
      const double response = scheme_of(c, h).response(w);
      const double from = to_node(c.op) ? 0.5 : 0, to = to_centre(c.op) ? 0.5 : 0;
      const bool even = c.parity == Parity::even;
      std::vector<double> in, out(static_cast<std::size_t>(c.points_out()));
      for (std::int64_t j = 0; j < c.points_in(); ++j)
        in.push_back(even ? std::cos(w * (static_cast<double>(j) + from))
                          : std::sin(w * (static_cast<double>(j) + from)));
      apply(system_of<double>(c, h), 0, {c.points_in(), 1, 1}, in.data(), out.data());
      for (std::int64_t j = 0; j < c.points_out(); ++j) {
        const double phase = w * (static_cast<double>(j) + to);
        const double turned = even ? -std::sin(phase) : std::cos(phase),
                     same = even ? std::cos(phase) : std::sin(phase);
        EXPECT_NEAR(out[j], response * (c.symmetry() < 0 ? turned : same), 1e-12)
            << c << ", wave " << k << ", point " << j;
      }
    }
  }
}

namespace {
/// How much the hyperviscous scheme dissipates beyond w^2, in units of w^2.
double excess(const Hyperviscosity &hyperviscosity, double w) {
  return -hyperviscous_scheme(1, hyperviscosity).response(w) / (w * w) - 1;
}
constexpr Hyperviscosity hyperviscosities[] = {{4, 0.44}, {1, 0.3}, {0.2, 0.6}, {63, 0.437}};
} // namespace

TEST(CompactScheme, HyperviscousSymbol) {
  const double pi = std::numbers::pi;
  for (const Hyperviscosity &each : hyperviscosities) {
    EXPECT_NEAR(excess(each, pi), each.at_cutoff, 1e-11 * (1 + each.at_cutoff));
    EXPECT_NEAR(excess(each, 2 * pi / 3), each.middle * each.at_cutoff, 1e-11 * (1 + each.at_cutoff));
    EXPECT_NEAR(std::log2(excess(each, 0.2) / excess(each, 0.1)), 6, 0.1) << each.at_cutoff;
  }
  EXPECT_NEAR(excess({4, 0.44}, 0.1) / std::pow(0.1, 6), 0.043, 0.001);
}

TEST(CompactScheme, HyperviscousCoefficients) { // as Xcompact3D prints them for nu0nu 4 and cnu 0.44
  const double h = 0.3;
  const CompactScheme scheme = hyperviscous_scheme(h, {4, 0.44});
  EXPECT_NEAR(scheme.alpha, 0.2917766690792444, 1e-15);
  const double expected[] = {4.6068092, -1.68152135, 0.53089556, -0.06720191};
  ASSERT_EQ(scheme.pair_count, 4);
  for (int k = 0; k < 4; ++k)
    EXPECT_NEAR(scheme.pairs[k] * h * h, expected[k], 1e-7) << k;
  double second = 0, fourth = 0; // of sixth order at least: exact for x^2 and x^4
  for (int k = 0; k < 4; ++k) {
    const double m = k + 1;
    second += scheme.pairs[k] * h * h * m * m;
    fourth += scheme.pairs[k] * h * h * m * m * m * m;
  }
  EXPECT_NEAR(second, 1 + 2 * scheme.alpha, 1e-13);
  EXPECT_NEAR(fourth, 12 * scheme.alpha, 1e-12);
}

TEST(CompactScheme, HyperviscosityIsChecked) {
  for (const Hyperviscosity &wrong :
       {Hyperviscosity{-1, 0.44}, Hyperviscosity{4, -0.1}, Hyperviscosity{NAN, 0.44}, Hyperviscosity{4, INFINITY}})
    EXPECT_THROW(hyperviscous_scheme(1, wrong), InputError) << wrong.at_cutoff << " " << wrong.middle;
  EXPECT_THROW(hyperviscous_scheme(1, {1, 10}), InputError); // its matrix would be singular
}

TEST(CompactScheme, NamesOfInterpolations) {
  EXPECT_EQ(interpolation_from_name("classic"), Interpolation::classic);
  EXPECT_EQ(interpolation_from_name("optimised"), Interpolation::optimised);
  EXPECT_EQ(interpolation_from_name("aggressive"), Interpolation::aggressive);
  EXPECT_ANY_THROW(interpolation_from_name("lagrange"));
}
