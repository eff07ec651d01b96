// Compares the solver for one line with a dense solution of linear systems that this file sets up. Their coefficients
// are derived from exactness on polynomials or copied from the papers. They are never taken from the tables that are
// tested.
#include "ops/line_cases.hpp"
#include "support.hpp"
#include <tailrace/ops/apply.hpp>

#include <gtest/gtest.h>

#include <numbers>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::test;

namespace {

using Matrix = std::vector<std::vector<double>>;

/// Gaussian elimination with row exchange. The columns of b are the right-hand sides.
Matrix solve_dense(Matrix a, Matrix b) {
  const std::size_t n = a.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r][c]) > std::fabs(a[pivot][c]))
        pivot = r;
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      const double m = r == c ? 0 : a[r][c] / a[c][c];
      for (std::size_t k = c; m != 0 && k < n; ++k)
        a[r][k] -= m * a[c][k];
      for (std::size_t k = 0; m != 0 && k < b[r].size(); ++k)
        b[r][k] -= m * b[c][k];
    }
  }
  for (std::size_t r = 0; r < n; ++r)
    for (double &value : b[r])
      value /= a[r][r];
  return b;
}

/// The result at x of the operation applied to x^degree, for spacing 1.
double of_monomial(Operation op, int degree, double x) {
  if (!is_derivative(op))
    return std::pow(x, degree);
  if (op == Operation::second_derivative)
    return degree < 2 ? 0 : degree * (degree - 1) * std::pow(x, degree - 2);
  return degree < 1 ? 0 : degree * std::pow(x, degree - 1);
}

/// Weights at `points` for which alpha g(at - 1) + g(at) + beta g(at + 1) = sum weights f is exact for as many powers
/// as there are points.
std::vector<double> exact_weights(Operation op, double alpha, double beta, double at,
                                  const std::vector<double> &points) {
  const std::size_t n = points.size();
  Matrix a(n, std::vector<double>(n)), b(n, std::vector<double>(1));
  for (std::size_t m = 0; m < n; ++m) {
    const int degree = static_cast<int>(m);
    for (std::size_t k = 0; k < n; ++k)
      a[m][k] = std::pow(points[k] - at, degree); // relative to the point of the row, to keep rounding errors small
    b[m][0] = of_monomial(op, degree, 0) + alpha * of_monomial(op, degree, -1) + beta * of_monomial(op, degree, 1);
  }
  std::vector<double> weights;
  for (const auto &row : solve_dense(a, b))
    weights.push_back(row[0]);
  return weights;
}

struct Interior {
  double alpha;
  std::vector<double> right; ///< weights of the points right of the centre; the left ones follow by symmetry
};

/// Sixth-order interpolation: exact for 1, x^2, x^4 with given alpha and given weight of the fourth pair.
Interior interpolation_interior(double alpha, double fourth) {
  Matrix a(3, std::vector<double>(3)), b(3, std::vector<double>(1));
  for (int m = 0; m < 3; ++m) {
    for (int k = 0; k < 3; ++k)
      a[m][k] = 2 * std::pow(k + 0.5, 2 * m);
    b[m][0] = (m == 0 ? 1 : 0) + 2 * alpha - 2 * fourth * std::pow(3.5, 2 * m);
  }
  const Matrix c = solve_dense(a, b);
  return {alpha, {c[0][0], c[1][0], c[2][0], fourth}};
}

/// A second derivative of sixth order whose symbol is w^2 (1 + excess) at two waves.
Interior hyperviscous_interior(const Hyperviscosity &hyperviscosity) {
  // Unknowns: alpha and four weights. Exact for x^2, x^4 and x^6, then the two waves.
  Matrix a(5, std::vector<double>(5)), b(5, std::vector<double>(1));
  for (int m = 0; m < 3; ++m) {
    const int degree = 2 * (m + 1);
    a[m][0] = -2 * of_monomial(Operation::second_derivative, degree, 1);
    for (int k = 1; k <= 4; ++k)
      a[m][k] = 2 * std::pow(k, degree);
    b[m][0] = of_monomial(Operation::second_derivative, degree, 0);
  }
  const double waves[] = {std::numbers::pi, 2 * std::numbers::pi / 3};
  const double excesses[] = {hyperviscosity.at_cutoff, hyperviscosity.middle * hyperviscosity.at_cutoff};
  for (int i = 0; i < 2; ++i) {
    const double w = waves[i], symbol = w * w * (1 + excesses[i]);
    a[3 + i][0] = -symbol * 2 * std::cos(w);
    for (int k = 1; k <= 4; ++k)
      a[3 + i][k] = 2 * (1 - std::cos(k * w));
    b[3 + i][0] = symbol;
  }
  const Matrix c = solve_dense(a, b);
  return {c[0][0], {c[1][0], c[2][0], c[3][0], c[4][0]}};
}

