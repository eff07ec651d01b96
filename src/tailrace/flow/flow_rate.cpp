#include <tailrace/flow/flow_rate.hpp>

#include <tailrace/flow/boundary_faces.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <fmt/format.h>

namespace tailrace::flow {

using namespace grid;

namespace {
/// Weights of nodes in the mean velocity. Where y is stretched they are Xcompact3D's, which count walls as a whole;
/// ends that are free to slip, which its channels do not have, count by half.
std::vector<double> mean_weights(const Grid &grid, int d) {
  std::vector<double> weights = grid.metric(d);
  for (double &weight : weights)
    weight = 1 / weight;
  if (weights.empty())
    weights = grid.weights(d);
  else {
    weights.front() /= grid.boundaries[d].lower == Boundary::free_slip ? 2 : 1;
    weights.back() /= grid.boundaries[d].upper == Boundary::free_slip ? 2 : 1;
  }
  for (double &weight : weights)
    weight *= grid.spacing(d) / grid.lengths[d];
  return weights;
}
} // namespace

std::vector<double> row_weights(const Grid &grid) { return mean_weights(grid, 0); }

double mean_of_rows(const Grid &grid, const Decomposition &nodes,
                    const std::function<double(std::int64_t, std::int64_t)> &sum_of_row) {
  const Box box = nodes.box(Pencil::x);
  const std::vector<double> weights_y = mean_weights(grid, 1), weights_z = mean_weights(grid, 2);
  ExactSum sum;
  for (std::int64_t z = 0; z < box.count[2]; ++z)
    for (std::int64_t y = 0; y < box.count[1]; ++y)
      sum.add(weights_y[static_cast<std::size_t>(box.start[1] + y)] *
              weights_z[static_cast<std::size_t>(box.start[2] + z)] * sum_of_row(y, z));
  sum.combine(nodes.comm());
  return sum.value();
}

template <class T> double mean_velocity(const Grid &grid, const Decomposition &nodes, const Field<T> &component) {
  const Index3 count = component.box().count;
  const std::vector<double> weights = row_weights(grid);
  return mean_of_rows(grid, nodes, [&](std::int64_t y, std::int64_t z) {
    const T *values = component.data() + count[0] * (y + count[1] * z);
    double sum = 0;
    for (std::int64_t x = 0; x < count[0]; ++x)
      sum += weights[static_cast<std::size_t>(x)] * static_cast<double>(values[x]);
    return sum;
  });
}

template <class T>
KeptFlowRate<T>::KeptFlowRate(const Grid &grid, const Decomposition &nodes, const FlowRate &wanted)
    : grid_(grid), nodes_(nodes), wanted_(wanted) {
  if (wanted.direction < 0 || wanted.direction > 2)
    throw InputError(fmt::format("the direction of a flow rate is {}; expected 0, 1 or 2", wanted.direction));
  find_share(nullptr);
}

template <class T> void KeptFlowRate<T>::find_share(const Field<std::uint8_t> *solid) {
  const Box box = nodes_.box(Pencil::x), free = free_nodes(grid_, wanted_.direction).intersect(box);
  Field<T> moves(box);
  std::ranges::fill(moves.values(), T{0});
  for (std::int64_t k = free.start[2]; k < free.end(2); ++k)
    for (std::int64_t j = free.start[1]; j < free.end(1); ++j)
      for (std::int64_t i = free.start[0]; i < free.end(0); ++i) {
        const std::int64_t at =
            i - box.start[0] + box.count[0] * (j - box.start[1] + box.count[1] * (k - box.start[2]));
        moves.data()[at] = solid == nullptr || solid->data()[at] == 0 ? T{1} : T{0};
      }
  share_ = mean_velocity(grid_, nodes_, moves);
}

template <class T> T KeptFlowRate<T>::shift(double mean, bool first_stage) {
  const T shift = static_cast<T>(wanted_.velocity - mean);
  const double added = static_cast<double>(shift);
  if (first_stage)
    shifts_ = 0, lost_before_ = added;
  shifts_ += added;
  work_ += added * (mean + 0.5 * added);
  return shift;
}

template <class T> double KeptFlowRate<T>::force(double mean) const {
  const double lost = wanted_.velocity - mean;
  return last_step_ > 0 ? (shifts_ + (lost - lost_before_) / share_) / last_step_ : 0.0;
}

template double mean_velocity(const Grid &, const Decomposition &, const Field<float> &);
template double mean_velocity(const Grid &, const Decomposition &, const Field<double> &);
template class KeptFlowRate<float>;
template class KeptFlowRate<double>;

} // namespace tailrace::flow
