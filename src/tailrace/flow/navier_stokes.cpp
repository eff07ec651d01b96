#include <tailrace/flow/navier_stokes.hpp>

#include <tailrace/flow/stage_weights.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

namespace {
template <class T> std::array<const T *, 3> constant(const std::array<T *, 3> &p) { return {p[0], p[1], p[2]}; }

Grid of_three_dimensions(Grid grid) {
  for (int d = 0; d < 3; ++d)
    if (grid.nodes[d] < Grid::smallest)
      throw InputError(
          fmt::format("grid has {} node in {}; the solver computes flows of three dimensions, with at least "
                      "{} nodes in each",
                      grid.nodes[d], "xyz"[d], Grid::smallest));
  return grid;
}
} // namespace

template <class T>
NavierStokes<T>::NavierStokes(const Grid &grid, const FlowOptions &options,
                              std::shared_ptr<const ProcessGrid> processes, TransposeMethod method)
    : grid_(of_three_dimensions(grid)), options_(options), workspace_(std::make_shared<Workspace>()),
      nodes_(Decomposition(processes, grid.nodes), method, workspace_),
      convection_diffusion_{
          ConvectionDiffusion<T>(grid, 0, options.viscosity, options.hyperviscosity[0]),
          ConvectionDiffusion<T>(grid, 1, options.viscosity, options.hyperviscosity[1], !options.implicit_y),
          ConvectionDiffusion<T>(grid, 2, options.viscosity, options.hyperviscosity[2])},
      projection_(grid, options.interpolation, processes, method, workspace_, options.wall_divergence),
      faces_(grid, nodes_.decomposition(), options.interpolation),
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
  for (const ScalarOptions &scalar : options.scalars)
    scalars_.emplace_back(grid, scalar, nodes_, stored_right_hand_sides(options.scheme), options.hyperviscosity,
                          options.implicit_y);
  if (!scalars_.empty() && !nodes_.is_free(Pencil::x, Pencil::y))
    scalar_y_ = Field<T>(nodes.box(Pencil::y), nodes_.allocate());
  if (!scalars_.empty() && !nodes_.is_free(Pencil::y, Pencil::z))
    scalar_z_ = Field<T>(nodes.box(Pencil::z));
  if (options.implicit_y)
    implicit_ = std::make_unique<ImplicitDiffusion<T>>(grid, options.viscosity, options.hyperviscosity[1],
                                                       options.scalars, nodes_);
  if (options.eddy_model)
    eddies_ = std::make_unique<EddyViscosity<T>>(grid, *options.eddy_model, options.viscosity, options.hyperviscosity,
                                                 processes, method);
  if (options.flow_rate)
    flow_rate_ = std::make_unique<KeptFlowRate<T>>(grid, nodes, *options.flow_rate);
}

template <class T> void NavierStokes<T>::step(double dt, const Prepare &prepare) {
  double start = 0;
  clear_impulse();
  for (const Stage &stage : stages(options_.scheme, steps_)) {
    const double duration = stage.share() * dt;
    if (prepare)
      prepare(start, start + duration);
    const int fields = 3 + static_cast<int>(scalars_.size());
    send();
    fetch_ends(faces_.has_outflow() ? 0 : 3, fields, 2);
    const double speed = faces_.convect(velocity_, duration);
    for (Scalar<T> &scalar : scalars_)
      scalar.impose(duration, speed);
    put_ends(3, fields);
    if (flow_rate_) {
      const int i = flow_rate_->wanted().direction;
      shift(i, flow_rate_->shift(mean(i), start == 0));
    }
    find_mean();
    if (eddies_)
      eddies_->update(velocity_, scalars_);
    advance(stage, dt);
    if (!gathers_planes())
      faces_.impose(velocity_, duration);
    put_ends(0, 3);
    faces_.remember(velocity_);
    if (implicit_)
      implicit_->remember(velocity_);
    const double before = seconds_of_transposes();
    {
      const Stopwatch watch(times_.pressure);
      remove_divergence();
      add_impulse(duration);
    }
    times_.pressure -= seconds_of_transposes() - before;
    fetch_ends(0, 3, 1);
    faces_.keep_gradient(velocity_, duration);
    if (implicit_)
      implicit_->keep_gradient(velocity_, duration);
    last_share_ = duration;
    start += duration;
  }
  clear_body();
  if (flow_rate_)
    flow_rate_->end_step(dt);
  ++steps_;
}

