#include <tailrace/grid/stretching.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

namespace tailrace::grid {

namespace {
constexpr std::array<const char *, 3> stretching_names{"centre", "walls", "bottom"};
constexpr double pi = std::numbers::pi;
} // namespace

Stretching::Where stretching_from_name(const std::string &name) {
  for (std::size_t i = 0; i < stretching_names.size(); ++i)
    if (name == stretching_names[i])
      return static_cast<Stretching::Where>(i);
  throw InputError(fmt::format("stretching '{}' is unknown; choose centre, walls or bottom", name));
}

const char *stretching_name(Stretching::Where where) { return stretching_names[static_cast<std::size_t>(where)]; }

Stretching::Stretching(Where w, double b) : where(w), beta(b) {
  if (!(beta > 0) || !std::isfinite(beta))
    throw InputError(fmt::format("beta of the stretching is {}; expected a positive number", beta));
}

double Stretching::eta(double s) const {
  switch (where) {
  case Where::centre:
    return s;
  case Where::walls:
    return s - 0.5;
  default:
    return s / 2 - 0.5;
  }
}

double Stretching::alpha(double length) const {
  const double half = length / 2;
  // (sqrt(half^2 + pi^2 beta^2) - half) / (2 beta half), without the difference of nearly equal numbers.
  return pi * pi * beta / (2 * half * (std::sqrt(half * half + pi * pi * beta * beta) + half));
}

double Stretching::coordinate(double s, double length) const {
  const double a = alpha(length), product = a * beta;
  const double scale = std::sqrt(beta / (a * (product + 1))), slope = std::sqrt((product + 1) / product);
  const auto branch = [&](double e) { // atan(slope tan(pi e)), continued beyond e = 1/2
    const double whole = std::round(e);
    const double part = e - whole;
    return std::atan2(slope * std::sin(pi * part), std::cos(pi * part)) + pi * whole;
  };
  const double factor = where == Where::bottom ? 2 : 1;
  return factor * scale * (branch(eta(s)) - branch(eta(0)));
}

double Stretching::metric(double s, double length) const {
  const double sine = std::sin(pi * eta(s));
  return length * (alpha(length) / pi + sine * sine / (pi * beta));
}

double Stretching::curvature(double s, double) const {
  return -std::sin(2 * pi * eta(s)) / beta * (where == Where::bottom ? 0.5 : 1);
}

auto Stretching::cosines(double length) const -> Cosines {
  // sin^2(pi eta) = (1 - cos(2 pi eta)) / 2; of eta - 1/2 the cosine has the other sign.
  const double mean = alpha(length) / pi + 1 / (2 * pi * beta), wave = 1 / (4 * pi * beta);
  return {mean, where == Where::centre ? -wave : wave, where == Where::bottom ? 1 : 2};
}

} // namespace tailrace::grid
