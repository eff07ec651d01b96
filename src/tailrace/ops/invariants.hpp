#pragma once

#include <array>
#include <cstdint>

namespace tailrace::ops {

/// Quantities that identify vortices, from the gradient g[i][j] = d u_i / d x_j at a point; S and W are its symmetric
/// and antisymmetric parts.
enum class Invariant {
  q,       ///< (W:W - S:S) / 2
  lambda2, ///< the middle eigenvalue of S^2 + W^2 (Jeong and Hussain 1995)
  third,   ///< -det(g), the R of Chong, Perry and Cantwell (1990)
};

/// The middle eigenvalue of a symmetric matrix xx, xy, xz, yy, yz, zz. Its error is a few rounding errors of the norm
/// of the matrix, also where two or three eigenvalues are equal. NaN if an entry is not finite.
double middle_eigenvalue(const std::array<double, 6> &matrix);

/// out = the invariant at each point; gradient[3 i + j] are arrays of g[i][j]. Computed in double precision. Local.
template <class T>
void invariant(Invariant which, const std::array<const T *, 9> &gradient, std::int64_t points, T *out);

} // namespace tailrace::ops
