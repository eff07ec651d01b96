#pragma once

#include <tailrace/ops/sweep.hpp>

namespace tailrace::ops {

/// Steps of diffusion along lines with ends, partly or wholly implicit. With the compact second derivative
/// D = A^-1 B and the metric P of a stretched direction, the operator is L = P^2 D, and the change of f in a step is
///   (1 - after L) change = sum + before L f.
/// Multiplied by A P^-2 it is one banded system,  (A P^-2 - after B) change = A P^-2 sum + before B f,  the same for
/// all lines and factored once, without pivoting. Where the value at an end is given, the first row is the given
/// change, and the derivative at that end is eliminated from the closure of the second row.
template <class T> class ImplicitLines {
public:
  /// `scheme`: a second derivative; `squared_metric`: P^2 at the nodes, empty where uniform. `sides` are not periodic;
  /// `parity` is that of f and matters at free-slip ends.
  ImplicitLines(const CompactScheme &scheme, std::int64_t nodes, const grid::Sides &sides, Parity parity,
                const std::vector<double> &squared_metric);

  /// Whether the change at an end is given: at Dirichlet ends, and at free-slip ends for odd quantities.
  bool given(bool upper) const { return upper ? given_upper_ : given_lower_; }

  /// Sets the numbers of the next steps. Factors the system if `after` has changed.
  void prepare(double before, double after);

  /// Visits all lines; finish(0, offset, change, count) receives each register once and may overwrite `f` and `sum` at
  /// that offset. Where a change is given, it is the value of `sum` there. Local.
  template <class Finish> void sweep(const grid::Lines &lines, const T *f, const T *sum, Finish finish) const {
    const auto transform = [&](Tile<T, 2, 1> &tile) { body(tile); };
    ops::sweep<T, 2, 1>(lines, lines.points, {f, sum}, transform, finish);
  }

private:
  static constexpr int reach = 4; ///< of the widest scheme
  struct Row {
    std::array<double, 2 * reach + 1> left{}, right{}; ///< of A and B, at columns row - reach .. row + reach
  };
  /// A row near an end, at columns first .. first + its size.
  struct EndRow {
    std::int64_t first;
    std::vector<T> of_sum, of_f;
    Vec<T> operator()(const Vec<T> *sum, const Vec<T> *f) const;
  };
  void close_lower(const CompactScheme &scheme, const grid::Sides &sides, Parity parity);
  void fold(Row &row, std::int64_t j, Parity parity) const;
  void mirror();
  EndRow end_row(std::int64_t j, double before) const;
  void factor(double after);
  void body(Tile<T, 2, 1> &tile) const;
  template <int width, int M>
  void solve(Vec<T> *const (&f)[M], Vec<T> *const (&sum)[M], Vec<T> *const (&change)[M]) const;

  std::int64_t nodes_;
  bool wide_, given_lower_, given_upper_;
  std::vector<Row> rows_;
  std::vector<double> weights_; ///< P^-2, but 1 where the change is given
  double after_ = -1;
  T alpha_, pairs_[reach]{};          ///< of the rows between the ends, the pairs times `before`
  std::vector<T> scale_;              ///< P^-2
  std::vector<EndRow> lower_, upper_; ///< in rising order of rows, times `before`
  std::vector<T> factors_;            ///< for each row: lower factors (nearest first), 1 / pivot, upper ones
};

} // namespace tailrace::ops
