// Compares the response to waves that a scheme states with the response of the solved line.
#include "ops/line_cases.hpp"
#include <tailrace/ops/apply.hpp>

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
      const double response = compact_scheme(c.op, h, c.interpolation).response(w);
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

TEST(CompactScheme, NamesOfInterpolations) {
  EXPECT_EQ(interpolation_from_name("classic"), Interpolation::classic);
  EXPECT_EQ(interpolation_from_name("optimised"), Interpolation::optimised);
  EXPECT_EQ(interpolation_from_name("aggressive"), Interpolation::aggressive);
  EXPECT_ANY_THROW(interpolation_from_name("lagrange"));
}
