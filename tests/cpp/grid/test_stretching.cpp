// Tests the stretched coordinate against its definition, an integral, and the numbers that grids derive from it.
#include <tailrace/grid/grid.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

using namespace tailrace;
using namespace tailrace::grid;

namespace {

using Where = Stretching::Where;
constexpr double pi = std::numbers::pi;

/// Calls visit(stretching, length) for every kind, and for weak and strong stretching.
template <class Visit> void for_each_stretching(Visit visit) {
  for (const Where where : {Where::centre, Where::walls, Where::bottom})
    for (const double beta : {0.05, 0.259065151, 1.3, 40.0})
      for (const double length : {0.7, 2.0, 11.0})
        visit(Stretching(where, beta), length,
              std::string(stretching_name(where)) + ", beta " + std::to_string(beta) + ", length " +
                  std::to_string(length));
}

/// A derivative by central differences, extrapolated to sixth order.
double derivative(const std::function<double(double)> &f, double x, double h) {
  const auto slope = [&](double step) { return (f(x + step) - f(x - step)) / (2 * step); };
  return (15 * slope(h) - 6 * slope(2 * h) + slope(3 * h)) / 10;
}

Grid stretched_grid(std::int64_t nodes, const Stretching &stretching, double length) {
  return {{8, nodes, 9}, {1.0, length, 1.5}, {Boundary::periodic, Boundary::dirichlet, Boundary::periodic}, stretching};
}

double integral(const Grid &grid, bool centred, const std::function<double(double)> &f) {
  const std::vector<double> weights = grid.weights(1, centred), y = grid.coordinates(1, centred);
  double sum = 0;
  for (std::size_t j = 0; j < y.size(); ++j)
    sum += weights[j] * f(y[j]) * grid.spacing(1);
  return sum;
}

} // namespace

TEST(Stretching, EndsAreExactAndNodesRise) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const Grid grid = stretched_grid(101, stretching, length);
    const std::vector<double> y = grid.coordinates(1), centres = grid.coordinates(1, true);
    EXPECT_EQ(y.front(), 0) << what;
    EXPECT_NEAR(y.back(), length, 4e-15 * length) << what;
    ASSERT_EQ(y.size(), 101u);
    ASSERT_EQ(centres.size(), 100u);
    for (std::size_t j = 0; j < centres.size(); ++j) {
      EXPECT_LT(y[j], centres[j]) << what << ", cell " << j;
      EXPECT_LT(centres[j], y[j + 1]) << what << ", cell " << j;
    }
  });
}

TEST(Stretching, TheMetricIsTheDerivativeOfTheMapping) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const auto coordinate = [&](double s) { return stretching.coordinate(s, length); };
    const auto metric = [&](double s) { return stretching.metric(s, length); };
    double largest = 0;
    for (double s = 0; s <= 1; s += 1.0 / 64)
      largest = std::max(largest, metric(s));
    for (double s = 1.0 / 64; s < 1; s += 1.0 / 64) {
      const double h = 2e-4; // the coordinate has no limits: it also continues beyond the ends
      // dy/ds = length / metric; the function is smooth on the scale of the smallest distance, about beta.
      EXPECT_NEAR(derivative(coordinate, s, h) * metric(s) / length, 1, 2e-7) << what << " at " << s;
      EXPECT_NEAR(-derivative(metric, s, h) / length, stretching.curvature(s, length), 1e-9 * largest / length)
          << what << " at " << s;
    }
  });
}

TEST(Stretching, TheMappingIsTheIntegralOfTheInverseMetric) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const int steps = 4000; // Simpson's rule, fourth order
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
      const auto inverse = [&](double s) { return length / stretching.metric(s, length); };
      const double s = static_cast<double>(i) / steps, h = 1.0 / steps;
      sum += h / 6 * (inverse(s) + 4 * inverse(s + h / 2) + inverse(s + h));
      if (i % 500 == 499) {
        EXPECT_NEAR(sum, stretching.coordinate(s + h, length), 1e-9 * length) << what << " up to " << s + h;
      }
    }
  });
}

