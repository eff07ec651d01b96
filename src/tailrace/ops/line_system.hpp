#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>
#include <tailrace/support/simd.hpp>

#include <cstdint>
#include <vector>

namespace tailrace::ops {

/// How a quantity continues beyond a free-slip boundary: mirrored, or mirrored with the opposite sign (normal
/// velocity).
enum class Parity : int { odd = -1, even = 1 };

inline Parity operator*(Parity a, Parity b) { return a == b ? Parity::even : Parity::odd; }

/// A compact scheme prepared for lines of one length and two boundary conditions: stencil coefficients and the factored
/// tridiagonal matrix. Factors are constant where the matrix is circulant (periodic): it is g (I - r S)(I - r S^T) with
/// the cyclic shift S, and both halves are solved exactly by summing the geometric series that wraps around.
template <class T> struct LineSystem {
  /// `parity` is that of the input, about the boundaries; it matters for free-slip only. `nodes` counts nodes, `factor`
  /// multiplies the result, and so does, point by point, `metric` where it is not empty.
  LineSystem(const CompactScheme &scheme, std::int64_t nodes, const grid::Sides &sides, Parity parity,
             double factor = 1, const std::vector<double> &metric = {});

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

  /// The right-hand side of a row near a Dirichlet end: the sum of weights[k] * f[first + k].
  struct Closure {
    std::int64_t first;
    std::vector<T> weights;
    Vec<T> operator()(const Vec<T> *f) const {
      Vec<T> sum{};
      for (std::size_t k = 0; k < weights.size(); ++k)
        sum += weights[k] * f[first + static_cast<std::int64_t>(k)];
      return sum;
    }
  };
  std::vector<Closure> lower, upper; ///< of the first rows, and of the last, both in rising order of rows
  std::int64_t first_upper() const { return points_out - static_cast<std::int64_t>(upper.size()); }

private:
  void factor_circulant(double alpha);
  void factor_open(const CompactScheme &scheme, double factor, const std::vector<double> &metric);
};

} // namespace tailrace::ops
