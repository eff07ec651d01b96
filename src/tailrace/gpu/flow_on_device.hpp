#pragma once

#include <tailrace/flow/accelerator.hpp>
#include <tailrace/gpu/device_projection.hpp>

#include <vector>

namespace tailrace::gpu {

/// The stages of a flow on devices, one for each rank of slabs.
template <class T> class FlowOnDevice : public flow::Accelerator<T> {
public:
  /// Collective.
  FlowOnDevice(const grid::Grid &grid, double viscosity, const ops::Hyperviscosities &hyperviscosity,
               ops::Interpolation interpolation, flow::TimeScheme scheme,
               std::shared_ptr<const grid::ProcessGrid> processes);

  void put_velocity(int i, const T *values) override;
  void get_velocity(int i, T *values) override;
  void put_history(int age, int i, const T *values) override;
  void get_history(int age, int i, T *values) override;
  void put_force(int i, const T *values) override;
  void advance(const flow::Stage &stage, double dt, const flow::SteadyForces &forces) override;
  void project() override;
  void potential(T *phi) override;
  void put_end(int d, bool upper, int depth, const std::array<T *, 3> &fields) override;
  void get_end(int d, bool upper, int depth, const std::array<T *, 3> &fields) override;
  void shift(int i, T by) override;
  std::vector<double> sums_of_rows(int i, const std::vector<double> &weights) override;
  std::vector<double> rates_of_rows(const std::array<std::vector<double>, 3> &inverse) override;
  double seconds_of_exchange() const override {
    return momentum_.seconds_of_exchange() + projection_.seconds_of_exchange();
  }

private:
  Components<T> &history(int age);
  void clear_normal_velocity();
  template <class Value, class Join> std::vector<double> of_rows(const Value &value, const Join &join);

  device::Stream stream_; ///< first: the others end before it
  grid::Grid grid_;
  grid::Box box_; ///< this rank's X pencil of the nodes
  Momentum<T> momentum_;
  Projection<T> projection_;
  Components<T> velocity_;
  std::vector<Components<T>> right_hand_sides_; ///< a ring; [newest_] is the newest finished one
  std::size_t newest_ = 0;
  Components<T> force_; ///< no memory until there is one
};

} // namespace tailrace::gpu
