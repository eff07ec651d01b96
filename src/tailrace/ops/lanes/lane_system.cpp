#include <tailrace/ops/lanes/lane_system.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tailrace::ops {

namespace {

using Matrix = std::vector<std::vector<double>>;

/// Solves a x = b for the columns of b, by elimination with exchange of rows. The matrices have ten rows at most.
Matrix solved(Matrix a, Matrix b) {
  const std::size_t n = a.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t row = c + 1; row < n; ++row)
      if (std::fabs(a[row][c]) > std::fabs(a[pivot][c]))
        pivot = row;
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t row = 0; row < n; ++row) {
      const double m = row == c ? 0 : a[row][c] / a[c][c];
      for (std::size_t k = 0; k < n; ++k) {
        a[row][k] -= m * a[c][k];
        b[row][k] -= m * b[c][k];
      }
    }
  }
  for (std::size_t row = 0; row < n; ++row)
    for (double &value : b[row])
      value /= a[row][row];
  return b;
}

/// What the ends add to an open line: unknowns are the results of the lower rows, the amplitudes of the two decaying
/// solutions, and the results of the upper rows; see LaneSystem::to_ends for the columns of `given`.
class EndSystem {
public:
  explicit EndSystem(const LineEquations &equations)
      : equations_(equations), lower_(equations.lower.size()), upper_(equations.upper.size()),
        first_(static_cast<std::int64_t>(lower_)), last_(equations.points_out - 1 - static_cast<std::int64_t>(upper_)),
        left_(size(), std::vector<double>(size())), given_(left_) {
    for (std::size_t i = 0; i < lower_; ++i)
      add_end(i, static_cast<std::int64_t>(i), equations.lower[i]);
    add_interior();
    for (std::size_t i = 0; i < upper_; ++i)
      add_end(lower_ + 2 + i, last_ + 1 + static_cast<std::int64_t>(i), equations.upper[i]);
  }

  Matrix solve() const { return solved(left_, given_); }

private:
  std::size_t size() const { return lower_ + 2 + upper_; }

  /// Adds a multiple of the result of row j to the left side of an equation.
  void add(std::size_t equation, std::int64_t j, double by) {
    if (by == 0) // also where there is no such row
      return;
    if (j < first_)
      left_[equation][static_cast<std::size_t>(j)] += by;
    else if (j > last_)
      left_[equation][lower_ + 2 + static_cast<std::size_t>(j - last_ - 1)] += by;
    else {
      left_[equation][lower_] += by * std::pow(equations_.ratio(), double(j - first_));
      left_[equation][lower_ + 1] += by * std::pow(equations_.ratio(), double(last_ - j));
      // No end row reaches further into the interior, whose own values are on the right side.
      given_[equation][j == first_ ? lower_ : lower_ + 1] -= by;
    }
  }

  void add_end(std::size_t equation, std::int64_t j, const LineEquations::EndRow &row) {
    if (row.vanishes) {
      left_[equation][equation] = 1;
      return;
    }
    add(equation, j - 1, j == 0 ? 0 : row.left);
    add(equation, j, row.middle);
    add(equation, j + 1, j == equations_.points_out - 1 ? 0 : row.right);
    given_[equation][equation] = row.closure ? 1 : equations_.scale(); // the interior's is divided by it
  }

  /// The recurrences from zero leave a rest in the first interior row only: (g - 1) times its value.
  void add_interior() {
    const std::int64_t rows = last_ - first_ + 1;
    if (rows > 0)
      add_row(lower_, first_);
    if (rows > 1)
      add_row(lower_ + 1, last_);
    for (std::size_t k = rows > 0 ? static_cast<std::size_t>(rows) : 0; k < 2; ++k)
      left_[lower_ + k] = std::vector<double>(size()), left_[lower_ + k][lower_ + k] = 1;
    std::fill(given_[lower_].begin(), given_[lower_].end(), 0);
    std::fill(given_[lower_ + 1].begin(), given_[lower_ + 1].end(), 0);
    given_[lower_][lower_] = rows > 0 ? equations_.scale() - 1 : 0;
  }
  void add_row(std::size_t equation, std::int64_t j) {
    add(equation, j - 1, equations_.alpha);
    add(equation, j, 1);
    add(equation, j + 1, equations_.alpha);
  }

