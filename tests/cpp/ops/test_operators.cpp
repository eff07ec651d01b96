// Tests operators on distributed fields: their orders of accuracy, exactness on polynomials, and equal values on every
// decomposition. `ctest -V` shows the measured orders.
#include "support.hpp"
#include <tailrace/ops/operators.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

constexpr Operation operations[] = {Operation::first_derivative,     Operation::second_derivative,
                                    Operation::derivative_to_centre, Operation::interpolate_to_centre,
                                    Operation::derivative_to_node,   Operation::interpolate_to_node};
constexpr const char *operation_names[] = {"first derivative",      "second derivative",  "derivative to centre",
                                           "interpolate to centre", "derivative to node", "interpolate to node"};
constexpr Interpolation interpolations[] = {Interpolation::classic, Interpolation::optimised,
                                            Interpolation::aggressive};
constexpr const char *interpolation_names[] = {"classic", "optimised", "aggressive"};

/// A function with its first two derivatives.
struct Function {
  std::function<double(double)> value[3];
  double operator()(Operation op, double x) const {
    return value[!is_derivative(op) ? 0 : op == Operation::second_derivative ? 2 : 1](x);
  }
};

/// exp(sin(k x + phase)). With phase pi/2 the function is even about 0.
Function exponential_of_sine(double k, double phase) {
  const auto f = [=](double x) { return std::exp(std::sin(k * x + phase)); };
  return {{f, [=](double x) { return k * std::cos(k * x + phase) * f(x); },
           [=](double x) {
             const double s = std::sin(k * x + phase), c = std::cos(k * x + phase);
             return k * k * (c * c - s) * f(x);
           }}};
}

/// sin(k x) exp(cos(k x)): the function is odd about 0 and about pi / k.
Function odd_function(double k) {
  return {{[=](double x) { return std::sin(k * x) * std::exp(std::cos(k * x)); },
           [=](double x) {
             const double s = std::sin(k * x), c = std::cos(k * x);
             return k * (c - s * s) * std::exp(c);
           },
           [=](double x) {
             const double s = std::sin(k * x), c = std::cos(k * x);
             return -k * k * s * (1 + 3 * c - s * s) * std::exp(c);
           }}};
}

/// exp(a x) sin(b x + phase): the function has no symmetry and is not periodic.
Function growing_wave(double a, double b, double phase) {
  const auto f = [=](double x, double c, double s) {
    return std::exp(a * x) * (c * std::cos(b * x + phase) + s * std::sin(b * x + phase));
  };
  return {{[=](double x) { return f(x, 0, 1); }, [=](double x) { return f(x, b, a); },
           [=](double x) { return f(x, 2 * a * b, a * a - b * b); }}};
}

Function monomial(int n) {
  return {{[=](double x) { return std::pow(x, n); }, [=](double x) { return n < 1 ? 0 : n * std::pow(x, n - 1); },
           [=](double x) { return n < 2 ? 0 : n * (n - 1) * std::pow(x, n - 2); }}};
}

struct Setting {
  Operation op;
  int direction;
  Boundary boundary;
  Parity parity;
  Interpolation interpolation;
};

/// A grid with `nodes` nodes along the direction of the setting and few in the others. All three lengths are different.
Grid grid_of(const Setting &s, std::int64_t nodes) {
  Index3 n{8, 9, 10};
  std::array<double, 3> lengths{1.1, 1.3, 0.9};
  std::array<Boundary, 3> boundaries{Boundary::periodic, Boundary::free_slip, Boundary::periodic};
  n[s.direction] = nodes;
  boundaries[s.direction] = s.boundary;
  return {n, lengths, boundaries};
}

struct Errors {
  double all, interior;
};

