#include <tailrace/flow/boundary_faces.hpp>

#include <tailrace/ops/apply.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tailrace::flow {

using namespace grid;

Box face_box(const Grid &grid, const Box &field, int d, bool upper) {
  Box box = field;
  const std::int64_t node = upper ? grid.nodes[d] - 1 : 0;
  box.start[d] = node;
  box.count[d] = node >= field.start[d] && node < field.end(d) ? 1 : 0;
  return box;
}

namespace {
/// Weights of nodes along d in the net flow through an end of another direction, as the projection computes it: the sum
/// over the cells of the averages to them, times the sizes of the cells. For a uniform grid, the trapezoidal rule.
std::vector<double> flux_weights(const Grid &grid, int d, ops::Interpolation interpolation) {
  std::vector<double> weights = grid.weights(d);
  for (double &weight : weights)
    weight *= grid.spacing(d);
  if (!grid.stretched(d))
    return weights;
  const auto scheme = ops::compact_scheme(ops::Operation::interpolate_to_centre, grid.spacing(d), interpolation);
  const ops::LineSystem<double> average(scheme, grid.nodes[d], Boundary::free_slip, ops::Parity::even);
  const std::int64_t nodes = average.points_in, cells = average.points_out;
  std::vector<double> unit(static_cast<std::size_t>(nodes * nodes), 0),
      averages(static_cast<std::size_t>(nodes * cells));
  for (std::int64_t j = 0; j < nodes; ++j)
    unit[static_cast<std::size_t>(j * (nodes + 1))] = 1;
  ops::apply(average, 0, {nodes, nodes, 1}, unit.data(), averages.data()); // a row for each node
  const std::vector<double> metric = grid.metric(d, true);
  for (std::int64_t j = 0; j < nodes; ++j) {
    double sum = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell)
      sum += averages[static_cast<std::size_t>(j * cells + cell)] / metric[static_cast<std::size_t>(cell)];
    weights[static_cast<std::size_t>(j)] = sum * grid.spacing(d);
  }
  return weights;
}
} // namespace

template <class T>
BoundaryFaces<T>::BoundaryFaces(const Grid &grid, const Decomposition &nodes, ops::Interpolation interpolation)
    : grid_(grid), nodes_(nodes) {
  for (int d = 0; d < 3; ++d) {
    weights_[d] = flux_weights(grid, d, interpolation);
    for (const bool upper : {false, true}) {
      if (grid.periodic(d))
        continue;
      Face<T> face{d,
                   upper,
                   upper ? grid.boundaries[d].upper : grid.boundaries[d].lower,
                   face_box(grid, nodes.box(Pencil::x), d, upper),
                   {},
                   {}};
      if (face.boundary == Boundary::dirichlet)
        for (int i = 0; i < 3; ++i) {
          face.value[i] = Field<T>(face.box);
          face.gradient[i] = Field<T>(face.box);
        }
      faces_.push_back(std::move(face));
    }
  }
}

void check_neighbours(const Decomposition &nodes, int d) {
  const Index3 &shape = nodes.shape();
  const int ranks = d == 0 ? 1 : d == 1 ? nodes.processes().rows() : nodes.processes().cols();
  if (shape[d] / ranks < 2)
    throw InputError(fmt::format("an end in {} needs two nodes along {} on each rank, but {} nodes are shared by {} "
                                 "ranks; use fewer ranks",
                                 "xyz"[d], "xyz"[d], shape[d], ranks));
}

template <class T> Face<T> &BoundaryFaces<T>::at(int d, bool upper) {
  for (Face<T> &face : faces_)
    if (face.direction == d && face.upper == upper)
      return face;
  throw InputError(fmt::format("direction {} has no boundary: it is periodic", d < 0 || d > 2 ? '?' : "xyz"[d]));
}

template <class T> void BoundaryFaces<T>::make_outflow(int d, const ConvectionSpeed &speed, bool balance) {
  if (at(d, true).boundary != Boundary::dirichlet)
    throw InputError(fmt::format("an outflow in {} needs a dirichlet boundary at its upper end", "xyz"[d]));
  check_neighbours(nodes_, d);
  outflows_.push_back({d, speed, balance});
}

template <class T> double BoundaryFaces<T>::convect(const Velocity &u, double duration) {
  double speed = 0;
  for (const Outflow &outflow : outflows_)
    speed = convect(outflow, u, duration);
  return speed;
}

template <class T> double BoundaryFaces<T>::convect(const Outflow &outflow, const Velocity &u, double duration) {
  Face<T> &face = at(outflow.direction, true);
  const Box field = nodes_.box(Pencil::x);
  const int d = outflow.direction;
  double speed = outflow.speed.value;
  if (outflow.speed.kind != ConvectionSpeed::Kind::given) {
    std::vector<double> ends(2, -std::numeric_limits<double>::max()); // the largest, and minus the least
    for_nodes(face, field, 1, [&](std::int64_t, std::int64_t at) {
      const auto value = static_cast<double>(u[d].data()[at]);
      ends[0] = std::max(ends[0], value);
      ends[1] = std::max(ends[1], -value);
    });
    for (double &end : ends)
      end = nodes_.comm().max(end);
    speed = outflow.speed.kind == ConvectionSpeed::Kind::largest ? ends[0] : (ends[0] - ends[1]) / 2;
  }
  const double distance = grid_.coordinates(d).back() - grid_.coordinates(d)[grid_.nodes[d] - 2];
  const T share = static_cast<T>(speed * duration / distance);
  const std::int64_t stride = d == 0 ? 1 : d == 1 ? field.count[0] : field.count[0] * field.count[1];
  for (int i = 0; i < 3; ++i)
    for_nodes(face, field, 0, [&](std::int64_t here, std::int64_t at) {
      const T last = u[i].data()[at], before = u[i].data()[at - stride];
      face.value[i].data()[here] = last - share * (last - before);
    });
  return speed;
}