  const LineEquations &equations_;
  std::size_t lower_, upper_;
  std::int64_t first_, last_;
  Matrix left_, given_;
};

} // namespace

int rows_per_lane(std::int64_t points) {
  for (const int rows : row_counts)
    if (points <= std::int64_t{warp_lanes} * rows)
      return rows;
  throw InputError(fmt::format("a line has {} points; a warp of {} lanes takes {} at most", points, warp_lanes,
                               warp_lanes * most_rows_per_lane));
}

template <class T>
LaneSystem<T>::LaneSystem(const LineEquations &equations, int rows_of_lane)
    : operation(equations.operation), pair_count(equations.pair_count), periodic(equations.sides.periodic()),
      points_in(static_cast<int>(equations.points_in)), points_out(static_cast<int>(equations.points_out)),
      rows(rows_of_lane), first(static_cast<int>(equations.lower.size())),
      last(points_out - 1 - static_cast<int>(equations.upper.size())), r(static_cast<T>(equations.ratio())),
      lower(static_cast<int>(equations.lower.size())), upper(static_cast<int>(equations.upper.size())) {
  for (int k = 0; k < 4; ++k)
    pairs[k] = static_cast<T>(equations.pairs[k] / equations.scale());
  steps = 0;
  const double reach = equations.rows_of_series<T>();
  const int partial = points_out % rows == 0 ? 0 : 1; // the last lane may have one row
  while (steps < doublings && rows * ((1 << steps) - partial) < reach)
    ++steps;
  prepare_recurrences(equations.ratio());
  prepare_ends(equations);
}

template <class T> void LaneSystem<T>::prepare_recurrences(double ratio) {
  const auto power_of = [&](int exponent) { return static_cast<T>(std::pow(ratio, exponent)); };
  for (int j = 0; j <= most_rows_per_lane; ++j)
    power[j] = power_of(j);
  const auto start = [&](int lane) { return std::min(lane * rows, points_out); };
  for (int lane = 0; lane < warp_lanes; ++lane) {
    from_start[lane] = power_of(start(lane));
    from_end[lane] = power_of(points_out - start(lane + 1));
    for (int s = 0; s < doublings; ++s) {
      const int before = lane - (1 << s), after = lane + (1 << s);
      ahead[s][lane] = before < 0 ? T(0) : power_of(start(lane + 1) - start(before + 1));
      behind[s][lane] = after >= warp_lanes ? T(0) : power_of(start(after) - start(lane));
    }
    const int row_before = lane * rows - 1, row_after = (lane + 1) * rows;
    low[lane] = row_before < first ? T(0) : power_of(row_before - first);
    high[lane] = row_after > last ? T(0) : power_of(last - row_after);
  }
  wrap = periodic ? static_cast<T>(1 / (1 - std::pow(ratio, points_out))) : T(0);
}

template <class T> void LaneSystem<T>::prepare_ends(const LineEquations &equations) {
  for (auto &row : to_ends)
    std::fill(std::begin(row), std::end(row), T(0));
  if (periodic)
    return;
  if (std::max(lower, upper) > most_end_rows)
    throw InputError(
        fmt::format("a scheme has {} rows at an end; lanes take {} at most", std::max(lower, upper), most_end_rows));
  int at = 0;
  for (const auto *rows_of_end : {&equations.lower, &equations.upper})
    for (const auto &row : *rows_of_end) {
      End &end = ends[at++];
      if (!row.closure)
        continue;
      end.first = static_cast<int>(row.closure->first);
      end.count = static_cast<int>(row.closure->weights.size());
      if (end.count > most_weights)
        throw InputError(fmt::format("a row at an end has {} weights; lanes take {} at most", end.count, most_weights));
      std::copy(row.closure->weights.begin(), row.closure->weights.end(), end.weights);
    }
  const Matrix found = EndSystem(equations).solve();
  for (std::size_t i = 0; i < found.size(); ++i)
    std::copy(found[i].begin(), found[i].end(), to_ends[i]);
}

template struct LaneSystem<float>;
template struct LaneSystem<double>;

} // namespace tailrace::ops
