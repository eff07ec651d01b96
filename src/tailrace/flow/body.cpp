#include <tailrace/flow/body.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::flow {

using namespace grid;

namespace {

/// Positions along one direction: nodes, and the points of a mesh that is `refinement` times finer. Both may lie beyond
/// the ends.
class Positions {
public:
  Positions(const Grid &grid, int d, std::int64_t refinement)
      : refinement_(refinement), points_(grid.nodes[d]), periodic_(grid.periodic(d)), spacing_(grid.spacing(d)),
        fine_spacing_(grid.lengths[d] / static_cast<double>(grid.cells()[d] * refinement)) {
    if (!grid.stretched(d))
      return;
    Grid finer = grid;
    finer.nodes[d] = grid.cells()[d] * refinement + 1;
    nodes_ = grid.coordinates(d);
    fine_ = finer.coordinates(d);
  }
  std::int64_t points() const { return points_; }
  std::int64_t refinement() const { return refinement_; }
  bool periodic() const { return periodic_; }
  double node(std::int64_t i) const { return nodes_.empty() ? static_cast<double>(i) * spacing_ : value(nodes_, i); }
  /// The point k of the finer mesh, counted from node i.
  double fine(std::int64_t i, std::int64_t k) const {
    const std::int64_t at = i * refinement_ + k;
    return fine_.empty() ? static_cast<double>(at) * fine_spacing_ : value(fine_, at);
  }
  /// The same point within the domain: its image where periodic, else at most at the end.
  double fine_inside(std::int64_t i, std::int64_t k) const {
    const std::int64_t at = i * refinement_ + k, turn = points_ * refinement_;
    return fine(0, periodic_ ? (at + turn) % turn : std::clamp<std::int64_t>(at, 0, (points_ - 1) * refinement_));
  }

private:
  /// Beyond the ends the distance of the last two is repeated.
  static double value(const std::vector<double> &x, std::int64_t i) {
    const auto last = static_cast<std::int64_t>(x.size()) - 1;
    if (i < 0)
      return x[0] + static_cast<double>(i) * (x[1] - x[0]);
    if (i > last)
      return x.back() + static_cast<double>(i - last) * (x.back() - x[x.size() - 2]);
    return x[static_cast<std::size_t>(i)];
  }
  std::int64_t refinement_, points_;
  bool periodic_;
  double spacing_, fine_spacing_;
  std::vector<double> nodes_, fine_; ///< where stretched
};

/// A part of a line inside the body: its nodes first .. last, and the places where the line enters and leaves it. Where
/// periodic, `last` may be beyond the last node of the line.
struct Interval {
  std::int64_t first, last;
  double entry, exit;
};

/// Where the line crosses the surface between nodes i and i + 1, of which one is inside.
struct Crossing {
  std::int64_t node; ///< i
  bool enters;
  double place = 0;
  std::int64_t solid = 0; ///< the solid node next to it
};

/// The numbers of nodes after which a line enters or leaves the body. Where it is periodic the last node has the first
/// one as its neighbour.
std::vector<Crossing> crossings_of(std::span<const std::uint8_t> inside, bool periodic) {
  std::vector<Crossing> found;
  const std::size_t n = inside.size();
  for (std::size_t i = 0; i + (periodic ? 0 : 1) < n; ++i)
    if (const bool next = inside[(i + 1) % n]; next != static_cast<bool>(inside[i]))
      found.push_back({static_cast<std::int64_t>(i), next});
  return found;
}

/// Finds the place of a crossing from the indicator at the fine points -1 .. refinement + 1 counted from its node; the
/// ones before and after the two nodes are needed where rounding tells a node and the fine point on it apart.
void locate(Crossing &crossing, std::span<const std::uint8_t> inside, const Positions &positions) {
  const std::int64_t fine = positions.refinement();
  const std::int64_t none = -2;
  std::int64_t at = none; // the crossing next to the solid node
  for (std::int64_t k = -1; k <= fine; ++k) {
    const bool here = inside[static_cast<std::size_t>(k + 1)], next = inside[static_cast<std::size_t>(k + 2)];
    if (here != next && next == crossing.enters && (crossing.enters || at == none))
      at = k;
  }
  const std::int64_t shift = at == none ? 0 : at == -1 ? -1 : at == fine ? 1 : 0;
  crossing.solid = crossing.node + shift + (crossing.enters ? 1 : 0);
  crossing.place = at == none ? (positions.node(crossing.node) + positions.node(crossing.node + 1)) / 2
                              : (positions.fine(crossing.node, at) + positions.fine(crossing.node, at + 1)) / 2;
}

/// The parts of a line inside the body, in rising order. `crossings`: located, in rising order.
std::vector<Interval> intervals_of(const std::vector<Crossing> &crossings, const Positions &positions) {
  const std::int64_t n = positions.points();
  std::vector<Interval> found;
  const auto count = crossings.size();
  for (std::size_t c = 0; c < count; ++c) {
    const Crossing &crossing = crossings[c];
    if (!crossing.enters && c == 0 && !positions.periodic()) // solid from the lower end on; the surface is put outside
      found.push_back({0, crossing.solid, positions.node(-1), crossing.place});
    if (!crossing.enters)
      continue;
    if (c + 1 < count || positions.periodic()) {
      const Crossing &next = crossings[(c + 1) % count];
      const std::int64_t turn = c + 1 < count ? 0 : n;
      const double length = turn > 0 ? positions.node(n) - positions.node(0) : 0;
      found.push_back({crossing.solid, next.solid + turn, crossing.place, next.place + length});
    } else {
      found.push_back({crossing.solid, n - 1, crossing.place, positions.node(n)});
    }
  }
  std::erase_if(found, [](const Interval &i) { return i.last < i.first; });
  return found;
}

/// The polynomial in an interval, as weights of fluid nodes. `before`, `after`: fluid nodes between it and the next
/// intervals or the ends of the line.
template <class T>
typename SolidLines<T>::Stretch polynomial(const Interval &interval, std::int64_t before, std::int64_t after,
                                           const Positions &positions) {
  constexpr std::int64_t skipped = 1, each_side = SolidLines<T>::most_sources / 2;
  const std::int64_t n = positions.points();
  typename SolidLines<T>::Stretch stretch{interval.first, interval.last - interval.first + 1};
  std::vector<double> places;
  const auto add = [&](std::int64_t node) {
    stretch.source[static_cast<std::size_t>(stretch.sources++)] = (node + n) % n;
    places.push_back(positions.node(node));
  };
  for (std::int64_t q = 1; q <= std::min(each_side, before - skipped); ++q)
    add(interval.first - skipped - q);
  for (std::int64_t q = 1; q <= std::min(each_side, after - skipped); ++q)
    add(interval.last + skipped + q);
  for (std::int64_t node = interval.first; node <= interval.last; ++node) {
    const double x = positions.node(node);
    for (std::size_t i = 0; i < places.size(); ++i) { // Lagrange's formula; the values at entry and exit are zero
      double weight =
          (x - interval.entry) / (places[i] - interval.entry) * (x - interval.exit) / (places[i] - interval.exit);
      for (std::size_t other = 0; other < places.size(); ++other)
        if (other != i)
          weight *= (x - places[other]) / (places[i] - places[other]);
      stretch.weights.push_back(static_cast<T>(weight));
    }
  }
  return stretch;
}

template <class T>
std::vector<typename SolidLines<T>::Stretch> stretches_of(const std::vector<Interval> &intervals,
                                                          const Positions &positions) {
  std::vector<typename SolidLines<T>::Stretch> stretches;
  const std::int64_t n = positions.points();
  const auto count = intervals.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_first = i == 0, is_last = i + 1 == count;
    const std::int64_t end = is_first ? (positions.periodic() ? intervals.back().last - n : -1) : intervals[i - 1].last;
    const std::int64_t start =
        is_last ? (positions.periodic() ? intervals.front().first + n : n) : intervals[i + 1].first;
    stretches.push_back(
        polynomial<T>(intervals[i], intervals[i].first - end - 1, start - intervals[i].last - 1, positions));
  }
  return stretches;
}

