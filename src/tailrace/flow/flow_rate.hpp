#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>
#include <tailrace/grid/grid.hpp>

namespace tailrace::flow {

/// The mean velocity along a direction, which is kept at a value by shifting that component everywhere before each
/// stage.
struct FlowRate {
  int direction;
  double velocity;
};

/// The mean of a component of the velocity over the box, with Xcompact3D's weights: where y is stretched the ends count
/// as a whole. The field lives in X pencils. Collective.
template <class T>
double mean_velocity(const grid::Grid &grid, const grid::Decomposition &nodes, const grid::Field<T> &component);

/// Keeps a flow rate, and measures the force that this takes: the shifts of a step, and by how much what is lost after
/// it is more than what was lost before it. So the force does not depend on how long the step before was, whose loss
/// the first shift makes up for. Only nodes that are free to move, not those at walls and in a body, keep what they are
/// given.
template <class T> class KeptFlowRate {
public:
  /// Throws InputError for a direction that there is not. Collective.
  KeptFlowRate(const grid::Grid &grid, const grid::Decomposition &nodes, const FlowRate &wanted);

  const FlowRate &wanted() const { return wanted_; }
  /// From now on the nodes where `solid` is 1 belong to a body. Collective.
  void set_solid(const grid::Field<std::uint8_t> &solid) { find_share(&solid); }

  /// Shifts the component before a stage. Collective.
  void keep(grid::Field<T> &component, bool first_stage);
  void end_step(double dt) { last_step_ = dt; }

  /// What each free node has lost in the steps that are done and not got back yet. Collective.
  double owed(const grid::Field<T> &component) const { return lost(component) / share_; }
  /// The force in the last step. Zero before the first one. Collective.
  double force(const grid::Field<T> &component) const;
  /// The energy per volume that the shifts have added since the start; restarts set it.
  double work() const { return work_; }
  void set_work(double work) { work_ = work; }

private:
  double lost(const grid::Field<T> &component) const {
    return wanted_.velocity - mean_velocity(grid_, nodes_, component);
  }
  void find_share(const grid::Field<std::uint8_t> *solid);

  grid::Grid grid_;
  const grid::Decomposition &nodes_;
  FlowRate wanted_;
  double share_ = 1;                    ///< of the nodes that are free to move, in the mean
  double shifts_ = 0, lost_before_ = 0; ///< of the last step
  double last_step_ = 0;                ///< dt of the last step; 0 before any step
  double work_ = 0;
};

} // namespace tailrace::flow
