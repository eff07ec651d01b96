#include <tailrace/gpu/device_scalar.hpp>

namespace tailrace::gpu {

using namespace grid;
using namespace ops;

namespace {

/// One direction's part of the equation of a scalar, from lines of u_d and of the scalar.
template <class T> struct Transport {
  static constexpr int inputs = 2, outputs = 1, buffers = 2;
  int points;
  Sides sides;
  const LaneSystem<T> *gradient, *diffusion;
  const T *shift; ///< see flow::ScalarEquations

  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &lines) const {
    const PaddedLine<T, rows> velocity = lines[0], phi = lines[1];
    fill_ghosts([&](int g) { fill_ghost<T>(phi, points, sides, Parity::even, false, g); });
    Warp::sync();
    PerLane<LaneRows<T, rows>> x; // two of them do not fit into the registers where lines are long
    solve<T, Operation::first_derivative>(*gradient, phi, x);
    Warp::each([&](int lane) {
      TAILRACE_UNROLL
      for (int j = 0; j < rows; ++j)
        if (const int at = lane * rows + j; at < points)
          velocity[at] = x[lane].row[j] * (velocity[at] + shift[at]);
    });
    solve<T, Operation::second_derivative>(*diffusion, phi, x);
    put<true>(x, velocity, points);
  }
};

/// Completes the right-hand side, integrates in time, and clips.
template <class T> struct IntegrateScalar {
  T *f, *phi;
  const T *past[2]; ///< older right-hand sides, as many as are not null
  T weights[3], least, most;
  TAILRACE_LANES void operator()(int, std::int64_t at, T value) const {
    const T newest = f[at] + value;
    T next = phi[at] + weights[0] * newest;
    TAILRACE_UNROLL
    for (int age = 0; age < 2; ++age)
      if (past[age] != nullptr)
        next += weights[age + 1] * past[age][at];
    f[at] = newest;
    next = next < least ? least : next; // what is not a number stays so
    phi[at] = most < next ? most : next;
  }
};

} // namespace

template <class T>
DeviceScalar<T>::DeviceScalar(const device::Stream &stream, const Grid &grid, const ScalarParameters &parameters,
                              int stored, const Hyperviscosities &hyperviscosity, const Decomposition &nodes)
    : stream_(stream), parameters_(parameters), grid_(grid.nodes, grid.lengths, parameters.boundaries, grid.stretching),
      nodes_(nodes.box(Pencil::x).count), z_nodes_(nodes.box(Pencil::z).count), exchange_(stream, nodes),
      values_(stream, nodes_.size()) {
  for (int d = 0; d < 3; ++d) {
    const flow::ScalarEquations equations =
        flow::scalar_equations(grid_, d, parameters.diffusivity, parameters.settling[d], hyperviscosity[d]);
    systems_[d] = Systems<T>(stream, {&equations.gradient, &equations.diffusion});
    shifts_[d] = device::Array<T>(stream, std::vector<T>(equations.shift.begin(), equations.shift.end()));
  }
  for (int i = 0; i <= stored; ++i)
    right_hand_sides_.emplace_back(stream, nodes_.size());
  if (!exchange_.is_free()) {
    z_values_ = device::Array<T>(stream, z_nodes_.size());
    z_part_ = device::Array<T>(stream, z_nodes_.size());
  }
}

template <class T> device::Array<T> &DeviceScalar<T>::history(int age) {
  return right_hand_sides_[(newest_ + static_cast<std::size_t>(age) - 1) % right_hand_sides_.size()];
}

template <class T>
void DeviceScalar<T>::advance(const flow::Stage &stage, double dt, const std::array<const T *, 3> &u,
                              const T *w_columns) {
  newest_ = (newest_ + right_hand_sides_.size() - 1) % right_hand_sides_.size();
  T *const newest = history(1).data(), *const phi = values_.data();
  const auto along = [&](int d) {
    return Transport<T>{static_cast<int>(grid_.nodes[d]), grid_.boundaries[d], systems_[d][0], systems_[d][1],
                        shifts_[d].data()};
  };
  T *const columns = exchange_.move(Pencil::y, Pencil::z, phi, z_values_.data());
  T *const part = exchange_.is_free() ? newest : z_part_.data();
  sweep_columns<T>(stream_, 2, z_nodes_, z_nodes_, along(2), {w_columns, columns}, Store<T>{{part}});
  exchange_.move(Pencil::z, Pencil::y, part, newest);
  sweep_columns<T>(stream_, 1, nodes_, nodes_, along(1), {u[1], phi}, Add<T>{{newest}});
  IntegrateScalar<T> finish{newest, phi, {}, {}, static_cast<T>(parameters_.least), static_cast<T>(parameters_.most)};
  for (std::size_t age = 0; age < stage.weights.size(); ++age) {
    finish.weights[age] = static_cast<T>(stage.weights[age] * dt);
    if (age > 0)
      finish.past[age - 1] = history(static_cast<int>(age) + 1).data();
  }
  sweep_rows<T>(stream_, nodes_, nodes_, along(0), {u[0], phi}, finish);
}

template class DeviceScalar<float>;
template class DeviceScalar<double>;

} // namespace tailrace::gpu