template <class T> bool BoundaryFaces<T>::is_outflow(const Face<T> &face) const {
  return face.upper && std::ranges::any_of(outflows_, [&](const Outflow &o) { return o.direction == face.direction; });
}

template <class T> void BoundaryFaces<T>::impose(Velocity &u, double duration) {
  impose(u, duration, Planes());
  for (const Outflow &outflow : outflows_)
    if (outflow.balance)
      balance(at(outflow.direction, true), u);
}

template <class T> void BoundaryFaces<T>::impose(Velocity &u, double duration, const Planes &planes) const {
  for (const bool outflows : {true, false})
    for (const Face<T> &face : faces_)
      if (face.boundary == Boundary::dirichlet && is_outflow(face) == outflows)
        impose(face, u, duration, planes);
  for (const Face<T> &face : faces_)
    if (face.boundary == Boundary::free_slip)
      for_nodes(
          face, nodes_.box(Pencil::x), 0, [&](std::int64_t, std::int64_t at) { u[face.direction].data()[at] = 0; },
          planes);
}

template <class T> bool BoundaryFaces<T>::has_balance() const {
  return std::any_of(outflows_.begin(), outflows_.end(), [](const Outflow &outflow) { return outflow.balance; });
}

template <class T>
void BoundaryFaces<T>::impose(const Face<T> &face, Velocity &u, double duration, const Planes &planes) const {
  const T length = static_cast<T>(duration);
  for (int i = 0; i < 3; ++i) {
    const T *value = face.value[i].data(), *gradient = face.gradient[i].data();
    T *component = u[i].data();
    const bool tangential = i != face.direction;
    for_nodes(
        face, nodes_.box(Pencil::x), 0,
        [&](std::int64_t here, std::int64_t at) {
          component[at] = tangential ? value[here] + length * gradient[here] : value[here];
        },
        planes);
  }
}

/// Calls visit(node, offset in the field, weight, whether the node belongs to another Dirichlet end too).
template <class T> template <class Visit> void BoundaryFaces<T>::for_weights(const Face<T> &face, Visit visit) const {
  const Index3 &n = face.box.count;
  const auto on_edge = [&](int d, std::int64_t node) {
    return d != face.direction && ((node == 0 && grid_.boundaries[d].lower == Boundary::dirichlet) ||
                                   (node == grid_.nodes[d] - 1 && grid_.boundaries[d].upper == Boundary::dirichlet));
  };
  for_nodes(face, nodes_.box(Pencil::x), 0, [&](std::int64_t here, std::int64_t at) {
    const Index3 node{face.box.start[0] + here % n[0], face.box.start[1] + here / n[0] % n[1],
                      face.box.start[2] + here / (n[0] * n[1])};
    double weight = 1;
    bool edge = false;
    for (int d = 0; d < 3; ++d) {
      weight *= d == face.direction ? 1 : weights_[d][static_cast<std::size_t>(node[d])];
      edge = edge || on_edge(d, node[d]);
    }
    visit(at, weight, edge);
  });
}

/// Shifts the velocity through an outflow so that the net flow through all ends is zero.
template <class T> void BoundaryFaces<T>::balance(const Face<T> &outflow, Velocity &u) const {
  std::array<ExactSum, 2> sums; // the net outflow, and the area of the nodes that are shifted
  for (const Face<T> &face : faces_)
    for_weights(face, [&](std::int64_t at, double weight, bool edge) {
      const double flow = weight * static_cast<double>(u[face.direction].data()[at]);
      sums[0].add(face.upper ? flow : -flow);
      sums[1].add(&face == &outflow && !edge ? weight : 0);
    });
  ExactSum::combine(nodes_.comm(), sums);
  const T shift = static_cast<T>(sums[0].value() / sums[1].value());
  for_weights(outflow, [&](std::int64_t at, double, bool edge) {
    if (!edge)
      u[outflow.direction].data()[at] -= shift;
  });
}

template <class T> void BoundaryFaces<T>::remember(const Velocity &u) {
  const Box field = nodes_.box(Pencil::x);
  for (Face<T> &face : faces_)
    for (int i = 0; i < 3 && face.boundary == Boundary::dirichlet; ++i)
      for_nodes(face, field, 0,
                [&](std::int64_t here, std::int64_t at) { face.gradient[i].data()[here] = u[i].data()[at]; });
}

template <class T> void BoundaryFaces<T>::keep_gradient(const Velocity &u, double duration) {
  const Box field = nodes_.box(Pencil::x);
  const T length = static_cast<T>(duration);
  for (Face<T> &face : faces_)
    for (int i = 0; i < 3 && face.boundary == Boundary::dirichlet; ++i)
      for_nodes(face, field, 0, [&](std::int64_t here, std::int64_t at) {
        T &gradient = face.gradient[i].data()[here];
        gradient = (gradient - u[i].data()[at]) / length;
      });
}

template struct Face<float>;
template struct Face<double>;
template class BoundaryFaces<float>;
template class BoundaryFaces<double>;

} // namespace tailrace::flow
