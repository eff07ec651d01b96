#include <tailrace/flow/navier_stokes.hpp>

#include <cmath>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

template <class T>
NavierStokes<T>::NavierStokes(const Grid &grid, const FlowOptions &options,
                              std::shared_ptr<const ProcessGrid> processes, TransposeMethod method)
    : grid_(grid), options_(options), workspace_(std::make_shared<Workspace>()),
      nodes_(Decomposition(processes, grid.nodes), method, workspace_),
      convection_diffusion_{ConvectionDiffusion<T>(grid, 0, options.viscosity),
                            ConvectionDiffusion<T>(grid, 1, options.viscosity),
                            ConvectionDiffusion<T>(grid, 2, options.viscosity)},
      projection_(grid, options.interpolation, processes, method, workspace_),
      right_hand_sides_(static_cast<std::size_t>(stored_right_hand_sides(options.scheme) + 1)) {
  const Decomposition &nodes = nodes_.decomposition();
  const auto allocate = [&](Components &fields, Pencil pencil) {
    for (Field<T> &field : fields)
      field = Field<T>(nodes.box(pencil));
  };
  // Fields that are swept along z are in memory that the ranks share, if they share any.
  const auto allocate_reachable = [&](Components &fields) {
    for (Field<T> &field : fields)
      field = Field<T>(nodes.box(Pencil::y), nodes_.allocate());
  };
  if (nodes_.is_free(Pencil::x, Pencil::y)) {
    allocate_reachable(velocity_);
    for (Components &rhs : right_hand_sides_)
      allocate_reachable(rhs);
  } else {
    allocate(velocity_, Pencil::x);
    for (Components &rhs : right_hand_sides_)
      allocate(rhs, Pencil::x);
    allocate_reachable(y_pencil_);
    allocate_reachable(y_sum_);
  }
  if (!nodes_.is_free(Pencil::y, Pencil::z))
    allocate(z_pencil_, Pencil::z);
}

template <class T> void NavierStokes<T>::step(double dt, const std::function<void(double since_start)> &set_force) {
  double since_start = 0;
  for (const Stage &stage : stages(options_.scheme, steps_)) {
    if (set_force)
      set_force(since_start);
    since_start += stage.share() * dt;
    advance(stage, dt);
    const double before = workspace_->seconds;
    {
      const Stopwatch watch(times_.pressure);
      projection_(pointers(velocity_));
    }
    times_.pressure -= workspace_->seconds - before;
    last_share_ = stage.share() * dt;
  }
  ++steps_;
}

template <class T> void NavierStokes<T>::add_force() {
  if (force_[0].data() != nullptr)
    return;
  for (Field<T> &field : force_)
    field = Field<T>(nodes_.decomposition().box(Pencil::x));
}

/// u <- u + dt * sum of weights * right-hand sides.
template <class T> void NavierStokes<T>::advance(const Stage &stage, double dt) {
  const double before = workspace_->seconds;
  {
    const Stopwatch watch(times_.convection);
    newest_ = (newest_ + right_hand_sides_.size() - 1) % right_hand_sides_.size();
    Components &rhs = right_hand_sides_[newest_];
    right_hand_side_yz(rhs);
    sweep_x(stage, dt, rhs);
  }
  times_.convection -= workspace_->seconds - before;
}

template <class T> std::array<T *, 3> NavierStokes<T>::pointers(Components &fields) {
  return {fields[0].data(), fields[1].data(), fields[2].data()};
}

template <class T>
std::array<T *, 3> NavierStokes<T>::move(Pencil from, Pencil to, const std::array<T *, 3> &in, Components &out) {
  std::array<T *, 3> moved;
  for (int i = 0; i < 3; ++i)
    moved[i] = nodes_.move(from, to, in[i], out[i].data());
  return moved;
}

/// Where this rank's columns start in arrays that `move` returned for the Z pencil.
template <class T> std::array<T *, 3> NavierStokes<T>::z_start(const std::array<T *, 3> &arrays) const {
  return {nodes_.z_start(arrays[0]), nodes_.z_start(arrays[1]), nodes_.z_start(arrays[2])};
}

namespace {
template <class T> std::array<const T *, 3> constant(const std::array<T *, 3> &p) { return {p[0], p[1], p[2]}; }
} // namespace