/// Errors of an operator on `f` along its direction. Each line has another amplitude, so that exchanged lines are
/// found.
Errors errors_of(const Setting &s, std::int64_t nodes, const Function &f, const Processes &processes) {
  const Grid grid = grid_of(s, nodes);
  Operators<double> operators(grid, processes, TransposeMethod::alltoall, s.interpolation);
  std::array<bool, 3> centred{};
  centred[s.direction] = to_node(s.op);
  const Box box_in = operators.box(centred);
  centred[s.direction] = to_centre(s.op);
  const Box box_out = operators.box(centred);
  const int d = s.direction, e = (d + 1) % 3, g = (d + 2) % 3;
  const double h = grid.spacing(d), length = grid.lengths[d];
  const auto amplitude = [&](const Index3 &p) {
    return 1 + 0.1 * static_cast<double>(p[e]) - 0.07 * static_cast<double>(p[g]);
  };
  std::vector<double> in(box_in.size()), out(box_out.size());
  for_each_point(box_in, [&](const Index3 &p, std::int64_t at) {
    in[at] = amplitude(p) * f.value[0](h * (static_cast<double>(p[d]) + (to_node(s.op) ? 0.5 : 0)));
  });
  centred[s.direction] = to_node(s.op);
  operators.apply(s.op, d, s.parity, centred, in.data(), out.data());
  Errors errors{0, 0};
  for_each_point(box_out, [&](const Index3 &p, std::int64_t at) {
    const double x = h * (static_cast<double>(p[d]) + (to_centre(s.op) ? 0.5 : 0));
    const double error = std::fabs(out[at] - amplitude(p) * f(s.op, x));
    errors.all = std::max(errors.all, std::isnan(error) ? INFINITY : error);
    if (x > length / 4 && x < 3 * length / 4)
      errors.interior = std::max(errors.interior, error);
  });
  return {world().max(errors.all), world().max(errors.interior)};
}

void report(const Setting &s, const char *kind, double all, double interior) {
  if (world().rank() == 0)
    std::printf("%-22s %-11s %c  %-14s order %.2f", operation_names[static_cast<int>(s.op)],
                is_derivative(s.op) ? "" : interpolation_names[static_cast<int>(s.interpolation)], "xyz"[s.direction],
                kind, all);
  if (world().rank() == 0 && interior > 0)
    std::printf(" at the wall, %.2f inside", interior);
  if (world().rank() == 0)
    std::printf("\n");
}

template <class Visit> void for_each_setting(Boundary boundary, Parity parity, Visit visit) {
  for (const Operation op : operations)
    for (const Interpolation interpolation : interpolations)
      for (int d = 0; d < 3; ++d)
        if (!is_derivative(op) || interpolation == Interpolation::aggressive)
          visit(Setting{op, d, boundary, parity, interpolation});
}

/// Measures the order between 40 and 80 cells. The errors there are 1e-8 to 1e-4, far larger than rounding errors.
void expect_sixth_order(Boundary boundary, Parity parity, const char *kind,
                        const std::function<Function(double)> &make) {
  const std::int64_t extra = boundary == Boundary::periodic ? 0 : 1;
  for_each_setting(boundary, parity, [&](const Setting &s) {
    const Function f = make(grid_of(s, 40).lengths[s.direction]);
    const Processes processes = every_process_grid().back();
    const double coarse = errors_of(s, 40 + extra, f, processes).all, fine = errors_of(s, 80 + extra, f, processes).all;
    EXPECT_GE(order(coarse, fine), 5.8) << operation_names[static_cast<int>(s.op)] << " in " << "xyz"[s.direction];
    EXPECT_GT(fine, 1e-12) << "too close to rounding to tell the order";
    report(s, kind, order(coarse, fine), 0);
  });
}

/// The order of accuracy in the maximum norm with wall closures. Only one or two rows have third order. They reduce the
/// order of the mean error less, but the largest error is at these rows. The third-order row of the second derivative
/// (Lele 4.3.1) has an error of h^3.
int wall_order(Operation op) { return is_derivative(op) ? 3 : 4; }

/// The largest rounding error for values of order 1. The weights of the wall rows add up to 60 in the second
/// derivative, and to 6 in the others.
double rounding(const Setting &s, std::int64_t nodes) {
  const double h = grid_of(s, nodes).spacing(s.direction);
  return s.op == Operation::second_derivative ? 3e-13 / (h * h) : is_derivative(s.op) ? 3e-14 / h : 3e-14;
}