TEST(Stretching, TheCosinesAreTheMetric) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const auto cosines = stretching.cosines(length);
    for (double s = 0; s <= 1; s += 1.0 / 32) {
      const double expected = length * (cosines.mean + 2 * cosines.wave * std::cos(cosines.waves * pi * s));
      EXPECT_NEAR(stretching.metric(s, length), expected, 1e-14 * length * (cosines.mean + 2 * std::fabs(cosines.wave)))
          << what << " at " << s;
    }
  });
}

TEST(Stretching, NodesAreCloseWhereTheNameSays) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const Grid grid = stretched_grid(41, stretching, length);
    const std::vector<double> d = grid.distances(1);
    const std::size_t closest = static_cast<std::size_t>(std::min_element(d.begin(), d.end()) - d.begin());
    switch (stretching.where) {
    case Where::centre:
      EXPECT_NEAR(static_cast<double>(closest), 20, 1) << what;
      break;
    case Where::walls:
      EXPECT_TRUE(closest <= 1 || closest >= 39) << what;
      break;
    default:
      EXPECT_LE(closest, 1u) << what;
      EXPECT_EQ(std::max_element(d.begin(), d.end()) - d.begin(), 40) << what;
    }
    // A smaller beta brings them closer.
    const Grid closer = stretched_grid(41, Stretching(stretching.where, stretching.beta / 2), length);
    const std::vector<double> c = closer.distances(1);
    EXPECT_LT(*std::min_element(c.begin(), c.end()), *std::min_element(d.begin(), d.end())) << what;
  });
}

TEST(Stretching, TheTwoSymmetricKindsAreSymmetric) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const std::vector<double> y = stretched_grid(33, stretching, length).coordinates(1);
    double largest = 0;
    for (std::size_t j = 0; j < y.size(); ++j)
      largest = std::max(largest, std::fabs(y[j] + y[y.size() - 1 - j] - length));
    if (stretching.where == Where::bottom)
      EXPECT_GT(largest, 1e-3 * length / stretching.beta) << what;
    else
      EXPECT_LE(largest, 1e-14 * length) << what;
  });
}

TEST(Grid, DistancesAreTheLeastOnesOfANeighbour) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const Grid grid = stretched_grid(17, stretching, length);
    const std::vector<double> y = grid.coordinates(1), d = grid.distances(1);
    ASSERT_EQ(d.size(), y.size());
    EXPECT_EQ(d.front(), y[1] - y[0]) << what;
    EXPECT_EQ(d.back(), y[16] - y[15]) << what;
    for (std::size_t j = 1; j + 1 < y.size(); ++j)
      EXPECT_EQ(d[j], std::min(y[j] - y[j - 1], y[j + 1] - y[j])) << what;
    for (const double x : grid.distances(0))
      EXPECT_EQ(x, 1.0 / 8);
    for (const double z : grid.distances(2))
      EXPECT_EQ(z, 1.5 / 9);
  });
}

