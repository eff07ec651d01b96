#include <tailrace/ops/compact_scheme.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tailrace::ops {

Interpolation interpolation_from_name(const std::string &name) {
  if (name == "classic")
    return Interpolation::classic;
  if (name == "optimised")
    return Interpolation::optimised;
  if (name == "aggressive")
    return Interpolation::aggressive;
  throw InputError(fmt::format("interpolation '{}' is unknown; choose classic, optimised or aggressive", name));
}

namespace {

/// Sixth order leaves alpha and the fourth pair free; these are the choices of Xcompact3D.
CompactScheme interpolation_scheme(Operation operation, double h, Interpolation kind) {
  double alpha = 0.3, fourth = 0;
  if (kind == Interpolation::optimised) {
    alpha = 0.461658;
    fourth = 0.00293016;
  } else if (kind == Interpolation::aggressive) {
    alpha = 0.49;
  }
  const double first = (75 + 70 * alpha - 320 * fourth) / 64;
  const double second = (126 * alpha - 25 + 1152 * fourth) / 128;
  const double third = (3 - 10 * alpha - 640 * fourth) / 128;
  const int pairs = kind == Interpolation::classic ? 2 : kind == Interpolation::aggressive ? 3 : 4;
  return {operation, alpha, {first / 2, second / 2, pairs > 2 ? third / 2 : 0, pairs > 3 ? fourth / 2 : 0}, pairs, h};
}

/// The row of the aggressive interpolation, which needs three points on either side.
ClosureRow wide_row() {
  const CompactScheme scheme = interpolation_scheme(Operation::interpolate_to_centre, 1, Interpolation::aggressive);
  const auto &p = scheme.pairs;
  return {scheme.alpha, scheme.alpha, {p[2], p[1], p[0], p[0], p[1], p[2]}};
}

} // namespace

CompactScheme compact_scheme(Operation operation, double h, Interpolation interpolation, double filter) {
  switch (operation) {
  case Operation::first_derivative:
    return {operation, 1.0 / 3, {7.0 / 9 / h, 1.0 / 36 / h, 0, 0}, 2, h};
  case Operation::second_derivative:
    return {operation, 2.0 / 11, {12.0 / 11 / (h * h), 3.0 / 44 / (h * h), 0, 0}, 2, h};
  case Operation::derivative_to_centre:
  case Operation::derivative_to_node:
    return {operation, 9.0 / 62, {63.0 / 62 / h, 17.0 / 62 / 3 / h, 0, 0}, 2, h};
  case Operation::filter: {
    const double a = filter;
    if (!(std::fabs(a) < 0.5)) // the matrix would be singular
      throw InputError(fmt::format("a filter's alpha is {}; expected a number between -0.5 and 0.5", a));
    return {operation, a, {(15 + 34 * a) / 64, (-3 + 6 * a) / 32, (1 - 2 * a) / 64, (11 + 10 * a) / 16}, 3, h};
  }
  default:
    return interpolation_scheme(operation, h, interpolation);
  }
}

double CompactScheme::response(double w) const {
  double sum = operation == Operation::filter ? pairs[3] : 0;
  for (int k = 0; k < pair_count; ++k) {
    const double reach = is_staggered(operation) ? k + 0.5 : k + 1;
    if (operation == Operation::second_derivative)
      sum += pairs[k] * 2 * (std::cos(reach * w) - 1);
    else if (is_derivative(operation))
      sum += pairs[k] * 2 * std::sin(reach * w);
    else
      sum += pairs[k] * 2 * std::cos(reach * w);
  }
  return sum / (1 + 2 * alpha * std::cos(w));
}