template <class T> void NavierStokes<T>::add_force() {
  if (force_[0].data() != nullptr)
    return;
  for (Field<T> &field : force_)
    field = Field<T>(nodes_.decomposition().box(Pencil::x));
}

/// Whether the divergence in x and y of a plane is taken as soon as its velocity is known, while that is in the cache.
template <class T> bool NavierStokes<T>::gathers_planes() const {
  return !device_ && !implicit_ && projection_.has_planes() && !faces_.has_balance();
}

template <class T> void NavierStokes<T>::gather_plane(std::int64_t k, double duration) {
  double seconds = 0;
  {
    const Stopwatch watch(seconds);
    faces_.impose_plane(velocity_, duration, k);
    projection_.gather_plane(constant(pointers(velocity_)), k);
  }
  times_.pressure += seconds;
  times_.convection -= seconds;
}

/// u <- u + dt * sum of weights * right-hand sides.
template <class T> void NavierStokes<T>::advance(const Stage &stage, double dt) {
  const double before = seconds_of_transposes();
  if (device_) {
    const Stopwatch watch(times_.convection);
    advance_on_device(stage, dt);
  } else {
    const Stopwatch watch(times_.convection);
    newest_ = (newest_ + right_hand_sides_.size() - 1) % right_hand_sides_.size();
    Components &rhs = right_hand_sides_[newest_];
    for (Scalar<T> &scalar : scalars_)
      scalar.begin_stage();
    right_hand_side_yz(rhs, true);
    const bool gathers = gathers_planes();
    sweep_xy(stage, dt, rhs, true, [&](std::int64_t k) {
      if (gathers)
        gather_plane(k, stage.share() * dt);
    });
    diffuse(stage, dt, rhs, true);
  }
  times_.convection -= seconds_of_transposes() - before;
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

/// The z part, and where y is not whole in X pencils the y part too, added up in `rhs`. Every decomposition adds in the
/// same order (z, y, x), so that all of them give the same bits.
template <class T> void NavierStokes<T>::right_hand_side_yz(Components &rhs, bool with_scalars) {
  const Decomposition &nodes = nodes_.decomposition();
  const bool free_y = nodes_.is_free(Pencil::x, Pencil::y), free_z = nodes_.is_free(Pencil::y, Pencil::z);
  const auto u_y = move(Pencil::x, Pencil::y, pointers(velocity_), y_pencil_);
  const auto u_z = move(Pencil::y, Pencil::z, u_y, z_pencil_);
  if (with_scalars)
    scalars_yz(u_y, u_z); // before a sweep replaces the velocity
  const auto sum = pointers(free_y ? rhs : y_sum_);
  const auto z_result = free_z ? sum : u_z; // a sweep may replace its own input
  convection_diffusion_[2].sweep(nodes_.z_lines(), constant(z_start(u_z)), StoreTo<T, 3>{z_start(z_result)}, solid(2));
  for (int i = 0; i < 3; ++i)
    nodes_.move(Pencil::z, Pencil::y, z_result[i], sum[i]);
  if (free_y)
    return; // the y part is done plane by plane together with x
  convection_diffusion_[1].sweep(Lines::along(1, nodes.box(Pencil::y).count), constant(u_y), AddTo<T, 3>{sum},
                                 solid(1));
  for (int i = 0; i < 3; ++i)
    nodes_.move(Pencil::y, Pencil::x, sum[i], rhs[i].data());
}

/// The same for the scalars, one after the other. `u_y` and `u_z`: the velocity in those pencils.
template <class T> void NavierStokes<T>::scalars_yz(const std::array<T *, 3> &u_y, const std::array<T *, 3> &u_z) {
  const bool free_y = nodes_.is_free(Pencil::x, Pencil::y), free_z = nodes_.is_free(Pencil::y, Pencil::z);
  const Lines along_y = Lines::along(1, nodes_.decomposition().box(Pencil::y).count);
  for (Scalar<T> &scalar : scalars_) {
    T *rhs = scalar.history(1).data();
    T *phi_y = nodes_.move(Pencil::x, Pencil::y, scalar.values().data(), scalar_y_.data());
    T *phi_z = nodes_.move(Pencil::y, Pencil::z, phi_y, scalar_z_.data());
    T *sum = free_y ? rhs : y_sum_[0].data();
    T *z_result = free_z ? sum : phi_z;
    scalar.transport(2).sweep(nodes_.z_lines(), nodes_.z_start(u_z[2]), nodes_.z_start(phi_z),
                              StoreTo<T, 1>{{nodes_.z_start(z_result)}}, solid(2));
    nodes_.move(Pencil::z, Pencil::y, z_result, sum);
    if (free_y)
      continue;
    scalar.transport(1).sweep(along_y, u_y[1], phi_y, AddTo<T, 1>{{sum}}, solid(1));
    nodes_.move(Pencil::y, Pencil::x, sum, rhs);
  }
  if (!scalars_.empty() && !free_y)
    nodes_.wait(); // the momentum's sweep along z writes to the sums of other ranks, which may still be in use
}

namespace {
/// Adds a scalar times a constant to component i in plane k of a box, but not on nodes where that component is given.
template <class T>
void add_buoyancy(const Grid &grid, const Box &box, std::int64_t k, int i, T strength, const T *phi, T *f) {
  const Box free = free_nodes(grid, i).intersect(box);
  Index3 first, last;
  for (int d = 0; d < 3; ++d) {
    first[d] = free.start[d] - box.start[d];
    last[d] = free.end(d) - box.start[d];
  }
  if (k < first[2] || k >= last[2])
    return;
  for (std::int64_t y = first[1]; y < last[1]; ++y)
    for (std::int64_t x = first[0]; x < last[0]; ++x)
      f[y * box.count[0] + x] += strength * phi[y * box.count[0] + x];
}
} // namespace

/// The rest of the right-hand side, and, unless diffusion is implicit, the time integration while its values are in
/// registers.
template <class T>
template <class Finish>
void NavierStokes<T>::sweep_xy(const Stage &stage, double dt, Components &rhs, bool with_scalars, Finish finish_plane) {
  const Index3 count = nodes_.decomposition().box(Pencil::x).count;
  const Index3 plane = {count[0], count[1], 1};
  const Lines along_x = Lines::along(0, plane), along_y = Lines::along(1, plane);
  const bool with_y = nodes_.is_free(Pencil::x, Pencil::y);
  const Weights<T> weights(stage, dt);
  for (std::int64_t k = 0; k < count[2]; ++k) {
    const std::int64_t start = k * count[0] * count[1];
    std::array<T *, 3> u, f;
    std::array<std::array<const T *, 2>, 3> past{};
    for (int i = 0; i < 3; ++i) {
      u[i] = velocity_[i].data() + start;
      f[i] = rhs[i].data() + start;
      for (int age = 0; age < weights.older; ++age)
        past[i][static_cast<std::size_t>(age)] = history(age + 2, i).data() + start;
    }
    if (with_y)
      convection_diffusion_[1].sweep(along_y, constant(u), AddTo<T, 3>{f}, solid(1), k * count[0]);
    add_forces(k, f);
    if (with_scalars)
      sweep_scalars(stage, dt, k); // before the velocity changes; the forces have used the scalars
    for (Field<T> &component : velocity_)
      rebuild(component, k);
    const auto integrate = [&](int i, std::int64_t offset, Vec<T> v, int lanes_used) {
      const Vec<T> newest = load(f[i] + offset, lanes_used) + v;
      implicit_ ? store(f[i] + offset, newest, lanes_used)
                : weights.integrate(newest, f[i], u[i], past[i], offset, lanes_used);
    };
    convection_diffusion_[0].sweep(along_x, constant(u), integrate, solid(0), k * count[1]);
    finish_plane(k);
  }
}

/// The same for the scalars in plane k.
template <class T> void NavierStokes<T>::sweep_scalars(const Stage &stage, double dt, std::int64_t k) {
  const Index3 count = nodes_.decomposition().box(Pencil::x).count;
  const Lines along_x = Lines::along(0, {count[0], count[1], 1}), along_y = Lines::along(1, {count[0], count[1], 1});
  const std::int64_t points = count[0] * count[1], start = k * points;
  const Weights<T> weights(stage, dt);
  for (Scalar<T> &scalar : scalars_) {
    T *phi = scalar.values().data() + start, *f = scalar.history(1).data() + start;
    std::array<const T *, 2> past{};
    for (int age = 0; age < weights.older; ++age)
      past[static_cast<std::size_t>(age)] = scalar.history(age + 2).data() + start;
    if (nodes_.is_free(Pencil::x, Pencil::y))
      scalar.transport(1).sweep(along_y, velocity_[1].data() + start, phi, AddTo<T, 1>{{f}}, solid(1), k * count[0]);
    if (eddies_) {
      const T *source = eddies_->source(static_cast<std::size_t>(&scalar - scalars_.data())) + start;
      for (std::int64_t p = 0; p < points; ++p)
        f[p] += source[p];
    }
    rebuild(scalar.values(), k);
    const auto integrate = [&](int, std::int64_t offset, Vec<T> v, int lanes_used) {
      const Vec<T> newest = load(f + offset, lanes_used) + v;
      implicit_ ? store(f + offset, newest, lanes_used) : weights.integrate(newest, f, phi, past, offset, lanes_used);
    };
    scalar.transport(0).sweep(along_x, velocity_[0].data() + start, phi, integrate, solid(0), k * count[1]);
    if (!implicit_)
      scalar.clip(phi, points);
  }
}

/// Adds the body force in plane k of this rank to the right-hand side.
template <class T> void NavierStokes<T>::add_forces(std::int64_t k, const std::array<T *, 3> &f) {
  const Index3 count = nodes_.decomposition().box(Pencil::x).count;
  const std::int64_t points = count[0] * count[1], start = k * points;
  add_steady_forces(k, f);
  for (int i = 0; i < 3; ++i) {
    if (force_[i].size() > 0)
      for (std::int64_t p = 0; p < points; ++p)
        f[i][p] += force_[i].data()[start + p];
    if (eddies_)
      for (std::int64_t p = 0; p < points; ++p)
        f[i][p] += eddies_->force(i)[start + p];
  }
}

/// The part that follows from the velocity and the scalars alone.
template <class T> void NavierStokes<T>::add_steady_forces(std::int64_t k, const std::array<T *, 3> &f) {
  const Box box = nodes_.decomposition().box(Pencil::x);
  const std::int64_t points = box.count[0] * box.count[1], start = k * points;
  const std::array<const T *, 3> u{velocity_[0].data() + start, velocity_[1].data() + start,
                                   velocity_[2].data() + start};
  const SteadyForces forces = steady_forces();
  for (int i = 0; i < 3; ++i) {
    const SteadyForce<T> force(forces, static_cast<std::size_t>(i));
    const T *next = u[(i + 1) % 3], *last = u[(i + 2) % 3];
    if (forces.any())
      for (std::int64_t p = 0; p < points; ++p)
        f[i][p] += force(u[i][p], next[p], last[p]);
    for (Scalar<T> &scalar : scalars_)
      if (const T strength = static_cast<T>(scalar.options().buoyancy[i]); strength != 0)
        add_buoyancy(grid_, box, k, i, strength, scalar.values().data() + start, f[i]);
  }
}

template <class T> void NavierStokes<T>::pressure(T *nodes) {
  Buffer<T> cells(projection_.cells().box(Pencil::z).size());
  double share = last_share_;
  if (share == 0) {
    fetch_all();
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
    faces_.convect(velocity_, 0);
    find_mean();
    if (eddies_)
      eddies_->update(velocity_, scalars_);
    right_hand_side_yz(rhs, false);
    sweep_xy(Stage{{1}}, share, rhs, false, [](std::int64_t) {});
    diffuse(Stage{{1}}, share, rhs, false);
    faces_.impose(velocity_, 0);
    projection_(pointers(velocity_));
    for (int i = 0; i < 3; ++i)
      std::copy_n(saved[i].data(), saved[i].size(), velocity_[i].data());
  }
  last_share_ == 0 ? projection_.potential(cells.data()) : last_potential(cells.data());
  for (std::int64_t i = 0; i < cells.size(); ++i)
    cells[i] /= static_cast<T>(share);
  projection_.to_nodes(cells.data(), nodes);
}

template <class T> double NavierStokes<T>::max_divergence() {
  if (Accelerator<T> *const computes = device())
    return nodes().comm().max(computes->max_divergence());
  Buffer<T> cells(projection_.cells().box(Pencil::z).size());
  projection_.divergence(constant(pointers(velocity_)), cells.data());
  double largest = 0;
  for (std::int64_t i = 0; i < cells.size(); ++i) {
    const double value = std::fabs(static_cast<double>(cells[i]));
    largest = std::isnan(value) ? INFINITY : std::max(largest, value);
  }
  return nodes().comm().max(largest);
}

template <class T> FlowTimes NavierStokes<T>::times() const {
  FlowTimes times = times_;
  times.transposes = seconds_of_transposes();
  return times;
}

template class NavierStokes<float>;
template class NavierStokes<double>;

} // namespace tailrace::flow
