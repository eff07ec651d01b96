#include <tailrace/analysis/invariants.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tailrace {

namespace {

using Vector = std::array<double, 3>;
using Symmetric = std::array<double, 6>; ///< xx, xy, xz, yy, yz, zz

Vector cross(const Vector &a, const Vector &b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Vector &a, const Vector &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector scaled(const Vector &a, double s) { return {a[0] * s, a[1] * s, a[2] * s}; }
Vector times(const Symmetric &m, const Vector &v) {
  return {m[0] * v[0] + m[1] * v[1] + m[2] * v[2], m[1] * v[0] + m[3] * v[1] + m[4] * v[2],
          m[2] * v[0] + m[4] * v[1] + m[5] * v[2]};
}

/// The unit eigenvector of an eigenvalue far from the other two: all rows of m - value I are at right angles to it.
Vector eigenvector(const Symmetric &m, double value) {
  const Vector x{m[0] - value, m[1], m[2]}, y{m[1], m[3] - value, m[4]}, z{m[2], m[4], m[5] - value};
  const Vector candidates[] = {cross(x, y), cross(y, z), cross(z, x)};
  double largest = 0;
  const Vector *best = candidates;
  for (const Vector &one : candidates)
    if (dot(one, one) > largest) {
      largest = dot(one, one);
      best = &one;
    }
  return scaled(*best, 1 / std::sqrt(largest));
}

double q_of(const std::array<double, 9> &g) {
  return -0.5 * (g[0] * g[0] + g[4] * g[4] + g[8] * g[8]) - g[1] * g[3] - g[2] * g[6] - g[5] * g[7];
}

double lambda2_of(const std::array<double, 9> &g) {
  const auto square = [&](int i, int j) { return g[3 * i] * g[j] + g[3 * i + 1] * g[3 + j] + g[3 * i + 2] * g[6 + j]; };
  // S^2 + W^2 is the symmetric part of the square of the gradient.
  return middle_eigenvalue({square(0, 0), 0.5 * (square(0, 1) + square(1, 0)), 0.5 * (square(0, 2) + square(2, 0)),
                            square(1, 1), 0.5 * (square(1, 2) + square(2, 1)), square(2, 2)});
}

double third_of(const std::array<double, 9> &g) {
  return -dot({g[0], g[1], g[2]}, cross({g[3], g[4], g[5]}, {g[6], g[7], g[8]}));
}

template <class T, class Of>
void each_point(const std::array<const T *, 9> &gradient, std::int64_t points, T *out, Of of) {
  for (std::int64_t p = 0; p < points; ++p) {
    std::array<double, 9> g;
    for (int e = 0; e < 9; ++e)
      g[e] = static_cast<double>(gradient[e][p]);
    out[p] = static_cast<T>(of(g));
  }
}

} // namespace

double middle_eigenvalue(const std::array<double, 6> &matrix) {
  double scale = 0;
  for (const double entry : matrix)
    scale += std::fabs(entry);
  if (scale == 0)
    return 0;
  if (!std::isfinite(scale))
    return std::numeric_limits<double>::quiet_NaN();
  Symmetric m;
  for (int e = 0; e < 6; ++e)
    m[e] = matrix[e] / scale;
  const double mean = (m[0] + m[3] + m[5]) / 3;
  for (const int e : {0, 3, 5})
    m[e] -= mean;
  const double square = (m[0] * m[0] + m[3] * m[3] + m[5] * m[5] + 2 * (m[1] * m[1] + m[2] * m[2] + m[4] * m[4])) / 6;
  if (square == 0)
    return mean * scale;
  // Smith (1961). His angle is useless where two eigenvalues meet, but good for the one that is far from them; those
  // two are then found in the plane at right angles to its eigenvector.
  const double p = std::sqrt(square);
  const double determinant = dot({m[0], m[1], m[2]}, cross({m[1], m[3], m[4]}, {m[2], m[4], m[5]}));
  const double r = std::clamp(determinant / (2 * p * square), -1.0, 1.0);
  const double far = std::copysign(2 * p * std::cos(std::acos(std::fabs(r)) / 3), r);
  const Vector w = eigenvector(m, far);
  const Vector u = std::fabs(w[0]) > std::fabs(w[1])
                       ? scaled({-w[2], 0, w[0]}, 1 / std::sqrt(w[0] * w[0] + w[2] * w[2]))
                       : scaled({0, w[2], -w[1]}, 1 / std::sqrt(w[1] * w[1] + w[2] * w[2]));
  const Vector v = cross(w, u), mu = times(m, u);
  const double uu = dot(u, mu), uv = dot(v, mu), vv = dot(v, times(m, v));
  const double half = 0.5 * (uu - vv), distance = std::sqrt(half * half + uv * uv);
  return scale * (mean + 0.5 * (uu + vv) + std::copysign(distance, far));
}

template <class T>
void invariant(Invariant which, const std::array<const T *, 9> &gradient, std::int64_t points, T *out) {
  switch (which) {
  case Invariant::q:
    return each_point(gradient, points, out, q_of);
  case Invariant::lambda2:
    return each_point(gradient, points, out, lambda2_of);
  case Invariant::third:
    return each_point(gradient, points, out, third_of);
  }
}

template void invariant(Invariant, const std::array<const float *, 9> &, std::int64_t, float *);
template void invariant(Invariant, const std::array<const double *, 9> &, std::int64_t, double *);

} // namespace tailrace
