#include <tailrace/flow/control_volume.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::flow {

using namespace grid;

namespace {
/// Weights of the nodes first .. last: halves at the two faces, except in a periodic direction that is covered as a
/// whole.
std::vector<double> weights_between(const Grid &grid, int d, std::int64_t first, std::int64_t last, bool whole) {
  const std::vector<double> metric = grid.metric(d);
  std::vector<double> weights;
  for (std::int64_t node = first; node <= last; ++node) {
    const double width = grid.spacing(d) / (metric.empty() ? 1 : metric[static_cast<std::size_t>(node)]);
    weights.push_back((node == first || node == last) && !whole ? width / 2 : width);
  }
  return weights;
}
} // namespace

template <class T>
ControlVolume<T>::ControlVolume(NavierStokes<T> &flow, Diagnostics<T> &diagnostics, const Index3 &first,
                                const Index3 &last)
    : flow_(flow), diagnostics_(diagnostics) {
  const Grid &grid = flow.grid();
  for (int d = 0; d < 3; ++d) {
    if (first[d] < 0 || last[d] <= first[d] || last[d] >= grid.nodes[d])
      throw InputError(
          fmt::format("a control volume goes from node {} to node {} in {}; expected two of the nodes 0 to "
                      "{}, the lower one first",
                      first[d], last[d], "xyz"[d], grid.nodes[d] - 1));
    box_.start[d] = first[d];
    box_.count[d] = last[d] - first[d] + 1;
    open_[static_cast<std::size_t>(d)] = !(grid.periodic(d) && box_.count[d] == grid.nodes[d]);
    weights_[static_cast<std::size_t>(d)] =
        weights_between(grid, d, first[d], last[d], !open_[static_cast<std::size_t>(d)]);
  }
  flow.keep_mean_pressure();
  p_ = Buffer<T>(flow.nodes().box(Pencil::x).size());
}

/// This rank's part of the integral of value(offset) over nodes in the fluid; `normal`: the direction normal to the
/// face over which it is taken, or 3 for a volume.
template <class T>
template <class Value>
double ControlVolume<T>::over_nodes(const Box &part, int normal, Value value) const {
  const Box field = flow_.nodes().box(Pencil::x), here = part.intersect(field);
  const std::uint8_t *solid = flow_.body() != nullptr ? flow_.body()->solid().data() : nullptr;
  const auto weight = [&](int d, std::int64_t node) {
    return d == normal ? 1.0 : weights_[static_cast<std::size_t>(d)][static_cast<std::size_t>(node - box_.start[d])];
  };
  double sum = 0;
  for (std::int64_t k = here.start[2]; k < here.end(2); ++k)
    for (std::int64_t j = here.start[1]; j < here.end(1); ++j) {
      const double across = weight(2, k) * weight(1, j);
      const std::int64_t row = field.count[0] * (j - field.start[1] + field.count[1] * (k - field.start[2]));
      for (std::int64_t i = here.start[0]; i < here.end(0); ++i)
        if (const std::int64_t at = row + i - field.start[0]; solid == nullptr || solid[at] == 0)
          sum += across * weight(0, i) * static_cast<double>(value(at));
    }
  return sum;
}

/// The same over the two faces normal to d, where the box has them, the lower one with a minus.
template <class T> template <class Value> double ControlVolume<T>::over_faces(int d, Value value) const {
  if (!open_[static_cast<std::size_t>(d)])
    return 0;
  Box lower = box_, upper = box_;
  lower.count[d] = upper.count[d] = 1;
  upper.start[d] = box_.end(d) - 1;
  return over_nodes(upper, d, value) - over_nodes(lower, d, value);
}

template <class T> MomentumBalance ControlVolume<T>::balance() {
  flow_.mean_pressure(p_.data());
  const T *u[3] = {flow_.velocity(0).data(), flow_.velocity(1).data(), flow_.velocity(2).data()};
  const double nu = flow_.options().viscosity;
  const std::array<const T *, 9> gradient = diagnostics_.gradient();
  MomentumBalance sums;
  const std::array<Field<T>, 3> driving = flow_.driving();
  for (int i = 0; i < 3; ++i) {
    sums.momentum[i] = over_nodes(box_, 3, [&](std::int64_t at) { return u[i][at]; });
    sums.driving[i] = over_nodes(box_, 3, [&](std::int64_t at) { return driving[i].data()[at]; });
    sums.pressure[i] = -over_faces(i, [&](std::int64_t at) { return p_[at]; });
    for (int d = 0; d < 3; ++d)
      sums.convection[i] += over_faces(d, [&](std::int64_t at) { return u[i][at] * u[d][at]; });
  }
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d) {
      const T *slope = gradient[3 * i + d];
      const auto stress = [&](std::int64_t at) { return nu * static_cast<double>(slope[at]); };
      sums.viscous[i] += over_faces(d, stress);
      sums.viscous[d] += over_faces(i, stress);
    }
  std::vector<double> all;
  for (const auto *part : {&sums.momentum, &sums.convection, &sums.pressure, &sums.viscous, &sums.driving})
    all.insert(all.end(), part->begin(), part->end());
  flow_.nodes().comm().sum(all);
  const double *next = all.data();
  for (auto *part : {&sums.momentum, &sums.convection, &sums.pressure, &sums.viscous, &sums.driving})
    for (double &value : *part)
      value = *next++;
  return sums;
}

template class ControlVolume<float>;
template class ControlVolume<double>;

} // namespace tailrace::flow
