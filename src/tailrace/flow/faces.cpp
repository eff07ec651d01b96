#include <tailrace/flow/faces.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

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

template <class T> Faces<T>::Faces(const Grid &grid, const Decomposition &nodes) : grid_(grid), nodes_(nodes) {
  for (int d = 0; d < 3; ++d) {
    weights_[d] = grid.weights(d);
    for (double &weight : weights_[d])
      weight *= grid.spacing(d);
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

template <class T> Face<T> &Faces<T>::at(int d, bool upper) {
  for (Face<T> &face : faces_)
    if (face.direction == d && face.upper == upper)
      return face;
  throw InputError(fmt::format("direction {} has no boundary: it is periodic", d < 0 || d > 2 ? '?' : "xyz"[d]));
}

template <class T> void Faces<T>::make_outflow(int d, const ConvectionSpeed &speed, bool balance) {
  if (at(d, true).boundary != Boundary::dirichlet)
    throw InputError(fmt::format("an outflow in {} needs a dirichlet boundary at its upper end", "xyz"[d]));
  outflows_.push_back({d, speed, balance});
}

template <class T> double Faces<T>::convect(const Velocity &u, double duration) {
  double speed = 0;
  for (const Outflow &outflow : outflows_)
    speed = convect(outflow, u, duration);
  return speed;
}

template <class T> double Faces<T>::convect(const Outflow &outflow, const Velocity &u, double duration) {
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
  if (face.box.size() > 0 && field.count[d] < 2)
    throw InputError(fmt::format("an outflow in {} needs two nodes along it on a rank; use fewer ranks", "xyz"[d]));
  for (int i = 0; i < 3; ++i)
    for_nodes(face, field, 0, [&](std::int64_t here, std::int64_t at) {
      const T last = u[i].data()[at], before = u[i].data()[at - stride];
      face.value[i].data()[here] = last - share * (last - before);
    });
  if (!outflow.balance)
    return speed;
  std::vector<double> sums{0, flux(face)}; // what flows in through the other faces, and out
  for (const Face<T> &other : faces_)
    if (other.boundary == Boundary::dirichlet && !(other.direction == d && other.upper))
      sums[0] += other.upper ? -flux(other) : flux(other);
  nodes_.comm().sum(sums);
  double area = 1;
  for (int other = 0; other < 3; ++other)
    area *= other == d ? 1 : grid_.lengths[other];
  const T shift = static_cast<T>((sums[0] - sums[1]) / area);
  for (T &value : face.value[d].values())
    value += shift;
  return speed;
}

/// Of the given normal velocity, this rank's part.
template <class T> double Faces<T>::flux(const Face<T> &face) const {
  const Index3 &n = face.box.count, &start = face.box.start;
  const auto weight = [&](int d, std::int64_t i) {
    return d == face.direction ? 1.0 : weights_[d][static_cast<std::size_t>(start[d] + i)];
  };
  const T *value = face.value[face.direction].data();
  double sum = 0;
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i)
        sum += weight(0, i) * weight(1, j) * weight(2, k) * static_cast<double>(*value++);
  return sum;
}

template <class T> void Faces<T>::impose(Velocity &u, double duration) {
  const Box field = nodes_.box(Pencil::x);
  const T length = static_cast<T>(duration);
  for (Face<T> &face : faces_) {
    if (face.boundary != Boundary::dirichlet)
      continue;
    for (int i = 0; i < 3; ++i) {
      const T *value = face.value[i].data(), *gradient = face.gradient[i].data();
      T *component = u[i].data();
      const bool tangential = i != face.direction;
      for_nodes(face, field, 0, [&](std::int64_t here, std::int64_t at) {
        component[at] = tangential ? value[here] + length * gradient[here] : value[here];
      });
    }
  }
  for (Face<T> &face : faces_)
    if (face.boundary == Boundary::free_slip)
      for_nodes(face, field, 0, [&](std::int64_t, std::int64_t at) { u[face.direction].data()[at] = 0; });
}

template <class T> void Faces<T>::remember(const Velocity &u) {
  const Box field = nodes_.box(Pencil::x);
  for (Face<T> &face : faces_)
    for (int i = 0; i < 3 && face.boundary == Boundary::dirichlet; ++i)
      for_nodes(face, field, 0,
                [&](std::int64_t here, std::int64_t at) { face.gradient[i].data()[here] = u[i].data()[at]; });
}

template <class T> void Faces<T>::keep_gradient(const Velocity &u, double duration) {
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
template class Faces<float>;
template class Faces<double>;

} // namespace tailrace::flow
