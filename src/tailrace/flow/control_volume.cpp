#include <tailrace/flow/control_volume.hpp>

#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>

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

/// Adds this rank's part of the integral of value(offset) over nodes in the fluid; `normal`: the direction normal to
/// the face over which it is taken, or 3 for a volume.
template <class T>
template <class Value>
void ControlVolume<T>::over_nodes(ExactSum &sum, const Box &part, int normal, Value value) const {
  const Box field = flow_.nodes().box(Pencil::x), here = part.intersect(field);
  const std::uint8_t *solid = flow_.body() != nullptr ? flow_.body()->solid().data() : nullptr;
  const auto weight = [&](int d, std::int64_t node) {
    return d == normal ? 1.0 : weights_[static_cast<std::size_t>(d)][static_cast<std::size_t>(node - box_.start[d])];
  };
  for (std::int64_t k = here.start[2]; k < here.end(2); ++k)
    for (std::int64_t j = here.start[1]; j < here.end(1); ++j) {
      const double across = weight(2, k) * weight(1, j);
      const std::int64_t row = field.count[0] * (j - field.start[1] + field.count[1] * (k - field.start[2]));
      double in_row = 0;
      for (std::int64_t i = here.start[0]; i < here.end(0); ++i)
        if (const std::int64_t at = row + i - field.start[0]; solid == nullptr || solid[at] == 0)
          in_row += weight(0, i) * static_cast<double>(value(at));
      sum.add(across * in_row);
    }
}

/// The same over the two faces normal to d, where the box has them, the lower one with a minus.
template <class T> template <class Value> void ControlVolume<T>::over_faces(ExactSum &sum, int d, Value value) const {
  if (!open_[static_cast<std::size_t>(d)])
    return;
  Box lower = box_, upper = box_;
  lower.count[d] = upper.count[d] = 1;
  upper.start[d] = box_.end(d) - 1;
  over_nodes(sum, upper, d, value);
  over_nodes(sum, lower, d, [&](std::int64_t at) { return -value(at); });
}

template <class T> MomentumBalance::Vector ControlVolume<T>::momentum() {
  std::array<ExactSum, 3> sums;
  for (int i = 0; i < 3; ++i) {
    const T *u = flow_.velocity(i).data();
    over_nodes(sums[static_cast<std::size_t>(i)], box_, 3, [&](std::int64_t at) { return u[at]; });
    if (const double owed = flow_.owed(i); owed != 0) // of the force in the steps that are done
      over_nodes(sums[static_cast<std::size_t>(i)], box_.intersect(free_nodes(flow_.grid(), i)), 3,
                 [&](std::int64_t) { return owed; });
  }
  ExactSum::combine(flow_.nodes().comm(), sums);
  return {sums[0].value(), sums[1].value(), sums[2].value()};
}

template <class T> MomentumBalance ControlVolume<T>::balance() {
  flow_.mean_pressure(p_.data());
  const T *u[3] = {flow_.velocity(0).data(), flow_.velocity(1).data(), flow_.velocity(2).data()};
  const double nu = flow_.options().viscosity;
  const std::array<const T *, 9> gradient = diagnostics_.gradient();
  std::array<ExactSum, 12> sums;
  const auto convection = &sums[0], pressure = &sums[3], viscous = &sums[6], force = &sums[9];
  const std::array<Field<T>, 3> driving = flow_.driving();
  for (int i = 0; i < 3; ++i) {
    over_nodes(force[i], box_, 3, [&](std::int64_t at) { return driving[i].data()[at]; });
    over_faces(pressure[i], i, [&](std::int64_t at) { return -p_[at]; });
    for (int d = 0; d < 3; ++d)
      over_faces(convection[i], d, [&](std::int64_t at) { return u[i][at] * u[d][at]; });
  }
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d) {
      const T *slope = gradient[3 * i + d];
      const auto stress = [&](std::int64_t at) { return nu * static_cast<double>(slope[at]); };
      over_faces(viscous[i], d, stress);
      over_faces(viscous[d], i, stress);
    }
  ExactSum::combine(flow_.nodes().comm(), sums);
  const auto values = [](const ExactSum *of) {
    return MomentumBalance::Vector{of[0].value(), of[1].value(), of[2].value()};
  };
  return {values(convection), values(pressure), values(viscous), values(force)};
}

template class ControlVolume<float>;
template class ControlVolume<double>;

} // namespace tailrace::flow
