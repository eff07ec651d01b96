#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <cstdint>
#include <vector>

namespace tailrace::ops {

/// How a quantity continues beyond a free-slip boundary: mirrored, or mirrored with the opposite sign (normal
/// velocity).
enum class Parity : int { odd = -1, even = 1 };

inline Parity operator*(Parity a, Parity b) { return a == b ? Parity::even : Parity::odd; }

/// A compact scheme prepared for lines of one length and boundary condition: stencil coefficients and the factored
/// tridiagonal matrix. Factors are constant where the matrix is circulant (periodic): it is g (I - r S)(I - r S^T) with
/// the cyclic shift S, and both halves are solved exactly by summing the geometric series that wraps around.
template <class T> struct LineSystem {
  /// `parity` is that of the input, about the boundaries; it matters for free-slip only. `nodes` counts nodes, `factor`
  /// multiplies the result.
  LineSystem(const CompactScheme &scheme, std::int64_t nodes, grid::Boundary boundary, Parity parity,
             double factor = 1);

  Operation operation;
  grid::Boundary boundary;
  Parity parity;
  std::int64_t points_in, points_out;
  T pairs[4];
  int pair_count;
  std::vector<T> forward, diagonal,
      backward;          ///< y[j] = d[j] - forward[j] y[j-1];  x[j] = diagonal[j] y[j] - backward[j] x[j+1]
  int wrap = 0;          ///< periodic: points until the geometric series has died away
  std::vector<T> powers; ///< r^0 .. r^wrap
  T wrap_scale = 0;      ///< 1 / (1 - r^n)
  struct Closure {
    std::int64_t row;
    std::vector<T> weights;
    std::int64_t first; ///< the point that weights[0] multiplies
  };
  std::vector<Closure> closures; ///< right-hand sides of the rows near Dirichlet walls

private:
  void factor_circulant(double alpha);
  void factor_open(const CompactScheme &scheme, double factor);
};

} // namespace tailrace::ops