/// The highest power for which every row of the Dirichlet system is exact.
int exact_power(Operation op) { return op == Operation::second_derivative ? 4 : 3; }

} // namespace

TEST(Operators, SixthOrderPeriodic) {
  expect_sixth_order(Boundary::periodic, Parity::even, "periodic",
                     [](double length) { return exponential_of_sine(2 * std::numbers::pi / length, 0.4); });
}

TEST(Operators, SixthOrderFreeSlipEven) {
  expect_sixth_order(Boundary::free_slip, Parity::even, "free-slip even", [](double length) {
    return exponential_of_sine(std::numbers::pi / length, std::numbers::pi / 2);
  });
}

TEST(Operators, SixthOrderFreeSlipOdd) {
  expect_sixth_order(Boundary::free_slip, Parity::odd, "free-slip odd",
                     [](double length) { return odd_function(std::numbers::pi / length); });
}

TEST(Operators, OrderWithDirichletClosures) {
  // A longer wave for the walls, where the order is visible only with a small error. A shorter wave for the interior.
  const Function longer = growing_wave(0.8, 5.0, 0.3), shorter = growing_wave(0.8, 9.0, 0.3);
  for_each_setting(Boundary::dirichlet, Parity::even, [&](const Setting &s) {
    const Processes processes = every_process_grid().back();
    const double at_wall = order(errors_of(s, 65, longer, processes).all, errors_of(s, 129, longer, processes).all);
    const double inside =
        order(errors_of(s, 65, shorter, processes).interior, errors_of(s, 129, shorter, processes).interior);
    EXPECT_GE(at_wall, wall_order(s.op) - 0.2)
        << operation_names[static_cast<int>(s.op)] << " in " << "xyz"[s.direction];
    EXPECT_GE(inside, 5.8) << operation_names[static_cast<int>(s.op)] << " in " << "xyz"[s.direction];
    report(s, "dirichlet", at_wall, inside);
  });
}

TEST(Operators, ExactOnPolynomialsBetweenWalls) {
  for_each_setting(Boundary::dirichlet, Parity::even, [](const Setting &s) {
    for (int power = 0; power <= exact_power(s.op); ++power)
      for (const Processes &processes : every_process_grid())
        EXPECT_LE(errors_of(s, 14, monomial(power), processes).all, rounding(s, 14))
            << operation_names[static_cast<int>(s.op)] << " of x^" << power << " in " << "xyz"[s.direction];
  });
}

TEST(Operators, ConstantsHaveNoDerivativeAndInterpolateToThemselves) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::free_slip, Boundary::dirichlet})
    for_each_setting(boundary, Parity::even, [](const Setting &s) {
      EXPECT_LE(errors_of(s, 17, monomial(0), every_process_grid().front()).all, rounding(s, 17))
          << operation_names[static_cast<int>(s.op)] << ", " << boundary_name(s.boundary);
    });
}

namespace {

/// Applies an operator to noise and returns the part of this rank.
template <class T>
std::vector<T> on_noise(Operators<T> &operators, const Setting &s, const std::array<bool, 3> &centred, Box &box_out) {
  const Box box = operators.box(centred);
  std::vector<T> in(static_cast<std::size_t>(box.size()));
  for_each_point(box, [&](const Index3 &p, std::int64_t at) { in[at] = static_cast<T>(noise(p)); });
  const std::vector<T> before = in;
  auto centred_out = centred;
  centred_out[s.direction] = to_centre(s.op);
  box_out = operators.box(centred_out);
  std::vector<T> out(static_cast<std::size_t>(box_out.size()), T(-99));
  operators.apply(s.op, s.direction, s.parity, centred, in.data(), out.data());
  EXPECT_TRUE(in == before) << "the input was changed";
  return out;
}

/// The largest difference between this decomposition and one rank, relative to the largest value.
template <class T>
double difference_from_one_rank(const Setting &s, const Processes &processes, TransposeMethod method) {
  const Grid grid({13, 12, 11}, {1.0, 1.7, 0.6}, {s.boundary, s.boundary, s.boundary});
  std::array<bool, 3> centred{s.direction == 1, s.direction == 2, s.direction == 0}; // free to choose in two directions
  centred[s.direction] = to_node(s.op);
  Operators<T> whole(grid, alone(), method, s.interpolation), shared(grid, processes, method, s.interpolation);
  Box whole_box, box;
  const auto all = on_noise(whole, s, centred, whole_box);
  const auto mine = on_noise(shared, s, centred, box);
  const auto expected = part_of(all, whole_box.count, box);
  return max_difference(mine.data(), expected.data(), box.size()) / max_abs(all);
}

} // namespace

