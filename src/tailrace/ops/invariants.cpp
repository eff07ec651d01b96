#include <tailrace/ops/invariants.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tailrace::ops {

namespace {

// Everything is inlined into the loop over points and has no branches, so that the compiler computes a register of
// points at a time, which is six times as fast.

using Vector = std::array<double, 3>;

Vector cross(const Vector &a, const Vector &b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Vector &a, const Vector &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector scaled(const Vector &a, double s) { return {a[0] * s, a[1] * s, a[2] * s}; }
/// Component by component, because a branch would prevent the compiler from computing several points at a time.
Vector select(bool first, const Vector &a, const Vector &b) {
  return {first ? a[0] : b[0], first ? a[1] : b[1], first ? a[2] : b[2]};
}

/// The largest root of x^3 - 3 x = 2 r, for 0 <= r <= 1, which is between sqrt(3) and 2. A line between both values is
/// within 1e-2 of it, so that three Newton steps are exact to the last bit.
[[gnu::always_inline]] inline double largest_root(double r) {
  double x = std::numbers::sqrt3 + (2 - std::numbers::sqrt3) * r;
#pragma GCC unroll 3
  for (int step = 0; step < 3; ++step)
    x -= (x * (x * x - 3) - 2 * r) / (3 * (x * x - 1));
  return x;
}

/// The unit eigenvector of an eigenvalue far from the other two: all rows of m - value I are at right angles to it.
[[gnu::always_inline]] inline Vector eigenvector(const std::array<double, 6> &m, double value) {
  const Vector x{m[0] - value, m[1], m[2]}, y{m[1], m[3] - value, m[4]}, z{m[2], m[4], m[5] - value};
  const Vector a = cross(x, y), b = cross(y, z), c = cross(z, x);
  const Vector ab = select(dot(a, a) > dot(b, b), a, b);
  const Vector longest = select(dot(ab, ab) > dot(c, c), ab, c);
  return scaled(longest, 1 / std::sqrt(dot(longest, longest)));
}

/// The middle eigenvalue of a matrix of trace 0 whose squares add up to 6, or of 0.
///
/// The characteristic polynomial gives the eigenvalue that is far from the other two to the last bits, but not those
/// two where they are nearly equal: they are computed in the plane at right angles to its eigenvector.
[[gnu::always_inline]] inline double middle_of_normalised(const std::array<double, 6> &m) {
  const Vector x{m[0], m[1], m[2]}, y{m[1], m[3], m[4]}, z{m[2], m[4], m[5]};
  const double r = 0.5 * dot(x, cross(y, z)), size = std::fabs(r);
  const double far = std::copysign(largest_root(size < 1 ? size : 1), r);
  const Vector w = eigenvector(m, far);
  const Vector across = select(std::fabs(w[0]) > std::fabs(w[1]), {-w[2], 0, w[0]}, {0, w[2], -w[1]});
  const Vector u = scaled(across, 1 / std::sqrt(dot(across, across))), v = cross(w, u);
  const Vector mu{dot(x, u), dot(y, u), dot(z, u)}, mv{dot(x, v), dot(y, v), dot(z, v)};
  const double uu = dot(u, mu), uv = dot(v, mu), vv = dot(v, mv);
  const double half = 0.5 * (uu - vv);
  return 0.5 * (uu + vv) + std::copysign(std::sqrt(half * half + uv * uv), far);
}

[[gnu::always_inline]] inline double middle(std::array<double, 6> m) {
  const double norm =
      std::fabs(m[0]) + std::fabs(m[1]) + std::fabs(m[2]) + std::fabs(m[3]) + std::fabs(m[4]) + std::fabs(m[5]);
  const double scale = norm < 1e-290 ? 1e-290 : norm; // squares must neither overflow nor vanish
#pragma GCC unroll 6
  for (double &entry : m)
    entry /= scale;
  const double mean = (m[0] + m[3] + m[5]) / 3;
  m[0] -= mean;
  m[3] -= mean;
  m[5] -= mean;
  const double square = (m[0] * m[0] + m[3] * m[3] + m[5] * m[5] + 2 * (m[1] * m[1] + m[2] * m[2] + m[4] * m[4])) / 6;
  const double p = std::sqrt(square), inverse = square == 0 ? 0 : 1 / p;
#pragma GCC unroll 6
  for (double &entry : m)
    entry *= inverse;
  return scale * (mean + p * middle_of_normalised(m));
}

double q_of(const std::array<double, 9> &g) {
  return -0.5 * (g[0] * g[0] + g[4] * g[4] + g[8] * g[8]) - g[1] * g[3] - g[2] * g[6] - g[5] * g[7];
}

[[gnu::always_inline]] inline double lambda2_of(const std::array<double, 9> &g) {
  const auto square = [&](int i, int j) { return g[3 * i] * g[j] + g[3 * i + 1] * g[3 + j] + g[3 * i + 2] * g[6 + j]; };
  // S^2 + W^2 is the symmetric part of the square of the gradient.
  return middle({square(0, 0), 0.5 * (square(0, 1) + square(1, 0)), 0.5 * (square(0, 2) + square(2, 0)), square(1, 1),
                 0.5 * (square(1, 2) + square(2, 1)), square(2, 2)});
}

double third_of(const std::array<double, 9> &g) {
  return -dot({g[0], g[1], g[2]}, cross({g[3], g[4], g[5]}, {g[6], g[7], g[8]}));
}

/// Results go to a local array first, of which the compiler knows that it does not overlap the gradient.
constexpr std::int64_t block = 256;

template <class T, class Of>
void each_point(const std::array<const T *, 9> &gradient, std::int64_t points, T *out, Of of) {
  std::array<T, block> found;
  for (std::int64_t start = 0; start < points; start += block) {
    const std::int64_t count = std::min(block, points - start);
    std::array<const T *, 9> at;
    for (int e = 0; e < 9; ++e)
      at[e] = gradient[e] + start;
    for (std::int64_t p = 0; p < count; ++p)
      found[p] = static_cast<T>(
          of({at[0][p], at[1][p], at[2][p], at[3][p], at[4][p], at[5][p], at[6][p], at[7][p], at[8][p]}));
    std::copy_n(found.begin(), count, out + start);
  }
}

} // namespace

double middle_eigenvalue(const std::array<double, 6> &matrix) { return middle(matrix); }

template <class T>
void invariant(Invariant which, const std::array<const T *, 9> &gradient, std::int64_t points, T *out) {
  switch (which) {
  case Invariant::q:
    return each_point(gradient, points, out, [](const std::array<double, 9> &g) { return q_of(g); });
  case Invariant::lambda2:
    return each_point(gradient, points, out, [](const std::array<double, 9> &g) { return lambda2_of(g); });
  case Invariant::third:
    return each_point(gradient, points, out, [](const std::array<double, 9> &g) { return third_of(g); });
  }
}

template void invariant(Invariant, const std::array<const float *, 9> &, std::int64_t, float *);
template void invariant(Invariant, const std::array<const double *, 9> &, std::int64_t, double *);

} // namespace tailrace::ops
