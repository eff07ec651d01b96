#pragma once
// Shared code of the tests of the whole solver: it sets flows from functions of the position and compares them.

#include "support.hpp"
#include <tailrace/flow/navier_stokes.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

namespace tailrace::test {

using namespace grid;
using namespace ops;
using namespace flow;

inline constexpr double pi = std::numbers::pi;
using Point = std::array<double, 3>;
using Vector = std::function<Point(const Point &)>;

inline Point position(const Grid &grid, const Index3 &p) {
  Point x;
  for (int d = 0; d < 3; ++d)
    x[d] = grid.stretched(d) ? grid.stretching->coordinate(
                                   static_cast<double>(p[d]) / static_cast<double>(grid.cells()[d]), grid.lengths[d])
                             : grid.spacing(d) * static_cast<double>(p[d]);
  return x;
}

template <class T> void set(NavierStokes<T> &flow, const Vector &u) {
  for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
    const Point value = u(position(flow.grid(), p));
    for (int i = 0; i < 3; ++i)
      flow.velocity(i).data()[at] = static_cast<T>(value[i]);
  });
}

/// The largest difference from `u` over all components and ranks.
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

inline constexpr Index3 odd_nodes{24, 18, 20};
inline constexpr Point odd_lengths{2.0, 1.5, 1.8};

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

/// A smooth flow whose only symmetry is that of free-slip boundaries, with waves as long as the grid. The flow is not
/// divergence-free.
inline Vector tangled(const Grid &grid) {
  return [grid](const Point &x) {
    double c[3], s[3], c2[3]; // cosines are even about free-slip boundaries, sines are odd
    for (int d = 0; d < 3; ++d) {
      const bool periodic = grid.periodic(d);
      const double phase = (periodic ? 2 : 1) * pi * x[d] / grid.lengths[d] + (periodic ? 0.3 + d : 0);
      c[d] = std::cos(phase), s[d] = std::sin(phase), c2[d] = std::cos(2 * phase);
    }
    return Point{s[0] * c[1] * (1 + 0.5 * c2[2]) + 0.3 * s[0] * c[2], -0.8 * c[0] * s[1] * c[2] + 0.4 * s[1] * c2[0],
                 0.6 * c[0] * c[1] * s[2] - 0.3 * s[2] * c2[1]};
  };
}

} // namespace tailrace::test