/// Points for one call of an indicator, and its results.
struct Points {
  std::array<std::vector<double>, 3> x;
  std::vector<std::uint8_t> inside;
  void add(const std::array<double, 3> &point) {
    for (std::size_t d = 0; d < 3; ++d)
      x[d].push_back(point[d]);
  }
  void evaluate(const Indicator &indicator) {
    inside.assign(x[0].size(), 0);
    if (!inside.empty())
      indicator(x[0], x[1], x[2], inside);
  }
};

/// A plane of lines along direction d of a box: its other direction is `across`; along the third it is at one node.
struct Plane {
  int d, across;
  Box box;
  std::int64_t lines() const { return box.count[across]; }
};

using Axes = std::array<Positions, 3>;

/// The indicator at the nodes of the plane, line by line.
Points nodes_inside(const Plane &plane, const Axes &axes, const Indicator &indicator) {
  Points points;
  Index3 node = plane.box.start;
  for (std::int64_t line = 0; line < plane.lines(); ++line)
    for (std::int64_t i = 0; i < plane.box.count[plane.d]; ++i) {
      node[plane.across] = plane.box.start[plane.across] + line;
      node[plane.d] = i;
      points.add({axes[0].node(node[0]), axes[1].node(node[1]), axes[2].node(node[2])});
    }
  points.evaluate(indicator);
  return points;
}