TEST(Operators, TheSameOnEveryDecomposition) {
  for (const Processes &processes : every_process_grid())
    for (const TransposeMethod method : {TransposeMethod::alltoall, TransposeMethod::subarray})
      for (const Boundary boundary : {Boundary::periodic, Boundary::free_slip, Boundary::dirichlet})
        for_each_setting(boundary, Parity::odd, [&](const Setting &s) {
          // Lines may be grouped differently, and the compiler may use other instructions: only the last bits differ.
          EXPECT_LE(difference_from_one_rank<double>(s, processes, method), 1e-14)
              << operation_names[static_cast<int>(s.op)] << " in " << "xyz"[s.direction] << ", " << name(*processes);
          EXPECT_LE(difference_from_one_rank<float>(s, processes, method), 1e-6)
              << operation_names[static_cast<int>(s.op)] << " in " << "xyz"[s.direction] << ", " << name(*processes);
        });
}

TEST(Operators, SinglePrecisionWithinItsRounding) {
  const Grid grid({13, 12, 11}, {1.0, 1.7, 0.6}, {Boundary::periodic, Boundary::free_slip, Boundary::dirichlet});
  Operators<float> single(grid, alone(), TransposeMethod::alltoall);
  Operators<double> twice(grid, alone(), TransposeMethod::alltoall);
  for (const Operation op : operations)
    for (int d = 0; d < 3; ++d) {
      std::array<bool, 3> centred{};
      centred[d] = to_node(op);
      const Setting s{op, d, grid.boundaries[d].lower, Parity::even, Interpolation::aggressive};
      Box box;
      const auto a = on_noise(single, s, centred, box);
      const auto b = on_noise(twice, s, centred, box);
      EXPECT_LE(max_difference(a.data(), b.data(), box.size()) / max_abs(b), 5e-6)
          << operation_names[static_cast<int>(op)];
    }
}

TEST(Operators, ShapesFollowTheCentredDirections) {
  const Grid grid({13, 12, 11}, {1, 1, 1}, {Boundary::free_slip, Boundary::periodic, Boundary::dirichlet});
  const Operators<double> operators(grid, alone(), TransposeMethod::alltoall);
  EXPECT_EQ(operators.shape({false, false, false}), (Index3{13, 12, 11}));
  EXPECT_EQ(operators.shape({true, true, false}), (Index3{12, 12, 11}));
  EXPECT_EQ(operators.shape({true, true, true}), (Index3{12, 12, 10}));
}

TEST(Operators, RefuseWhatDoesNotFit) {
  const Grid grid({13, 12, 11}, {1, 1, 1}, {Boundary::periodic, Boundary::periodic, Boundary::periodic});
  Operators<double> operators(grid, every_process_grid().front(), TransposeMethod::alltoall);
  std::vector<double> in(2000), out(2000);
  const auto apply = [&](Operation op, int d, const std::array<bool, 3> &centred) {
    operators.apply(op, d, Parity::even, centred, in.data(), out.data());
  };
  EXPECT_THROW(apply(Operation::first_derivative, 3, {}), InputError);
  EXPECT_THROW(apply(Operation::first_derivative, -1, {}), InputError);
  EXPECT_THROW(apply(Operation::derivative_to_node, 0, {false, true, true}), InputError);
  EXPECT_THROW(apply(Operation::interpolate_to_centre, 1, {false, true, false}), InputError);
  EXPECT_THROW(apply(Operation::second_derivative, 2, {false, false, true}), InputError);
}