CompactScheme hyperviscous_scheme(double h, const Hyperviscosity &hyperviscosity) {
  const auto [nu, c] = hyperviscosity;
  if (!(nu >= 0) || !(c >= 0) || !std::isfinite(nu * c))
    throw InputError(fmt::format("hyperviscosity is {} and {}; expected numbers of at least 0", nu, c));
  constexpr double pi = std::numbers::pi;
  const double k1 = pi * pi * (1 + nu), k2 = 4 * pi * pi / 9 * (1 + c * nu);
  const double d = 405 * k1 - 640 * k2 + 144;
  const double alpha = 0.5 - (320 * k2 - 1296) / d;
  if (!(std::fabs(alpha) < 0.5))
    throw InputError(
        fmt::format("hyperviscosity {} with {} at two thirds of the cutoff has no scheme; expected numbers "
                    "such as 4 and 0.44",
                    nu, c));
  const double h2 = h * h;
  return {Operation::second_derivative,
          alpha,
          {-(4329 * k1 / 8 - 32 * k2 - 140 * k1 * k2 + 286) / d / h2,
           (2115 * k1 - 1792 * k2 - 280 * k1 * k2 + 1328) / (4 * d) / h2,
           -(7695 * k1 / 8 + 288 * k2 - 180 * k1 * k2 - 2574) / (9 * d) / h2,
           (198 * k1 + 128 * k2 - 40 * k1 * k2 - 736) / (16 * d) / h2},
          4,
          h};
}

namespace {
/// The sixth-order second derivative as a row near a wall, its middle at point `row`.
ClosureRow sixth_order_row(std::size_t row, double h) {
  const CompactScheme scheme = compact_scheme(Operation::second_derivative, h);
  const auto [near, far, unused_third, unused_fourth] = scheme.pairs;
  ClosureRow found{scheme.alpha, scheme.alpha, std::vector<double>(row + 3, 0)};
  found.weights[row - 2] = found.weights[row + 2] = far;
  found.weights[row - 1] = found.weights[row + 1] = near;
  found.weights[row] = -2 * (near + far);
  return found;
}
} // namespace

std::vector<ClosureRow> wall_closures(const CompactScheme &scheme) {
  const double h = scheme.spacing, filter = scheme.alpha;
  const double d1 = 1 / h, d2 = 1 / (h * h);
  switch (scheme.operation) {
  case Operation::first_derivative: // third order, then fourth
    return {{0, 2, {-5.0 / 2 * d1, 2 * d1, 1.0 / 2 * d1}}, {1.0 / 4, 1.0 / 4, {-3.0 / 4 * d1, 0, 3.0 / 4 * d1}}};
  case Operation::second_derivative: // third order, then fourth
  {
    std::vector<ClosureRow> rows{{0, 11, {13 * d2, -27 * d2, 15 * d2, -1 * d2}},
                                 {1.0 / 10, 1.0 / 10, {6.0 / 5 * d2, -12.0 / 5 * d2, 6.0 / 5 * d2}}};
    for (std::size_t row = 2; row < 4 && scheme.pair_count > 2; ++row) // where the wide stencil does not fit
      rows.push_back(sixth_order_row(row, h));
    return rows;
  }
  case Operation::derivative_to_centre: // third order
    return {{0, 0, {-23.0 / 24 * d1, 7.0 / 8 * d1, 1.0 / 8 * d1, -1.0 / 24 * d1}}};
  case Operation::interpolate_to_centre: // fourth order, then the narrow and the wide sixth-order rows
    return {{0, 0, {5.0 / 16, 15.0 / 16, -5.0 / 16, 1.0 / 16}},
            {0.3, 0.3, {1.0 / 20, 3.0 / 4, 3.0 / 4, 1.0 / 20}},
            wide_row()};
  case Operation::derivative_to_node: // third order, then fourth
    return {{0, 0, {-71.0 / 24 * d1, 47.0 / 8 * d1, -31.0 / 8 * d1, 23.0 / 24 * d1}},
            {1.0 / 22, 1.0 / 22, {-12.0 / 11 * d1, 12.0 / 11 * d1}}};
  case Operation::filter: { // the wall stays, then second and fourth order
    const double a = filter;
    return {{0, 0, {1}},
            {a, a, {(1 + 2 * a) / 4, (1 + 2 * a) / 2, (1 + 2 * a) / 4}},
            {a, a, {(2 * a - 1) / 16, (1 + 2 * a) / 4, (5 + 6 * a) / 8, (1 + 2 * a) / 4, (2 * a - 1) / 16}}};
  }
  default: // fourth order twice, then the narrow and the wide sixth-order rows
    return {{0, 0, {35.0 / 16, -35.0 / 16, 21.0 / 16, -5.0 / 16}},
            {1.0 / 6, 1.0 / 6, {2.0 / 3, 2.0 / 3}},
            {0.3, 0.3, {1.0 / 20, 3.0 / 4, 3.0 / 4, 1.0 / 20}},
            wide_row()};
  }
}

} // namespace tailrace::ops