/// The z part, and where y is not whole in X pencils the y part too, added up in `rhs`. Every decomposition adds in the
/// same order (z, y, x), so that all of them give the same bits.
template <class T> void NavierStokes<T>::right_hand_side_yz(Components &rhs) {
  const Decomposition &nodes = nodes_.decomposition();
  const bool free_y = nodes_.is_free(Pencil::x, Pencil::y), free_z = nodes_.is_free(Pencil::y, Pencil::z);
  const auto u_y = move(Pencil::x, Pencil::y, pointers(velocity_), y_pencil_);
  const auto u_z = move(Pencil::y, Pencil::z, u_y, z_pencil_);
  const auto sum = pointers(free_y ? rhs : y_sum_);
  const auto z_result = free_z ? sum : u_z; // a sweep may replace its own input
  convection_diffusion_[2].sweep(nodes_.z_lines(), constant(z_start(u_z)), StoreTo<T, 3>{z_start(z_result)});
  for (int i = 0; i < 3; ++i)
    nodes_.move(Pencil::z, Pencil::y, z_result[i], sum[i]);
  if (free_y)
    return; // the y part is done plane by plane together with x
  convection_diffusion_[1].sweep(Lines::along(1, nodes.box(Pencil::y).count), constant(u_y),
                                 [&](int i, std::int64_t offset, Vec<T> v, int count) {
                                   store(sum[i] + offset, load(sum[i] + offset, count) + v, count);
                                 });
  for (int i = 0; i < 3; ++i)
    nodes_.move(Pencil::y, Pencil::x, sum[i], rhs[i].data());
}

/// The rest of the right-hand side, and the time integration while its values are in registers.
template <class T> void NavierStokes<T>::sweep_x(const Stage &stage, double dt, Components &rhs) {
  const Index3 count = nodes_.decomposition().box(Pencil::x).count;
  const Index3 plane = {count[0], count[1], 1};
  const Lines along_x = Lines::along(0, plane), along_y = Lines::along(1, plane);
  const bool with_y = nodes_.is_free(Pencil::x, Pencil::y);
  const int older = static_cast<int>(stage.weights.size()) - 1;
  T weights[3] = {};
  for (int age = 0; age <= older; ++age)
    weights[age] = static_cast<T>(stage.weights[age] * dt);
  for (std::int64_t k = 0; k < count[2]; ++k) {
    const std::int64_t start = k * count[0] * count[1];
    std::array<T *, 3> u, f, past[2];
    std::array<const T *, 3> force{};
    for (int i = 0; i < 3; ++i) {
      force[i] = force_[i].size() > 0 ? force_[i].data() + start : nullptr;
      u[i] = velocity_[i].data() + start;
      f[i] = rhs[i].data() + start;
      for (int age = 0; age < older; ++age)
        past[age][i] = history(age + 2, i).data() + start;
    }
    if (with_y)
      convection_diffusion_[1].sweep(along_y, constant(u), [&](int i, std::int64_t offset, Vec<T> v, int lanes_used) {
        store(f[i] + offset, load(f[i] + offset, lanes_used) + v, lanes_used);
      });
    convection_diffusion_[0].sweep(along_x, constant(u), [&](int i, std::int64_t offset, Vec<T> v, int lanes_used) {
      Vec<T> total = load(f[i] + offset, lanes_used) + v;
      if (force[i])
        total += load(force[i] + offset, lanes_used);
      Vec<T> next = load(u[i] + offset, lanes_used) + weights[0] * total;
      for (int age = 0; age < older; ++age)
        next += weights[age + 1] * load(past[age][i] + offset, lanes_used);
      store(f[i] + offset, total, lanes_used);
      store(u[i] + offset, next, lanes_used);
    });
  }
}

template <class T> void NavierStokes<T>::pressure(T *nodes) {
  Buffer<T> cells(projection_.cells().box(Pencil::z).size());
  double share = last_share_;
  if (share == 0) {
    // No stage has run yet. A stage of size one on a copy gives the potential whose gradient balances the right-hand
    // side.
    Components saved;
    for (int i = 0; i < 3; ++i) {
      saved[i] = Field<T>(velocity_[i].box());
      std::copy_n(velocity_[i].data(), velocity_[i].size(), saved[i].data());
    }
    share = 1;
    Components rhs;
    for (Field<T> &field : rhs)
      field = nodes_.is_free(Pencil::x, Pencil::y) ? Field<T>(velocity_[0].box(), nodes_.allocate())
                                                   : Field<T>(velocity_[0].box());
    right_hand_side_yz(rhs);
    sweep_x(Stage{{1}}, share, rhs);
    projection_(pointers(velocity_));
    for (int i = 0; i < 3; ++i)
      std::copy_n(saved[i].data(), saved[i].size(), velocity_[i].data());
  }
  projection_.potential(cells.data());
  for (std::int64_t i = 0; i < cells.size(); ++i)
    cells[i] /= static_cast<T>(share);
  projection_.to_nodes(cells.data(), nodes);
}

template <class T> double NavierStokes<T>::max_divergence() {
  Buffer<T> cells(projection_.cells().box(Pencil::z).size());
  projection_.divergence(constant(pointers(velocity_)), cells.data());
  double largest = 0;
  for (std::int64_t i = 0; i < cells.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(cells[i])));
  return nodes().comm().max(largest);
}

template <class T> FlowTimes NavierStokes<T>::times() const {
  FlowTimes times = times_;
  times.transposes = workspace_->seconds;
  return times;
}

template class NavierStokes<float>;
template class NavierStokes<double>;

} // namespace tailrace::flow