/// Lele (1992), eqs. 2.1.7 and 2.2.7; Laizet and Lamballais (2009), eqs. 11 to 13; free parameters as in Xcompact3D.
Interior interior(const Case &c) {
  if (c.hyperviscosity)
    return hyperviscous_interior(*c.hyperviscosity);
  const Interpolation interpolation = c.interpolation;
  switch (c.op) {
  case Operation::first_derivative:
    return {1.0 / 3, {14.0 / 9 / 2, 1.0 / 9 / 4}};
  case Operation::second_derivative:
    return {2.0 / 11, {12.0 / 11, 3.0 / 11 / 4}};
  case Operation::derivative_to_centre:
  case Operation::derivative_to_node:
    return {9.0 / 62, {63.0 / 62, 17.0 / 62 / 3}};
  default:
    return interpolation == Interpolation::classic      ? interpolation_interior(0.3, 0)
           : interpolation == Interpolation::aggressive ? interpolation_interior(0.49, 0)
                                                        : interpolation_interior(0.461658, 0.00293016 / 2);
  }
}

/// A row near a wall: the alphas of its neighbours, and the number of points, counted from the wall, that have weights.
struct WallRow {
  double left, right;
  int points;
};

std::vector<WallRow> wall_rows(const Case &c) {
  if (c.hyperviscosity) // behind the rows of the second derivative the sixth-order scheme, until the wide one fits
    return {{0, 11, 4}, {0.1, 0.1, 3}, {2.0 / 11, 2.0 / 11, 5}, {2.0 / 11, 2.0 / 11, 6}};
  switch (c.op) {
  case Operation::first_derivative: // Lele eqs. 4.1.1 (third order) and the Pade scheme
    return {{0, 2, 3}, {0.25, 0.25, 3}};
  case Operation::second_derivative: // Lele eqs. 4.3.1 (third order) and the Pade scheme
    return {{0, 11, 4}, {0.1, 0.1, 3}};
  case Operation::derivative_to_centre:
    return {{0, 0, 4}};
  case Operation::interpolate_to_centre:
    return {{0, 0, 4}, {0.3, 0.3, 4}, {0.49, 0.49, 6}};
  case Operation::derivative_to_node:
    return {{0, 0, 4}, {1.0 / 22, 1.0 / 22, 2}};
  default:
    return {{0, 0, 4}, {1.0 / 6, 1.0 / 6, 2}, {0.3, 0.3, 4}, {0.49, 0.49, 6}};
  }
}

/// Adds `weight` for point q of a line. Points beyond the ends of the line are mapped to points on the line.
void add_continued(std::vector<double> &row, const Case &c, bool centres, std::int64_t q, double parity,
                   double weight) {
  const auto n = static_cast<std::int64_t>(row.size());
  if (c.boundary == Boundary::periodic) {
    row[(q + 2 * n) % n] += weight;
    return;
  }
  if (q < 0)
    return add_continued(row, c, centres, centres ? -1 - q : -q, parity, weight * parity);
  if (q >= n)
    return add_continued(row, c, centres, centres ? 2 * n - 1 - q : 2 * n - 2 - q, parity, weight * parity);
  row[q] += weight;
}

struct Dense {
  Matrix left, right;
};

