#include <tailrace/ops/wall_modes.hpp>

#include <tailrace/ops/apply.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>

namespace tailrace::ops {

using namespace grid;

WallDivergence wall_divergence_from_name(const std::string &name) {
  if (name == "mirrored")
    return WallDivergence::mirrored;
  if (name == "one-sided")
    return WallDivergence::one_sided;
  throw InputError(fmt::format("the divergence at walls is '{}'; expected mirrored or one-sided", name));
}

Sides divergence_sides(const Grid &grid, WallDivergence walls) {
  const Sides &ends = grid.boundaries[1];
  if (ends.periodic())
    return Boundary::periodic;
  return walls == WallDivergence::one_sided ? ends : Boundary::free_slip;
}

namespace {

/// cos(pi mode (2 j + 1) / (2 n)) for mode and centre j, which the columns and rows of the transform consist of.
double cosine(std::int64_t mode, std::int64_t j, std::int64_t n) {
  const std::int64_t quarters = mode * (2 * j + 1) % (4 * n); // exact for the largest arguments too
  return std::cos(std::numbers::pi * static_cast<double>(quarters) / static_cast<double>(2 * n));
}

/// The operators from centres to nodes and back that follow each other in the pressure equation.
struct Pair {
  CompactScheme to_node, to_centre;
  Parity parity; ///< of what is on the nodes, about mirrors
  std::vector<double> node_metric, centre_metric;
};

Pair pair_of(const Grid &grid, bool of_average, Interpolation interpolation) {
  const double h = grid.spacing(1);
  if (of_average)
    return {compact_scheme(Operation::interpolate_to_node, h, interpolation),
            compact_scheme(Operation::interpolate_to_centre, h, interpolation),
            Parity::even,
            {},
            {}};
  return {compact_scheme(Operation::derivative_to_node, h), compact_scheme(Operation::derivative_to_centre, h),
          Parity::odd, grid.metric(1), grid.metric(1, true)};
}

/// How the result at the centres, before its metric, differs between the one-sided and the mirrored schemes: a line for
/// each cosine mode of the pressure.
std::vector<double> differences(const Grid &grid, const Pair &pair, const LineSystem<double> &one_sided) {
  const std::int64_t n = grid.cells()[1], nodes = n + 1;
  const LineSystem<double> to_node(pair.to_node, nodes, Boundary::free_slip, Parity::even, 1, pair.node_metric);
  const LineSystem<double> mirrored(pair.to_centre, nodes, Boundary::free_slip, pair.parity);
  std::vector<double> cosines(static_cast<std::size_t>(n * n)), at_nodes(static_cast<std::size_t>(n * nodes)),
      result(cosines.size()), reference(cosines.size());
  for (std::int64_t mode = 0; mode < n; ++mode)
    for (std::int64_t j = 0; j < n; ++j)
      cosines[static_cast<std::size_t>(mode * n + j)] = cosine(mode, j, n);
  apply(to_node, 0, {n, n, 1}, cosines.data(), at_nodes.data());
  apply(one_sided, 0, {nodes, n, 1}, at_nodes.data(), result.data());
  apply(mirrored, 0, {nodes, n, 1}, at_nodes.data(), reference.data());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] -= reference[i];
  return result;
}

/// The solution of the system whose right-hand side is 1 in one row and 0 in all others.
std::vector<double> response_to_row(const LineSystem<double> &system, std::int64_t row) {
  const std::int64_t n = system.points_out;
  std::vector<double> x(static_cast<std::size_t>(n), 0);
  const auto at = [](std::int64_t j) { return static_cast<std::size_t>(j); };
  x[at(row)] = 1;
  for (std::int64_t j = row + 1; j < n; ++j)
    x[at(j)] -= system.forward[at(j)] * x[at(j - 1)];
  for (std::int64_t j = n - 1; j >= 0; --j)
    x[at(j)] = system.diagonal[at(j)] * x[at(j)] - (j + 1 < n ? system.backward[at(j)] * x[at(j + 1)] : 0);
  return x;
}

/// DCT-II of values at the centres.
std::vector<double> transform(const std::vector<double> &values) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<double> modes(values.size(), 0);
  for (std::int64_t mode = 0; mode < n; ++mode)
    for (std::int64_t j = 0; j < n; ++j)
      modes[static_cast<std::size_t>(mode)] += 2 * values[static_cast<std::size_t>(j)] * cosine(mode, j, n);
  return modes;
}

