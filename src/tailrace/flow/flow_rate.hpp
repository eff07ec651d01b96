#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>
#include <tailrace/grid/grid.hpp>

#include <functional>
#include <vector>

namespace tailrace::flow {

/// The mean velocity along a direction, which is kept at a value by shifting that component everywhere before each
/// stage.
struct FlowRate {
  int direction;
  double velocity;
};

/// The mean of a component of the velocity over the box, with Xcompact3D's weights: where y is stretched walls count as
/// a whole. The field lives in X pencils. Collective.
template <class T>
double mean_velocity(const grid::Grid &grid, const grid::Decomposition &nodes, const grid::Field<T> &component);
/// The same, of sums of `row_weights` times the values of a row, by the numbers of the row in y and z on this rank.
double mean_of_rows(const grid::Grid &grid, const grid::Decomposition &nodes,
                    const std::function<double(std::int64_t, std::int64_t)> &sum_of_row);
std::vector<double> row_weights(const grid::Grid &grid);

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

  /// By what the component, which has this mean, is shifted before a stage. Local.
  T shift(double mean, bool first_stage);
  void end_step(double dt) { last_step_ = dt; }

  /// What each free node has lost in the steps that are done and not got back yet, where the component has
  /// this mean now. Local.
  double owed(double mean) const { return (wanted_.velocity - mean) / share_; }
  /// The force in the last step. Zero before the first one. Local.
  double force(double mean) const;
  /// The energy per volume that the shifts have added since the start; restarts set it.
  double work() const { return work_; }
  void set_work(double work) { work_ = work; }

private:
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