void write_interior_row(Dense &dense, const Case &c, std::int64_t i) {
  const Interior scheme = interior(c);
  const double parity_in = static_cast<int>(c.parity), parity_out = c.symmetry() * parity_in;
  dense.left[i][i] += 1;
  for (const std::int64_t neighbour : {i - 1, i + 1})
    add_continued(dense.left[i], c, to_centre(c.op), neighbour, parity_out, scheme.alpha);
  for (std::size_t k = 0; k < scheme.right.size(); ++k) {
    const auto reach = static_cast<std::int64_t>(k);
    const std::int64_t right = i + reach + (to_node(c.op) ? 0 : 1), left = i - reach - (to_centre(c.op) ? 0 : 1);
    add_continued(dense.right[i], c, to_node(c.op), right, parity_in, scheme.right[k]);
    add_continued(dense.right[i], c, to_node(c.op), left, parity_in, c.symmetry() * scheme.right[k]);
    if (c.op == Operation::second_derivative)
      add_continued(dense.right[i], c, false, i, parity_in, -2 * scheme.right[k]);
  }
}

/// Writes the i-th row from the wall at one end.
void write_wall_row(Dense &dense, const Case &c, std::int64_t i, const WallRow &row, bool upper) {
  std::vector<double> points; // distances from the wall node, in spacings
  for (int k = 0; k < row.points; ++k)
    points.push_back(k + (to_node(c.op) ? 0.5 : 0));
  const double at = static_cast<double>(i) + (to_centre(c.op) ? 0.5 : 0);
  const auto weights = exact_weights(c.op, row.left, row.right, at, points);
  const std::int64_t n = c.points_out(), m = c.points_in(), here = upper ? n - 1 - i : i, inwards = upper ? -1 : 1;
  dense.left[here][here] = 1;
  if (i > 0)
    dense.left[here][here - inwards] = row.left;
  dense.left[here][here + inwards] = row.right;
  for (std::int64_t k = 0; k < row.points; ++k)
    dense.right[here][upper ? m - 1 - k : k] = (upper ? c.symmetry() : 1) * weights[k];
}

/// The whole operator for spacing h as a matrix with points_out rows and points_in columns.
Matrix dense_operator(const Case &c, double h) {
  const std::int64_t n = c.points_out();
  Dense dense{Matrix(n, std::vector<double>(n)), Matrix(n, std::vector<double>(c.points_in()))};
  const auto walls = wall_rows(c);
  const auto near = static_cast<std::int64_t>(walls.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from_end = n - 1 - i;
    if (c.boundary.lower == Boundary::dirichlet && i < near)
      write_wall_row(dense, c, i, walls[i], false);
    else if (c.boundary.upper == Boundary::dirichlet && from_end < near)
      write_wall_row(dense, c, from_end, walls[from_end], true);
    else
      write_interior_row(dense, c, i);
  }
  Matrix result = solve_dense(dense.left, dense.right);
  const double scale = !is_derivative(c.op) ? 1 : c.op == Operation::second_derivative ? 1 / (h * h) : 1 / h;
  for (auto &row : result)
    for (double &value : row)
      value *= scale;
  return result;
}

/// Noise as values of a line, with the parity of the case: odd fields are zero on boundary nodes.
double line_value(const Case &c, std::int64_t j, std::int64_t line) {
  const bool on_free_slip = (j == 0 && c.boundary.lower == Boundary::free_slip) ||
                            (j == c.nodes - 1 && c.boundary.upper == Boundary::free_slip);
  const bool vanishes = !to_node(c.op) && c.parity == Parity::odd && on_free_slip;
  return vanishes ? 0 : noise({j, line, 0}, 5);
}