/// Where the lines of the plane cross the surface of the body.
std::vector<std::vector<Crossing>> crossings_of(const Plane &plane, std::span<const std::uint8_t> inside,
                                                const Axes &axes, const Indicator &indicator) {
  const Positions &along = axes[static_cast<std::size_t>(plane.d)];
  const auto n = static_cast<std::size_t>(along.points()), window = static_cast<std::size_t>(along.refinement() + 3);
  std::vector<std::vector<Crossing>> lines;
  Points points;
  std::array<double, 3> at{};
  for (std::size_t d = 0; d < 3; ++d)
    at[d] = axes[d].node(plane.box.start[d]);
  for (std::int64_t line = 0; line < plane.lines(); ++line) {
    lines.push_back(crossings_of(inside.subspan(static_cast<std::size_t>(line) * n, n), along.periodic()));
    at[static_cast<std::size_t>(plane.across)] =
        axes[static_cast<std::size_t>(plane.across)].node(plane.box.start[plane.across] + line);
    for (const Crossing &crossing : lines.back())
      for (std::size_t k = 0; k < window; ++k) {
        at[static_cast<std::size_t>(plane.d)] = along.fine_inside(crossing.node, static_cast<std::int64_t>(k) - 1);
        points.add(at);
      }
  }
  points.evaluate(indicator);
  std::size_t first = 0;
  for (auto &crossings : lines)
    for (Crossing &crossing : crossings) {
      locate(crossing, std::span<const std::uint8_t>(points.inside).subspan(first, window), along);
      first += window;
    }
  return lines;
}

/// The runs of solid nodes of a line, without polynomials.
template <class T> std::vector<typename SolidLines<T>::Stretch> runs_of(std::span<const std::uint8_t> inside) {
  std::vector<typename SolidLines<T>::Stretch> runs;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i])
      continue;
    if (i == 0 || !inside[i - 1])
      runs.push_back({static_cast<std::int64_t>(i), 0});
    ++runs.back().count;
  }
  return runs;
}

} // namespace

template <class T>
Body<T>::Body(const Grid &grid, const Decomposition &nodes, const Indicator &inside, int refinement)
    : lines_{SolidLines<T>(grid.nodes[0]), SolidLines<T>(grid.nodes[1]), SolidLines<T>(grid.nodes[2])},
      mask_(grid.nodes[0]), solid_(nodes.box(Pencil::x)) {
  if (refinement < 1)
    throw InputError(fmt::format("a body needs a refinement of 1 or more, found {}", refinement));
  const Axes axes{Positions(grid, 0, refinement), Positions(grid, 1, refinement), Positions(grid, 2, refinement)};
  const auto find = [&](int d) {
    const int across = d == 0 ? 1 : 0, normal = d == 2 ? 1 : 2;
    const Box box = nodes.box(static_cast<Pencil>(d));
    Plane plane{d, across, box};
    plane.box.count[normal] = 1;
    const auto n = static_cast<std::size_t>(grid.nodes[d]);
    for (plane.box.start[normal] = box.start[normal]; plane.box.start[normal] < box.end(normal);
         ++plane.box.start[normal]) {
      const Points at_nodes = nodes_inside(plane, axes, inside);
      const std::span<const std::uint8_t> flags = at_nodes.inside;
      const auto crossings = crossings_of(plane, flags, axes, inside);
      for (std::size_t line = 0; line < crossings.size(); ++line) {
        const auto here = flags.subspan(line * n, n);
        const bool whole = crossings[line].empty() && here[0]; // solid throughout
        lines_[static_cast<std::size_t>(d)].add_line(
            whole ? runs_of<T>(here)
                  : stretches_of<T>(intervals_of(crossings[line], axes[static_cast<std::size_t>(d)]),
                                    axes[static_cast<std::size_t>(d)]));
        if (d == 0)
          mask_.add_line(runs_of<T>(here));
      }
      if (d == 0)
        std::ranges::copy(flags, solid_.data() + (plane.box.start[2] - box.start[2]) * box.count[0] * box.count[1]);
    }
  };
  nodes.comm().agree([&] {
    for (int d = 0; d < 3; ++d)
      find(d);
  });
  const auto values = solid_.values();
  if (nodes.comm().sum(static_cast<std::int64_t>(std::ranges::count(values, 1))) == 0)
    throw InputError("no node of the grid is inside the body; expected one at least");
}

template class Body<float>;
template class Body<double>;

} // namespace tailrace::flow
