#include <tailrace/grid/grid.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tailrace::grid {

namespace {
constexpr std::array<const char *, 3> names{"periodic", "free-slip", "dirichlet"};
}

const char *boundary_name(Boundary boundary) { return names[static_cast<std::size_t>(boundary)]; }

namespace {
Boundary boundary_from_name(const std::string &name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i])
      return static_cast<Boundary>(i);
  throw InputError(fmt::format("boundary '{}' is unknown; choose periodic, free-slip or dirichlet", name));
}
} // namespace

Sides sides_from_name(const std::string &name) {
  const auto bar = name.find('|');
  if (bar == std::string::npos)
    return boundary_from_name(name);
  return {boundary_from_name(name.substr(0, bar)), boundary_from_name(name.substr(bar + 1))};
}

std::string sides_name(const Sides &sides) {
  if (sides.lower == sides.upper)
    return boundary_name(sides.lower);
  return fmt::format("{}|{}", boundary_name(sides.lower), boundary_name(sides.upper));
}

Grid::Grid(Index3 n, std::array<double, 3> l, const Boundaries &b, std::optional<Stretching> s)
    : nodes(n), lengths(l), boundaries(b), stretching(s) {
  for (int d = 0; d < 3; ++d) {
    if (nodes[d] < smallest && !(nodes[d] == 1 && periodic(d)))
      throw InputError(fmt::format("grid has {} nodes in {}; the compact schemes need at least {}, or 1 where nothing "
                                   "changes along a periodic direction",
                                   nodes[d], "xyz"[d], smallest));
    if (!(lengths[d] > 0) || !std::isfinite(lengths[d]))
      throw InputError(fmt::format("grid length in {} is {}; expected a positive number", "xyz"[d], lengths[d]));
    if ((b[d].lower == Boundary::periodic) != (b[d].upper == Boundary::periodic))
      throw InputError(fmt::format("boundaries in {} are '{}'; expected both ends to be periodic, or none", "xyz"[d],
                                   sides_name(b[d])));
  }
  if (stretching && periodic(1))
    throw InputError("y is stretched and periodic; expected free-slip or dirichlet boundaries of a stretched y");
}

Index3 Grid::cells() const {
  Index3 n;
  for (int d = 0; d < 3; ++d)
    n[d] = periodic(d) ? nodes[d] : nodes[d] - 1;
  return n;
}

namespace {
/// `of(s)` at the nodes or the centres, with s from 0 to 1.
template <class Of> std::vector<double> along(const Grid &grid, int d, bool centred, Of of) {
  const auto cells = static_cast<double>(grid.cells()[d]);
  std::vector<double> values(static_cast<std::size_t>(centred ? grid.cells()[d] : grid.nodes[d]));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = of((static_cast<double>(i) + (centred ? 0.5 : 0)) / cells);
  return values;
}
} // namespace

std::vector<double> Grid::coordinates(int d, bool centred) const {
  if (stretched(d))
    return along(*this, d, centred, [&](double s) { return stretching->coordinate(s, lengths[d]); });
  std::vector<double> x(static_cast<std::size_t>(centred ? cells()[d] : nodes[d]));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = (static_cast<double>(i) + (centred ? 0.5 : 0)) * spacing(d);
  return x;
}

std::vector<double> Grid::metric(int d, bool centred) const {
  if (!stretched(d))
    return {};
  return along(*this, d, centred, [&](double s) { return stretching->metric(s, lengths[d]); });
}

std::vector<double> Grid::curvature(int d) const {
  if (!stretched(d))
    return {};
  return along(*this, d, false, [&](double s) { return stretching->curvature(s, lengths[d]); });
}

std::vector<double> Grid::weights(int d, bool centred) const {
  std::vector<double> result(static_cast<std::size_t>(centred ? cells()[d] : nodes[d]), 1);
  if (stretched(d)) {
    const std::vector<double> slopes = metric(d, centred);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = 1 / slopes[i];
  }
  if (!periodic(d) && !centred) {
    result.front() *= 0.5;
    result.back() *= 0.5;
  }
  if (stretched(d)) { // a sum that is exact unless the nodes are too few for their own law
    const double scale = static_cast<double>(cells()[d]) / std::accumulate(result.begin(), result.end(), 0.0);
    for (double &each : result)
      each *= scale;
  }
  return result;
}

std::vector<double> Grid::distances(int d) const {
  std::vector<double> result(static_cast<std::size_t>(nodes[d]), spacing(d));
  if (!stretched(d))
    return result;
  const std::vector<double> x = coordinates(d);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double below = i > 0 ? x[i] - x[i - 1] : lengths[d], above = i + 1 < x.size() ? x[i + 1] - x[i] : lengths[d];
    result[i] = std::min(below, above);
  }
  return result;
}

} // namespace tailrace::grid
