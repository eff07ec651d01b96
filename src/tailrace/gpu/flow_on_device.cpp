#include <tailrace/gpu/flow_on_device.hpp>

#include <tailrace/flow/equations/free_nodes.hpp>
#include <tailrace/gpu/field_kernels.hpp>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tailrace::gpu {

using namespace grid;

namespace {
/// Which of the processes of its node this one is: as the launcher says, which knows all of them, or else among the
/// ranks of the flow. Collective.
int number_on_node(const Communicator &comm) {
  const int among_ranks = comm.split_node().rank();
  for (const char *name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID", "FLUX_TASK_LOCAL_ID"})
    if (const char *text = std::getenv(name))
      if (int number = 0; std::from_chars(text, text + std::strlen(text), number).ec == std::errc() && number >= 0)
        return number;
  return among_ranks;
}
} // namespace

template <class T>
FlowOnDevice<T>::FlowOnDevice(const Grid &grid, double viscosity, const ops::Hyperviscosities &hyperviscosity,
                              ops::Interpolation interpolation, flow::TimeScheme scheme,
                              std::shared_ptr<const ProcessGrid> processes,
                              const std::vector<ScalarParameters> &scalars)
    : stream_(number_on_node(processes->comm())), grid_(grid),
      box_(Decomposition(processes, grid.nodes).box(Pencil::x)),
      momentum_(stream_, grid, viscosity, hyperviscosity, Decomposition(processes, grid.nodes)),
      projection_(stream_, grid, interpolation, processes), velocity_(components<T>(stream_, box_.size())),
      hyperviscosity_(hyperviscosity), nodes_(processes, grid.nodes) {
  for (int i = 0; i <= flow::stored_right_hand_sides(scheme); ++i)
    right_hand_sides_.push_back(components<T>(stream_, box_.size()));
  for (const ScalarParameters &scalar : scalars)
    scalars_.push_back(std::make_unique<DeviceScalar<T>>(stream_, grid, scalar, flow::stored_right_hand_sides(scheme),
                                                         hyperviscosity, Decomposition(processes, grid.nodes)));
}

template <class T> Components<T> &FlowOnDevice<T>::history(int age) {
  return right_hand_sides_[(newest_ + static_cast<std::size_t>(age) - 1) % right_hand_sides_.size()];
}

template <class T> device::Array<T> &FlowOnDevice<T>::values_of(int field) {
  return field < 3 ? velocity_[static_cast<std::size_t>(field)]
                   : scalars_[static_cast<std::size_t>(field) - 3]->values();
}
template <class T> device::Array<T> &FlowOnDevice<T>::history_of(int age, int field) {
  return field < 3 ? history(age)[static_cast<std::size_t>(field)]
                   : scalars_[static_cast<std::size_t>(field) - 3]->history(age);
}

template <class T> void FlowOnDevice<T>::put(int field, const T *values) { values_of(field).put(stream_, values); }
template <class T> void FlowOnDevice<T>::get(int field, T *values) { values_of(field).get(stream_, values); }
template <class T> void FlowOnDevice<T>::put_history(int age, int field, const T *values) {
  history_of(age, field).put(stream_, values);
}
template <class T> void FlowOnDevice<T>::get_history(int age, int field, T *values) {
  history_of(age, field).get(stream_, values);
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
  momentum_.begin(velocity_, history(1));
  add_buoyancy(history(1)); // of the scalars before they change; they need the velocity before it changes
  for (auto &scalar : scalars_)
    scalar->advance(stage, dt, {velocity_[0].data(), velocity_[1].data(), velocity_[2].data()},
                    momentum_.w_columns(velocity_));
  momentum_.integrate(stage, dt, forces, force_[0].size() > 0 ? &force_ : nullptr, velocity_, history(1), past);
  clear_normal_velocity();
  stream_.wait();
}

/// At the nodes where the velocity is not given.
template <class T> void FlowOnDevice<T>::add_buoyancy(const Components<T> &newest) {
  for (auto &scalar : scalars_)
    for (int i = 0; i < 3; ++i)
      if (const T strength = static_cast<T>(scalar->parameters().buoyancy[i]); strength != 0)
        if (const Box where = flow::free_nodes(grid_, i).intersect(box_); !where.empty())
          add_multiple(stream_, box_, where, newest[i].data(), strength, scalar->values().data());
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

/// Room for so many values between the host and fields, which stays.
template <class T> T *FlowOnDevice<T>::between(std::int64_t size) {
  if (between_.size() < size)
    between_ = device::Array<T>(stream_, size);
  return between_.data();
}

template <class T> void FlowOnDevice<T>::put_end(int field, int d, bool upper, int depth, const T *values) {
  const EndPlanes planes(grid_, box_, d, upper, depth);
  std::vector<T> packed(static_cast<std::size_t>(planes.size()));
  planes.visit([&](std::int64_t here, std::int64_t at) { packed[static_cast<std::size_t>(here)] = values[at]; });
  T *const moved = between(planes.size());
  device::upload(stream_, moved, packed.data(), packed.size() * sizeof(T));
  each_of_plane(stream_, planes, Unpack<T>{moved, values_of(field).data()});
}

template <class T> void FlowOnDevice<T>::get_end(int field, int d, bool upper, int depth, T *values) {
  const EndPlanes planes(grid_, box_, d, upper, depth);
  std::vector<T> packed(static_cast<std::size_t>(planes.size()));
  T *const moved = between(planes.size());
  each_of_plane(stream_, planes, Pack<T>{values_of(field).data(), moved});
  device::download(stream_, packed.data(), moved, packed.size() * sizeof(T));
  planes.visit([&](std::int64_t here, std::int64_t at) { values[at] = packed[static_cast<std::size_t>(here)]; });
}

template <class T> void FlowOnDevice<T>::shift(int field, T by) {
  add_to_all(stream_, values_of(field).data(), values_of(field).size(), by);
}

template <class T> double FlowOnDevice<T>::seconds_of_exchange() const {
  double sum = momentum_.seconds_of_exchange() + projection_.seconds_of_exchange();
  sum += derivatives_ ? derivatives_->seconds_of_exchange() : 0;
  for (const auto &scalar : scalars_)
    sum += scalar->seconds_of_exchange();
  return sum;
}

/// A number of each row of a part of this shape.
template <class T>
template <class Value, class Join>
std::vector<double> FlowOnDevice<T>::of_rows(const Value &value, const Join &join, const Index3 &shape) {
  const std::int64_t rows = shape[1] * shape[2];
  if (rows_.size() < rows)
    rows_ = device::Array<double>(stream_, rows);
  reduce_rows(stream_, static_cast<int>(shape[0]), static_cast<int>(rows), value, join, rows_.data());
  std::vector<double> on_host(static_cast<std::size_t>(rows));
  device::download(stream_, on_host.data(), rows_.data(), on_host.size() * sizeof(double));
  return on_host;
}

template <class T> std::vector<double> FlowOnDevice<T>::sums_of_rows(int field, const std::vector<double> &weights) {
  const device::Array<double> factors(stream_, weights);
  return of_rows(Weighted<T>{values_of(field).data(), factors.data(), box_.count[0]}, Plus{}, box_.count);
}

template <class T>
std::vector<double> FlowOnDevice<T>::product(const T *a, const T *b, const device::Array<double> &weights) {
  return of_rows(WeightedProduct<T>{a, b, weights.data(), box_.count[0]}, Plus{}, box_.count);
}

template <class T>
std::vector<double> FlowOnDevice<T>::products_of_rows(int a, int b, const std::vector<double> &weights) {
  return product(values_of(a).data(), values_of(b).data(), device::Array<double>(stream_, weights));
}

namespace {
void add(std::vector<double> &sums, const std::vector<double> &more) {
  sums.resize(more.size());
  for (std::size_t row = 0; row < more.size(); ++row)
    sums[row] += more[row];
}
} // namespace

/// Room for a derivative.
template <class T> T *FlowOnDevice<T>::room(std::size_t number) {
  if (!derivatives_)
    derivatives_ = std::make_unique<Derivatives<T>>(stream_, grid_, hyperviscosity_, nodes_);
  if (room_[number].size() == 0)
    room_[number] = device::Array<T>(stream_, box_.size());
  return room_[number].data();
}

template <class T>
std::array<std::vector<double>, 3> FlowOnDevice<T>::gradients_of_rows(const std::vector<double> &weights) {
  using Kind = typename Derivatives<T>::Kind;
  const device::Array<double> factors(stream_, weights);
  T *const a = room(0), *const b = room(1);
  std::array<std::vector<double>, 3> sums;
  for (int i = 0; i < 3; ++i) {
    (*derivatives_)(Kind::first, i, i, values_of(i).data(), a);
    add(sums[0], product(a, a, factors));
    for (int d = i + 1; d < 3; ++d) {
      (*derivatives_)(Kind::first, i, d, values_of(i).data(), a);
      (*derivatives_)(Kind::first, d, i, values_of(d).data(), b);
      add(sums[1], product(a, a, factors));
      add(sums[1], product(b, b, factors));
      add(sums[2], product(a, b, factors));
    }
  }
  return sums;
}

template <class T>
std::array<std::vector<double>, 3> FlowOnDevice<T>::diffusion_of_rows(const std::vector<double> &weights,
                                                                      bool hyperviscous) {
  using Kind = typename Derivatives<T>::Kind;
  const device::Array<double> factors(stream_, weights);
  T *const a = room(0);
  std::array<std::vector<double>, 3> sums;
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d) {
      (*derivatives_)(hyperviscous ? Kind::hyperviscous : Kind::second, i, d, values_of(i).data(), a);
      add(sums[static_cast<std::size_t>(d)], product(values_of(i).data(), a, factors));
    }
  return sums;
}

template <class T> double FlowOnDevice<T>::max_divergence() {
  const Layout &cells = projection_.cells();
  if (cells_.size() == 0)
    cells_ = device::Array<T>(stream_, cells.size());
  projection_.divergence(velocity_, cells_.data());
  double largest = 0;
  for (const double of_row : of_rows(Size<T>{cells_.data(), cells.shape[0]}, Larger{}, cells.shape))
    largest = of_row > largest ? of_row : largest;
  return largest;
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
                 Larger{}, box_.count);
}

template class FlowOnDevice<float>;
template class FlowOnDevice<double>;

} // namespace tailrace::gpu