/// Applies the system to noise in a block of `count` points along d. Returns the largest error compared with the dense
/// operator, relative to its largest row sum. The memory behind the result must not change.
template <class T> double error_on_block(const Case &c, const Matrix &dense, int d, Index3 count, bool in_place) {
  const auto system = system_of<T>(c, 1);
  count[d] = c.points_in();
  Index3 count_out = count;
  count_out[d] = c.points_out();
  const Lines lines = Lines::along(d, count);
  constexpr std::int64_t guard = 64;
  std::vector<T> in(static_cast<std::size_t>(product(count) + guard), T(-99)), out(product(count_out) + guard, T(-99));
  for (std::int64_t o = 0; o < lines.outer; ++o)
    for (std::int64_t j = 0; j < lines.points; ++j)
      for (std::int64_t i = 0; i < lines.inner; ++i)
        in[(o * lines.points + j) * lines.inner + i] = static_cast<T>(line_value(c, j, o * lines.inner + i));
  const std::vector<T> original = in;
  std::vector<T> &result = in_place ? in : out;
  apply(system, d, count, in.data(), result.data());
  double norm = 0, error = 0;
  for (const auto &row : dense) {
    double sum = 0;
    for (const double w : row)
      sum += std::fabs(w);
    norm = std::max(norm, sum);
  }
  for (std::int64_t o = 0; o < lines.outer; ++o)
    for (std::int64_t r = 0; r < c.points_out(); ++r)
      for (std::int64_t i = 0; i < lines.inner; ++i) {
        double expected = 0;
        for (std::int64_t j = 0; j < lines.points; ++j)
          expected += dense[r][j] * static_cast<double>(original[(o * lines.points + j) * lines.inner + i]);
        const double found = static_cast<double>(result[(o * c.points_out() + r) * lines.inner + i]);
        error = std::isnan(found) ? INFINITY : std::max(error, std::fabs(found - expected));
      }
  for (auto at = result.end() - guard; at != result.end(); ++at)
    if (*at != T(-99))
      return INFINITY;
  return error / norm;
}

// Some rounding errors per point; the aggressive interpolation (alpha = 0.49) has a condition number of about 50.
constexpr double tight = 1e-13;
constexpr double tight_float = 3e-6;

} // namespace

TEST(LineSolver, SolvesTheSystemsOfThePapers) {
  for (const std::int64_t nodes : {8, 9, 16, 17, 31})
    for (const Case &c : every_case(nodes)) {
      const Matrix dense = dense_operator(c, 1);
      for (int d = 0; d < 3; ++d) {
        Index3 count{3, 5, 2};
        EXPECT_LE(error_on_block<double>(c, dense, d, count, false), tight) << c << ", direction " << d;
        EXPECT_LE(error_on_block<float>(c, dense, d, count, false), tight_float)
            << c << ", direction " << d << ", float";
      }
    }
}

TEST(LineSolver, AnyNumberOfLines) {
  for (const Case &c : every_case(11)) {
    if (c.parity == Parity::odd || c.boundary.lower != c.boundary.upper)
      continue; // tested above
    const Matrix dense = dense_operator(c, 1);
    for (std::int64_t lines = 1; lines <= 70; ++lines) {
      EXPECT_LE(error_on_block<double>(c, dense, 0, {0, lines, 1}, false), tight) << c << ", " << lines << " rows";
      EXPECT_LE(error_on_block<double>(c, dense, 1, {lines, 0, 2}, false), tight) << c << ", " << lines << " columns";
      EXPECT_LE(error_on_block<double>(c, dense, 2, {1, lines, 0}, false), tight) << c << ", " << lines << " columns";
      EXPECT_LE(error_on_block<float>(c, dense, 1, {lines, 0, 1}, false), tight_float)
          << c << ", " << lines << ", float";
      EXPECT_LE(error_on_block<float>(c, dense, 0, {0, lines, 1}, false), tight_float)
          << c << ", " << lines << ", float";
    }
  }
}

TEST(LineSolver, InPlaceWhereLengthsAreEqual) {
  for (const std::int64_t nodes : {12, 13})
    for (const Case &c : every_case(nodes)) {
      if (c.points_in() != c.points_out())
        continue;
      const Matrix dense = dense_operator(c, 1);
      for (const std::int64_t lines : {1, 7, 33}) {
        EXPECT_LE(error_on_block<double>(c, dense, 0, {0, lines, 2}, true), tight) << c << ", " << lines;
        EXPECT_LE(error_on_block<double>(c, dense, 1, {lines, 0, 3}, true), tight) << c << ", " << lines;
        EXPECT_LE(error_on_block<double>(c, dense, 2, {lines, 2, 0}, true), tight) << c << ", " << lines;
      }
    }
}

