#include <tailrace/gpu/flow_on_device.hpp>

#include <tailrace/gpu/field_kernels.hpp>

namespace tailrace::gpu {

using namespace grid;

template <class T>
FlowOnDevice<T>::FlowOnDevice(const Grid &grid, double viscosity, const ops::Hyperviscosities &hyperviscosity,
                              ops::Interpolation interpolation, flow::TimeScheme scheme,
                              std::shared_ptr<const ProcessGrid> processes)
    : stream_(processes->comm().split_node().rank()), grid_(grid),
      box_(Decomposition(processes, grid.nodes).box(Pencil::x)),
      momentum_(stream_, grid, viscosity, hyperviscosity, Decomposition(processes, grid.nodes)),
      projection_(stream_, grid, interpolation, processes), velocity_(components<T>(stream_, box_.size())) {
  for (int i = 0; i <= flow::stored_right_hand_sides(scheme); ++i)
    right_hand_sides_.push_back(components<T>(stream_, box_.size()));
}

template <class T> Components<T> &FlowOnDevice<T>::history(int age) {
  return right_hand_sides_[(newest_ + static_cast<std::size_t>(age) - 1) % right_hand_sides_.size()];
}

template <class T> void FlowOnDevice<T>::put_velocity(int i, const T *values) { velocity_[i].put(stream_, values); }
template <class T> void FlowOnDevice<T>::get_velocity(int i, T *values) { velocity_[i].get(stream_, values); }
template <class T> void FlowOnDevice<T>::put_history(int age, int i, const T *values) {
  history(age)[i].put(stream_, values);
}
template <class T> void FlowOnDevice<T>::get_history(int age, int i, T *values) {
  history(age)[i].get(stream_, values);
}
template <class T> void FlowOnDevice<T>::put_force(int i, const T *values) {
  if (force_[i].size() == 0)
    force_[i] = device::Array<T>(stream_, box_.size());
  force_[i].put(stream_, values);
}

template <class T>
void FlowOnDevice<T>::advance(const flow::Stage &stage, double dt, const flow::SteadyForces &forces) {
  newest_ = (newest_ + right_hand_sides_.size() - 1) % right_hand_sides_.size();
  std::array<const Components<T> *, 2> past{};
  for (std::size_t age = 0; age + 1 < stage.weights.size(); ++age)
    past[age] = &history(static_cast<int>(age) + 2);
  momentum_.advance(stage, dt, forces, force_[0].size() > 0 ? &force_ : nullptr, velocity_, history(1), past);
  clear_normal_velocity();
  stream_.wait();
}

/// At free slip the normal velocity is zero; rounding and what came from outside may differ from it.
template <class T> void FlowOnDevice<T>::clear_normal_velocity() {
  for (int d = 0; d < 3; ++d)
    for (const bool upper : {false, true})
      if (const Sides &sides = grid_.boundaries[d]; (upper ? sides.upper : sides.lower) == Boundary::free_slip)
        each_of_plane(stream_, EndPlanes(grid_, box_, d, upper, 1), Clear<T>{velocity_[d].data()});
}

template <class T> void FlowOnDevice<T>::project() {
  projection_(velocity_);
  stream_.wait();
}

template <class T> void FlowOnDevice<T>::potential(T *phi) { projection_.potential(phi); }

template <class T> void FlowOnDevice<T>::put_end(int d, bool upper, int depth, const std::array<T *, 3> &fields) {
  const EndPlanes planes(grid_, box_, d, upper, depth);
  std::vector<T> packed(static_cast<std::size_t>(planes.size()));
  for (std::size_t i = 0; i < 3; ++i) {
    planes.visit([&](std::int64_t here, std::int64_t at) { packed[static_cast<std::size_t>(here)] = fields[i][at]; });
    const device::Array<T> moved(stream_, packed);
    each_of_plane(stream_, planes, Unpack<T>{moved.data(), velocity_[i].data()});
    stream_.wait(); // `moved` ends here
  }
}

template <class T> void FlowOnDevice<T>::get_end(int d, bool upper, int depth, const std::array<T *, 3> &fields) {
  const EndPlanes planes(grid_, box_, d, upper, depth);
  std::vector<T> packed(static_cast<std::size_t>(planes.size()));
  const device::Array<T> moved(stream_, planes.size());
  for (std::size_t i = 0; i < 3; ++i) {
    each_of_plane(stream_, planes, Pack<T>{velocity_[i].data(), moved.data()});
    moved.get(stream_, packed.data());
    planes.visit([&](std::int64_t here, std::int64_t at) { fields[i][at] = packed[static_cast<std::size_t>(here)]; });
  }
}

template <class T> void FlowOnDevice<T>::shift(int i, T by) {
  add_to_all(stream_, velocity_[i].data(), velocity_[i].size(), by);
}

/// A number of each row of this rank.
template <class T>
template <class Value, class Join>
std::vector<double> FlowOnDevice<T>::of_rows(const Value &value, const Join &join) {
  const std::int64_t rows = box_.count[1] * box_.count[2];
  const device::Array<double> found(stream_, rows);
  reduce_rows(stream_, static_cast<int>(box_.count[0]), static_cast<int>(rows), value, join, found.data());
  std::vector<double> on_host(static_cast<std::size_t>(rows));
  found.get(stream_, on_host.data());
  return on_host;
}

template <class T> std::vector<double> FlowOnDevice<T>::sums_of_rows(int i, const std::vector<double> &weights) {
  const device::Array<double> factors(stream_, weights);
  return of_rows(Weighted<T>{velocity_[i].data(), factors.data(), box_.count[0]}, Plus{});
}

template <class T>
std::vector<double> FlowOnDevice<T>::rates_of_rows(const std::array<std::vector<double>, 3> &inverse) {
  const device::Array<double> x(stream_, inverse[0]), y(stream_, inverse[1]), z(stream_, inverse[2]);
  return of_rows(Rate<T>{{velocity_[0].data(), velocity_[1].data(), velocity_[2].data()},
                         x.data(),
                         y.data(),
                         z.data(),
                         box_.count[0],
                         static_cast<int>(box_.count[1])},
                 Larger{});
}

template class FlowOnDevice<float>;
template class FlowOnDevice<double>;

} // namespace tailrace::gpu