/// The rows of one of the operators at either wall.
class Rows {
public:
  Rows(const Grid &grid, bool of_average, Interpolation interpolation)
      : n_(grid.cells()[1]), of_average_(of_average), pair_(pair_of(grid, of_average, interpolation)),
        with_metric_(pair_.to_centre, n_ + 1, grid.boundaries[1], pair_.parity, 1, pair_.centre_metric),
        change_(
            differences(grid, pair_, LineSystem<double>(pair_.to_centre, n_ + 1, grid.boundaries[1], pair_.parity))),
        closures_(wall_closures(pair_.to_centre)),
        least_(1e-10 * (of_average ? 1 : 1 / (grid.spacing(1) * grid.spacing(1)))) {}

  std::int64_t count() const { return static_cast<std::int64_t>(closures_.size()); }

  /// The mode of row number `depth` from the wall; nothing if its closure is the interior scheme itself.
  std::optional<WallMode> operator()(bool upper, std::int64_t depth) const {
    const ClosureRow &closure = closures_[static_cast<std::size_t>(depth)];
    WallMode wall{of_average_, transform(response_to_row(with_metric_, upper ? n_ - 1 - depth : depth)), {}};
    double largest = 0;
    for (std::int64_t m = 0; m < n_; ++m) {
      const auto value = [&](std::int64_t j) {
        return j < 0 ? 0 : change_[static_cast<std::size_t>(m * n_ + (upper ? n_ - 1 - j : j))];
      };
      const double residual =
          value(depth) + closure.alpha_left * value(depth - 1) + closure.alpha_right * value(depth + 1);
      largest = std::max(largest, std::fabs(residual));
      // A wave of amplitude 1 has the transform n, and mode 0 twice that.
      wall.row.push_back(residual / static_cast<double>(m == 0 ? 2 * n_ : n_));
    }
    return largest > least_ ? std::optional(std::move(wall)) : std::nullopt;
  }

private:
  std::int64_t n_;
  bool of_average_;
  Pair pair_;
  LineSystem<double> with_metric_;
  std::vector<double> change_;
  std::vector<ClosureRow> closures_;
  double least_; ///< residuals below are rounding
};

/// Whether one half of y mirrors the other.
bool symmetric(const Grid &grid) { return !grid.stretching || grid.stretching->where != Stretching::Where::bottom; }

/// If both halves mirror each other, one row at either wall adds half the product of the sums of columns and of rows,
/// with even modes only, and half that of the differences, with odd modes only. This is one of the two.
WallMode part_of(const WallMode &lower, bool odd) {
  WallMode part{lower.of_average, {}, {}, odd ? 1 : 0, 2};
  for (std::size_t m = odd ? 1 : 0; m < lower.column.size(); m += 2) {
    part.column.push_back(2 * lower.column[m]);
    part.row.push_back(lower.row[m]);
  }
  return part;
}

void add_modes(const Grid &grid, bool of_average, Interpolation interpolation, std::vector<WallMode> &found) {
  const Sides sides = grid.boundaries[1];
  const Rows rows(grid, of_average, interpolation);
  for (std::int64_t depth = 0; depth < rows.count(); ++depth) {
    std::vector<WallMode> walls;
    for (const bool upper : {false, true})
      if ((upper ? sides.upper : sides.lower) == Boundary::dirichlet)
        if (auto wall = rows(upper, depth))
          walls.push_back(std::move(*wall));
    if (walls.size() == 2 && symmetric(grid))
      walls = {part_of(walls[0], false), part_of(walls[0], true)};
    std::ranges::move(walls, std::back_inserter(found));
  }
}

} // namespace

std::vector<WallMode> wall_modes(const Grid &grid, Interpolation interpolation) {
  std::vector<WallMode> found;
  for (const bool of_average : {true, false})
    add_modes(grid, of_average, interpolation, found);
  return found;
}

} // namespace tailrace::ops