TEST(LineSolver, NoLinesAtAll) {
  for (const Case &c : every_case(11)) {
    const auto system = system_of<double>(c, 1);
    double untouched = 5;
    apply(system, 0, {c.points_in(), 0, 3}, &untouched, &untouched);
    apply(system, 1, {0, c.points_in(), 3}, &untouched, &untouched);
    apply(system, 2, {2, 0, c.points_in()}, &untouched, &untouched);
    EXPECT_EQ(untouched, 5);
  }
}

TEST(LineSolver, ScalesWithSpacingAndFactor) {
  const double h = 0.37, factor = -2.5;
  for (const Case &c : every_case(14)) {
    const Matrix dense = dense_operator(c, h);
    const auto system = system_of<double>(c, h, factor);
    std::vector<double> in, out(static_cast<std::size_t>(c.points_out()));
    for (std::int64_t j = 0; j < c.points_in(); ++j)
      in.push_back(line_value(c, j, 0));
    apply(system, 0, {c.points_in(), 1, 1}, in.data(), out.data());
    for (std::int64_t r = 0; r < c.points_out(); ++r) {
      double expected = 0;
      for (std::int64_t j = 0; j < c.points_in(); ++j)
        expected += factor * dense[r][j] * in[j];
      EXPECT_NEAR(out[r], expected, 1e-11) << c << ", row " << r; // the values are of order 100
    }
  }
}

TEST(LineSolver, AMetricMultipliesEveryResult) {
  const double factor = -0.7;
  for (const std::int64_t nodes : {9, 14})
    for (const Case &c : every_case(nodes)) {
      if (c.boundary.periodic())
        continue; // a stretched direction is never periodic
      const std::vector<double> metric = some_metric(c);
      const auto system = system_of<double>(c, 1, factor, metric);
      const Matrix dense = dense_operator(c, 1);
      std::vector<double> in, out(static_cast<std::size_t>(c.points_out()));
      for (std::int64_t j = 0; j < c.points_in(); ++j)
        in.push_back(line_value(c, j, 0));
      apply(system, 0, {c.points_in(), 1, 1}, in.data(), out.data());
      for (std::int64_t r = 0; r < c.points_out(); ++r) {
        double expected = 0;
        for (std::int64_t j = 0; j < c.points_in(); ++j)
          expected += factor * metric[r] * dense[r][j] * in[j];
        EXPECT_NEAR(out[r], expected, 1e-11) << c << ", row " << r;
      }
    }
}

TEST(LineSolver, OddQuantitiesHaveNoSecondDerivativeAtFreeSlip) {
  // Also where a field from outside has a value there; as Xcompact3D, which uses that value at the other points.
  for (const Case &c : every_case(12)) {
    if (c.op != Operation::second_derivative || c.parity == Parity::even)
      continue;
    const std::int64_t n = c.points_out();
    Dense dense{Matrix(n, std::vector<double>(n)), Matrix(n, std::vector<double>(n))};
    const auto walls = wall_rows(c);
    const auto near = static_cast<std::int64_t>(walls.size());
    const auto is_wall = [&](bool upper) {
      return (upper ? c.boundary.upper : c.boundary.lower) == Boundary::dirichlet;
    };
    for (std::int64_t i = 0; i < n; ++i)
      if ((i == 0 && !is_wall(false)) || (i == n - 1 && !is_wall(true)))
        dense.left[i][i] = 1;
      else if (is_wall(false) && i < near)
        write_wall_row(dense, c, i, walls[i], false);
      else if (is_wall(true) && n - 1 - i < near)
        write_wall_row(dense, c, n - 1 - i, walls[n - 1 - i], true);
      else
        write_interior_row(dense, c, i);
    const Matrix matrix = solve_dense(dense.left, dense.right);
    std::vector<double> in, out(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j)
      in.push_back(noise({j, 0, 0}, 3));
    apply(system_of<double>(c, 1), 0, {n, 1, 1}, in.data(), out.data());
    for (std::int64_t r = 0; r < n; ++r) {
      double expected = 0;
      for (std::int64_t j = 0; j < n; ++j)
        expected += matrix[r][j] * in[j];
      EXPECT_NEAR(out[r], expected, 1e-12) << c << ", row " << r;
    }
  }
}
