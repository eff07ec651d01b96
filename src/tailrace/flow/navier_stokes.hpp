#pragma once

#include <tailrace/flow/accelerator.hpp>
#include <tailrace/flow/body.hpp>
#include <tailrace/flow/boundary_faces.hpp>
#include <tailrace/flow/convection_diffusion.hpp>
#include <tailrace/flow/eddy_viscosity.hpp>
#include <tailrace/flow/equations/steady_force.hpp>
#include <tailrace/flow/flow_rate.hpp>
#include <tailrace/flow/implicit_diffusion.hpp>
#include <tailrace/flow/projection.hpp>
#include <tailrace/flow/scalar.hpp>
#include <tailrace/flow/time_integration.hpp>

#include <functional>

namespace tailrace::flow {

/// The parameters of a flow besides its grid.
struct FlowOptions {
  double viscosity;
  TimeScheme scheme = TimeScheme::rk3;
  ops::Interpolation interpolation = ops::Interpolation::aggressive;
  ops::Hyperviscosities hyperviscosity{}; ///< of the diffusion along x, y and z
  std::vector<ScalarOptions> scalars = {};
  std::array<double, 3> acceleration{}; ///< a constant part of f: minus a mean pressure gradient
  std::array<double, 3> coriolis{};     ///< c in the part  -c x u  of f: twice the angular velocity
  double linear = 0;                    ///< a in the part  a (u - mean of u)  of f: linear forcing (Lundgren 2003)
  std::optional<FlowRate> flow_rate = {};
  std::optional<EddyModel> eddy_model = {};
  bool implicit_y = false; ///< second derivatives along y by Crank-Nicolson, for velocity and scalars
  ops::WallDivergence wall_divergence = ops::WallDivergence::mirrored; ///< beside walls in y
};

/// Wall time by phase since the start, in seconds, on this rank. The time of transposes is not part of the phases that
/// need them.
struct FlowTimes {
  double convection = 0, pressure = 0, transposes = 0;
};

/// Incompressible Navier-Stokes,  du/dt = -1/2 (u . grad u + div(u u)) + nu lap u + f - grad p,  div u = 0, on
/// collocated velocities and half-shifted pressure (Laizet and Lamballais 2009). The body force f is optional. Fields
/// live in X pencils.
template <class T> class NavierStokes {
public:
  /// Collective. Throws InputError for scalars whose boundaries do not fit those of the flow, and for a periodic y
  /// whose diffusion should be implicit.
  NavierStokes(const grid::Grid &grid, const FlowOptions &options, std::shared_ptr<const grid::ProcessGrid> processes,
               grid::TransposeMethod method);

  /// What a caller sets before each stage: the force, and what is given at the ends of the stage. Times count from the
  /// start of the step.
  using Prepare = std::function<void(double start, double end)>;

  /// One time step of size dt. `prepare`, where there is one, is called before each stage; it fills `force`, and what
  /// is given at faces. Collective.
  void step(double dt, const Prepare &prepare = {});

  /// Has the stages computed by a device from now on, which computes this flow. Fields come from it when they are asked
  /// for here. The caller may change them until the next step, which takes them from here.
  void accelerate(std::unique_ptr<Accelerator<T>> device) {
    fetch_all(); // from another one before
    for (int field = 0; field < 3 + static_cast<int>(scalars_.size()); ++field)
      fetch_history(field);
    device_ = std::move(device);
    here_ = history_here_ = std::vector<char>(3 + scalars_.size(), 1);
    last_share_ = 0; // it has no pressure yet
    clear_impulse();
  }

  /// Adds `force` to the right-hand side from now on; it is zero at first.
  void add_force();

  /// Another Coriolis force than that of the options from now on.
  void set_coriolis(const std::array<double, 3> &coriolis) { options_.coriolis = coriolis; }

  /// Removes the divergence of the current velocity, which fields from outside may have, and sets the values at the
  /// ends. Collective.
  void project() {
    fetch_velocity();
    faces_.convect(velocity_, 0); // what leaves through an outflow stays as it is
    faces_.impose(velocity_, 0);
    projection_(pointers(velocity_));
    clear_body();
    last_share_ = 0;
  }

  /// Makes the upper end of direction d an outflow; see BoundaryFaces. Throws InputError where it is not a Dirichlet
  /// boundary.
  void make_outflow(int d, const ConvectionSpeed &speed, bool balance) { faces_.make_outflow(d, speed, balance); }

  /// Puts a body into the flow, in place of an earlier one; see Body. Velocity and scalars vanish on it, and are zero
  /// in it after each step. Collective. Throws InputError where diffusion along y is implicit, and on a device.
  void set_body(const Indicator &inside, int refinement);
  /// The body, or null.
  Body<T> *body() { return body_.get(); }

  /// The body force at the current velocity, on this rank's X pencil, with the force that kept the flow rate in the
  /// last step.
  std::array<grid::Field<T>, 3> driving();
  /// The same without that, without `force`, and without an eddy viscosity.
  std::array<grid::Field<T>, 3> steady_force();
  /// The force of the eddy viscosity at the current velocity. Only with a model. Collective.
  std::array<const T *, 3> eddy_force();
  /// What keeps the flow rate, or null.
  KeptFlowRate<T> *flow_rate() { return flow_rate_.get(); }
  /// What of component i each free node has lost in the steps that are done and will get back by the kept flow rate
  /// before the next one. Collective.
  double owed(int i) const {
    return flow_rate_ && flow_rate_->wanted().direction == i ? flow_rate_->owed(mean(i)) : 0.0;
  }
  /// The force that kept the flow rate in the last step; zero without one. Collective.
  double flow_rate_force() const { return flow_rate_ ? flow_rate_->force(mean(flow_rate_->wanted().direction)) : 0.0; }

  /// The least bytes that all ranks together hold for each node: velocities and right-hand sides. Local.
  static std::int64_t least_bytes_per_node(TimeScheme scheme) {
    return 3 * (2 + stored_right_hand_sides(scheme)) * static_cast<std::int64_t>(sizeof(T));
  }

  const grid::Grid &grid() const { return grid_; }
  const FlowOptions &options() const { return options_; }
  const grid::Decomposition &nodes() const { return nodes_.decomposition(); }
  grid::Exchange<T> &exchange() { return nodes_; }
  FlowTimes times() const;

  /// Velocity component i on this rank's X pencil of the nodes. Where a device computes the flow, its values are those
  /// of now until the next step. Collective.
  grid::Field<T> &velocity(int i) {
    fetch(i);
    return velocity_[i];
  }
  /// Component i of the body force on the same pencil; only after `add_force`.
  grid::Field<T> &force(int i) { return force_[i]; }
  /// Right-hand side of component i, `age` stages ago (1 is the newest). Checkpoints of Adams-Bashforth schemes need
  /// it.
  grid::Field<T> &history(int age, int i) {
    fetch_history(i);
    return right_hand_sides_[(newest_ + age - 1) % right_hand_sides_.size()][i];
  }
  /// Only if diffusion along y is implicit: component i of the gradient of the last stage's pressure, from which the
  /// next stage begins.
  grid::Field<T> &pressure_gradient(int i) { return implicit_->gradient(i); }
  /// An end of direction d, with the velocity that is given there.
  Face<T> &face(int d, bool upper) { return faces_.at(d, upper); }
  /// The scalars, with their values at ends. Where a device computes the flow, their other values are those of
  /// `scalar_values` and `scalar_history`.
  std::vector<Scalar<T>> &scalars() { return scalars_; }
  /// The values of a scalar, and its right-hand side of `age` stages ago; as `velocity` and `history`. Collective.
  grid::Field<T> &scalar_values(std::size_t number) {
    Scalar<T> &scalar = scalars_.at(number);
    fetch(3 + static_cast<int>(number));
    return scalar.values();
  }
  grid::Field<T> &scalar_history(int age, std::size_t number) {
    Scalar<T> &scalar = scalars_.at(number);
    fetch_history(3 + static_cast<int>(number));
    return scalar.history(age);
  }
  /// Steps since the start of the flow; restarts set it.
  long steps() const { return steps_; }
  void set_steps(long steps) { steps_ = steps; }

  /// Writes the pressure on the nodes (X pencil) that the last stage used; its mean is zero. Before the first step,
  /// and after `project`, it is the pressure that keeps the present velocity divergence-free. Collective.
  void pressure(T *nodes);
  /// From now on stores the data of `mean_pressure`: an array over the cells, unless a step has one stage only. Local.
  void keep_mean_pressure();
  /// The same, but the mean over the stages of the last step, weighted by their lengths: the pressure that changed the
  /// momentum in that step. Only after `keep_mean_pressure`. Around a body the pressures of stages differ, because each
  /// removes the rest of the divergence in the body, however short the stage. Collective.
  void mean_pressure(T *nodes);
  /// The device that computes the flow, with the velocity of now; null where the processor computes it. Collective.
  Accelerator<T> *device();
  /// The largest `node_rate`. Collective.
  double rate();
  /// Largest |div u| on the cells, of a velocity that is zero in a body; infinite if it is not a number. Collective.
  double max_divergence();

private:
  using Components = std::array<grid::Field<T>, 3>;
  static std::array<T *, 3> pointers(Components &fields);
  bool is_here(int field) const { return !device_ || here_[static_cast<std::size_t>(field)] != 0; }
  T *values_of(int field);
  T *history_of(int age, int field);
  void fetch(int field);
  void fetch_velocity() {
    for (int i = 0; i < 3; ++i)
      fetch(i);
  }
  void fetch_all() {
    for (int field = 0; field < 3 + static_cast<int>(scalars_.size()); ++field)
      fetch(field);
  }
  void fetch_history(int field);
  void refuse_on_device(const char *what) const;
  template <class Visit> void each_given_end(int first, int last, const Visit &visit);
  void fetch_ends(int first, int last, int depth);
  void put_ends(int first, int last);
  double mean(int i) const;
  void shift(int i, T by);
  std::array<std::vector<double>, 3> inverse_distances() const;
  void send();
  void advance_on_device(const Stage &stage, double dt);
  void remove_divergence();
  void last_potential(T *cells);
  double seconds_of_transposes() const { return workspace_->seconds + (device_ ? device_->seconds_of_exchange() : 0); }
  void find_mean();
  SteadyForces steady_forces() const { return {options_.acceleration, options_.coriolis, options_.linear, mean_}; }
  bool gathers_planes() const;
  void gather_plane(std::int64_t k, double duration);
  void advance(const Stage &stage, double dt);
  void right_hand_side_yz(Components &rhs, bool with_scalars);
  void scalars_yz(const std::array<T *, 3> &u_y, const std::array<T *, 3> &u_z);
  const SolidLines<T> *solid(int d) const { return body_ ? &body_->along(d) : nullptr; }
  void rebuild(grid::Field<T> &field, std::int64_t k);
  void clear_body();
  template <class Finish>
  void sweep_xy(const Stage &stage, double dt, Components &rhs, bool with_scalars, Finish finish_plane);
  void clear_impulse();
  void add_impulse(double duration);
  void add_forces(std::int64_t k, const std::array<T *, 3> &f);
  void add_steady_forces(std::int64_t k, const std::array<T *, 3> &f);
  void sweep_scalars(const Stage &stage, double dt, std::int64_t k);
  void diffuse(const Stage &stage, double dt, Components &rhs, bool with_scalars);
  std::array<T *, 3> z_start(const std::array<T *, 3> &arrays) const;
  std::array<T *, 3> move(grid::Pencil from, grid::Pencil to, const std::array<T *, 3> &in, Components &out);

  grid::Grid grid_;
  FlowOptions options_;
  std::shared_ptr<grid::Workspace> workspace_;
  grid::Exchange<T> nodes_;
  std::array<ConvectionDiffusion<T>, 3> convection_diffusion_;
  Projection<T> projection_;
  BoundaryFaces<T> faces_;
  std::unique_ptr<Body<T>> body_;
  std::vector<Scalar<T>> scalars_;
  std::unique_ptr<KeptFlowRate<T>> flow_rate_;     ///< null where none is kept
  std::unique_ptr<EddyViscosity<T>> eddies_;       ///< null without a model
  std::unique_ptr<ImplicitDiffusion<T>> implicit_; ///< null where all diffusion is explicit
  std::unique_ptr<Accelerator<T>> device_;         ///< null where the processor computes
  std::vector<char> here_, history_here_;          ///< by field of the device: 0 where it has newer values
  Components velocity_;
  Components force_;                         ///< no memory where there is no force
  std::vector<Components> right_hand_sides_; ///< a ring; [newest_] is the newest finished one
  std::size_t newest_ = 0;
  Components y_pencil_, z_pencil_, y_sum_; ///< only where those pencils differ
  grid::Field<T> scalar_y_, scalar_z_;     ///< the same, for one scalar after the other
  std::array<double, 3> mean_{};           ///< of the velocity at the start of the stage, where linear forcing needs it
  grid::Buffer<T> impulse_;                ///< pressure times duration of the last step, if kept
  double impulse_duration_ = 0;
  double last_share_ = 0; ///< dt times the share of the last stage; 0 before any step
  long steps_ = 0;
  FlowTimes times_;
};

} // namespace tailrace::flow