TEST(Grid, WeightsIntegrate) {
  for_each_stretching([](const Stretching &stretching, double length, const std::string &what) {
    const auto cubic = [&](double y) { return 1 + std::pow(y / length, 3) - 2 * std::pow(y / length, 2); };
    const double exact = length * (1 + 1.0 / 4 - 2.0 / 3);
    for (const bool centred : {false, true}) {
      const auto error = [&](std::int64_t nodes) {
        return std::fabs(integral(stretched_grid(nodes, stretching, length), centred, cubic) - exact);
      };
      EXPECT_NEAR(integral(stretched_grid(33, stretching, length), centred, [](double) { return 1; }), length,
                  2e-14 * length)
          << what;
      // Of a higher order until what is left at the ends, where the nodes are close together, is the largest error.
      EXPECT_GE(std::log2(error(257) / error(513)), 1.7) << what << (centred ? ", centres" : ", nodes");
    }
    // What derivatives along the uniform coordinate add up to: all inner nodes count alike.
    const Grid grid = stretched_grid(33, stretching, length);
    const std::vector<double> weights = grid.weights(1), metric = grid.metric(1);
    for (std::size_t j = 1; j + 1 < weights.size(); ++j)
      EXPECT_NEAR(weights[j] * metric[j], weights[1] * metric[1], 1e-14 * weights[1] * metric[1]) << what;
    EXPECT_NEAR(2 * weights.front() * metric.front(), weights[1] * metric[1], 1e-14 * weights[1] * metric[1]) << what;
  });
  const Grid uniform({9, 10, 8}, {1.6, 1.0, 1.0}, {Boundary::free_slip, Boundary::dirichlet, Boundary::periodic});
  const std::vector<double> x = uniform.weights(0), z = uniform.weights(2), centres = uniform.weights(1, true);
  EXPECT_EQ(x, (std::vector<double>{0.5, 1, 1, 1, 1, 1, 1, 1, 0.5}));
  EXPECT_EQ(z, std::vector<double>(8, 1));
  EXPECT_EQ(centres, std::vector<double>(9, 1));
}

TEST(Grid, UniformDirectionsHaveNoMetric) {
  const Grid grid = stretched_grid(9, Stretching(Where::walls, 0.3), 2);
  for (const int d : {0, 2}) {
    EXPECT_TRUE(grid.metric(d).empty());
    EXPECT_TRUE(grid.curvature(d).empty());
    EXPECT_FALSE(grid.stretched(d));
  }
  EXPECT_TRUE(grid.stretched(1));
  EXPECT_EQ(grid.metric(1).size(), 9u);
  EXPECT_EQ(grid.metric(1, true).size(), 8u);
  EXPECT_EQ(grid.curvature(1).size(), 9u);
}

TEST(Grid, NamesOfSides) {
  EXPECT_EQ(sides_from_name("periodic"), Sides(Boundary::periodic));
  EXPECT_EQ(sides_from_name("dirichlet"), Sides(Boundary::dirichlet, Boundary::dirichlet));
  EXPECT_EQ(sides_from_name("dirichlet|free-slip"), Sides(Boundary::dirichlet, Boundary::free_slip));
  for (const char *name : {"dirichlet|free-slip", "free-slip|dirichlet", "free-slip", "periodic"})
    EXPECT_EQ(sides_name(sides_from_name(name)), name);
  for (const char *wrong : {"", "|", "wall", "dirichlet|", "|dirichlet", "dirichlet|free-slip|dirichlet", "Periodic"})
    EXPECT_THROW(sides_from_name(wrong), InputError) << wrong;
  for (const char *name : {"centre", "walls", "bottom"})
    EXPECT_EQ(std::string(stretching_name(stretching_from_name(name))), name);
  EXPECT_THROW(stretching_from_name("top"), InputError);
}

TEST(Grid, RefusesWhatMakesNoSense) {
  const Boundaries walls{Boundary::periodic, Boundary::dirichlet, Boundary::periodic};
  const Stretching stretching(Where::walls, 0.3);
  EXPECT_THROW(Grid({8, 8, 8}, {1, 1, 1}, {Boundary::periodic, Boundary::periodic, Boundary::periodic}, stretching),
               InputError);
  EXPECT_THROW(
      Grid({8, 8, 8}, {1, 1, 1}, {Sides(Boundary::periodic, Boundary::free_slip), walls[1], Boundary::periodic}),
      InputError);
  EXPECT_THROW(Grid({8, 7, 8}, {1, 1, 1}, walls), InputError);
  EXPECT_THROW(Grid({8, 8, 8}, {1, NAN, 1}, walls), InputError);
  for (const double beta : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)})
    EXPECT_THROW(Stretching(Where::walls, beta), InputError) << beta;
}
