#pragma once

#include <tailrace/ops/line_equations.hpp>
#include <tailrace/support/simd.hpp>

namespace tailrace::ops {

/// A compact scheme prepared for lines of one length and two boundary conditions: stencil coefficients and the factored
/// tridiagonal matrix. Factors are constant where the matrix is circulant (periodic): it is g (I - r S)(I - r S^T) with
/// the cyclic shift S, and both halves are solved exactly by summing the geometric series that wraps around.
template <class T> struct LineSystem {
  explicit LineSystem(const LineEquations &equations);
  /// See LineEquations.
  LineSystem(const CompactScheme &scheme, std::int64_t nodes, const grid::Sides &ends, Parity input_parity,
             double factor = 1, const std::vector<double> &metric = {})
      : LineSystem(LineEquations(scheme, nodes, ends, input_parity, factor, metric)) {}

  Operation operation;
  grid::Sides sides;
  Parity parity;
  std::int64_t points_in, points_out;
  T pairs[4];
  int pair_count;
  std::vector<T> forward, diagonal,
      backward;          ///< y[j] = d[j] - forward[j] y[j-1];  x[j] = diagonal[j] y[j] - backward[j] x[j+1]
  int wrap = 0;          ///< periodic: points until the geometric series has died away
  std::vector<T> powers; ///< r^0 .. r^wrap
  T wrap_scale = 0;      ///< 1 / (1 - r^n)

  std::vector<Closure<T>> lower, upper; ///< of the first rows, and of the last, both in rising order of rows
  std::int64_t first_upper() const { return points_out - static_cast<std::int64_t>(upper.size()); }

private:
  void factor_circulant(const LineEquations &equations);
  void factor_open(const LineEquations &equations);
};

} // namespace tailrace::ops
