#pragma once
// Shared code of the tests of devices: flows that the processor or a device computes, and how far they are apart. Where
// the library was built for tests, the device is the processor, and runs the same kernels.

#include "flow/flows.hpp"
#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/gpu/accelerate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace tailrace::test {

/// A flow without symmetries but those of the ends, and not free of divergence.
inline Vector some_flow(const Grid &grid) {
  return [&grid](const Point &x) {
    Point u;
    for (int i = 0; i < 3; ++i) {
      double product = 1 + 0.3 * i;
      for (int d = 0; d < 3; ++d) {
        const double k = (grid.periodic(d) ? 2 : 1) * pi * ((i + 2 * d) % 3 + 1) / grid.lengths[d];
        product *= !grid.periodic(d) ? (i == d ? std::sin(k * x[d]) : 0.2 + std::cos(k * x[d]))
                                     : std::cos(k * x[d] + 0.3 + i + 0.7 * d) + 0.4 * std::sin(3 * k * x[d]);
      }
      u[i] = product;
    }
    return u;
  };
}

struct Wanted {
  Grid grid;
  FlowOptions options;
  int steps = 3;
  std::function<void(NavierStokes<double> &)> after = {}; ///< what is done to a flow before its first step
};

/// A flow, computed by the processor or by a device.
template <class T> struct Computed : NavierStokes<T> {
  Computed(const Wanted &wanted, bool on_device)
      : NavierStokes<T>(wanted.grid, wanted.options, every_process_grid().front(), TransposeMethod::alltoall) {
    if (on_device)
      gpu::accelerate<T>(*this);
    const Vector flow = some_flow(wanted.grid);
    set<T>(*this, flow);
    for (int d = 0; d < 3; ++d)
      for (const bool upper : {false, true})
        if ((upper ? wanted.grid.boundaries[d].upper : wanted.grid.boundaries[d].lower) == Boundary::dirichlet)
          give(this->face(d, upper), flow);
    if constexpr (std::is_same_v<T, double>)
      if (wanted.after)
        wanted.after(*this);
    this->project();
  }

private:
  void give(Face<T> &face, const Vector &flow) {
    for_each_point(face.box, [&](const Index3 &p, std::int64_t at) {
      const Point value = flow(position(this->grid(), p));
      for (int i = 0; i < 3; ++i)
        face.value[i].data()[at] = static_cast<T>(0.3 * value[i]);
    });
  }
};

/// The largest difference of two fields, in units of the largest value of all ranks.
template <class T> double apart(const T *a, const T *b, std::int64_t size) {
  double most = 0, largest = 0;
  for (std::int64_t p = 0; p < size; ++p) {
    const double difference = std::fabs(static_cast<double>(a[p]) - static_cast<double>(b[p]));
    most = std::isnan(difference) ? INFINITY : std::max(most, difference);
    largest = std::max(largest, std::fabs(static_cast<double>(a[p])));
  }
  return world().max(most) / world().max(largest);
}

template <class T> double apart(NavierStokes<T> &a, NavierStokes<T> &b) {
  double most = 0;
  for (int i = 0; i < 3; ++i)
    most = std::max(most, apart(a.velocity(i).data(), b.velocity(i).data(), a.velocity(i).size()));
  return most;
}

template <class T> double pressures_apart(NavierStokes<T> &a, NavierStokes<T> &b) {
  std::vector<T> p(static_cast<std::size_t>(a.velocity(0).size())), q(p.size());
  a.pressure(p.data());
  b.pressure(q.data());
  return apart(p.data(), q.data(), a.velocity(0).size());
}

template <class T> void expect_equal(const Wanted &wanted, double tolerance, const std::string &what) {
  Computed<T> expected(wanted, false), found(wanted, true);
  const Grid &grid = wanted.grid;
  const double dt = 0.2 * std::min({grid.spacing(0), grid.spacing(1), grid.spacing(2)});
  for (int step = 0; step < wanted.steps; ++step) {
    expected.step(dt);
    found.step(dt);
  }
  EXPECT_LE(apart<T>(expected, found), tolerance) << what;
  EXPECT_LE(pressures_apart<T>(expected, found), 100 * tolerance) << what;
  EXPECT_GT(apart(expected.velocity(0).data(), expected.velocity(1).data(), expected.velocity(0).size()), 0.1);
}

inline Grid box(const Index3 &nodes, Boundary x, Boundary y, Boundary z) {
  return {nodes, {2.0, 1.5, 1.8}, std::array<Boundary, 3>{x, y, z}};
}

/// Whether this process has a device, or the processor in place of one.
inline bool has_device() {
  try {
    gpu::device_name();
    return true;
  } catch (const InputError &) {
    return false;
  }
}

/// Largest differences of the scalars, in units of the largest value of each.
inline double scalars_apart(NavierStokes<double> &a, NavierStokes<double> &b) {
  double most = 0;
  for (std::size_t s = 0; s < a.scalars().size(); ++s)
    most = std::max(most, apart(a.scalar_values(s).data(), b.scalar_values(s).data(), a.velocity(0).size()));
  return most;
}

inline void set_scalars(NavierStokes<double> &flow) {
  for (std::size_t s = 0; s < flow.scalars().size(); ++s)
    for_each_point(flow.velocity(0).box(), [&](const Index3 &p, std::int64_t at) {
      flow.scalar_values(s).data()[at] = 0.5 + 0.4 * noise(p, 11 + static_cast<unsigned>(s));
    });
}

inline VolumeAverages averages_of(NavierStokes<double> &flow) {
  return Diagnostics<double>(flow, every_process_grid().front(), TransposeMethod::alltoall).averages(0.01);
}

/// Skips where this process has no device.
class OnDevice : public testing::Test {
protected:
  void SetUp() override {
    if (!has_device())
      GTEST_SKIP() << "this process has no device";
  }
};

} // namespace tailrace::test
