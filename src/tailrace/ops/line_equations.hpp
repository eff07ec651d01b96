#pragma once

#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tailrace::ops {

/// How a quantity continues beyond a free-slip boundary: mirrored, or mirrored with the opposite sign (normal
/// velocity).
enum class Parity : int { odd = -1, even = 1 };

inline Parity operator*(Parity a, Parity b) { return a == b ? Parity::even : Parity::odd; }

/// The right-hand side of a row near a Dirichlet end: the sum of weights[k] * f[first + k].
template <class T> struct Closure {
  std::int64_t first;
  std::vector<T> weights;

  /// `f[j]` is the value at point j of the input.
  template <class Points> auto operator()(const Points &f) const {
    auto sum = weights[0] * f[first];
    for (std::size_t k = 1; k < weights.size(); ++k)
      sum += weights[k] * f[first + static_cast<std::int64_t>(k)];
    return sum;
  }
};

/// A compact scheme on lines of one length between two ends, before any solver prepares it:
///   left g[j-1] + middle g[j] + right g[j+1] = d[j],   the result is metric[j] g[j].
/// All rows but those at the ends are  alpha g[j-1] + g[j] + alpha g[j+1],  and so are all of periodic lines.
struct LineEquations {
  /// `input_parity` is about the boundaries; it matters for free-slip only. `nodes` counts nodes, `factor` multiplies
  /// the result, and so does, point by point, `stretched` where it is not empty.
  LineEquations(const CompactScheme &scheme, std::int64_t nodes, const grid::Sides &ends, Parity input_parity,
                double factor = 1, std::vector<double> stretched = {});

  /// A row at an end. Without a closure d is that of the interior, which takes points beyond the end.
  struct EndRow {
    double left, middle, right;
    std::optional<Closure<double>> closure;
    bool vanishes = false; ///< the result is zero, whatever the values are
  };

  Operation operation;
  grid::Sides sides;
  Parity parity;
  std::int64_t points_in, points_out;
  double alpha;
  double pairs[4]; ///< with the factor
  int pair_count;
  std::vector<double> metric;
  std::vector<EndRow> lower, upper; ///< the first rows and the last ones, both in rising order; none where periodic

  /// The r of the factors  g (I - r S)(I - r S^T)  of the interior rows, S a shift by one row, and their g.
  double ratio() const { return -2 * alpha / (1 + std::sqrt(1 - 4 * alpha * alpha)); }
  double scale() const { return 1 / (1 + ratio() * ratio()); }
  /// Rows after which powers of the ratio no longer change a sum of order one.
  template <class T> double rows_of_series() const {
    return std::log(std::numeric_limits<T>::epsilon() / 64) / std::log(std::fabs(ratio()));
  }
  double metric_at(std::int64_t j) const { return metric.empty() ? 1 : metric[static_cast<std::size_t>(j)]; }

private:
  void mirror(double result_parity);
  void close(const CompactScheme &scheme, double factor);
};

} // namespace tailrace::ops
