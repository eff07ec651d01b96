#pragma once

#include <tailrace/flow/accelerator.hpp>
#include <tailrace/gpu/derivatives.hpp>
#include <tailrace/gpu/device_projection.hpp>
#include <tailrace/gpu/device_scalar.hpp>

#include <vector>

namespace tailrace::gpu {

/// The stages of a flow on devices, one for each rank of slabs.
template <class T> class FlowOnDevice : public flow::Accelerator<T> {
public:
  /// Collective.
  FlowOnDevice(const grid::Grid &grid, double viscosity, const ops::Hyperviscosities &hyperviscosity,
               ops::Interpolation interpolation, flow::TimeScheme scheme,
               std::shared_ptr<const grid::ProcessGrid> processes, const std::vector<ScalarParameters> &scalars = {});

  void put(int field, const T *values) override;
  void get(int field, T *values) override;
  void put_history(int age, int field, const T *values) override;
  void get_history(int age, int field, T *values) override;
  void put_end(int field, int d, bool upper, int depth, const T *values) override;
  void get_end(int field, int d, bool upper, int depth, T *values) override;
  void put_force(int i, const T *values) override;
  void advance(const flow::Stage &stage, double dt, const flow::SteadyForces &forces) override;
  void project() override;
  void potential(T *phi) override;
  void shift(int field, T by) override;
  std::vector<double> sums_of_rows(int field, const std::vector<double> &weights) override;
  std::vector<double> products_of_rows(int a, int b, const std::vector<double> &weights) override;
  std::array<std::vector<double>, 3> gradients_of_rows(const std::vector<double> &weights) override;
  std::array<std::vector<double>, 3> diffusion_of_rows(const std::vector<double> &weights, bool hyperviscous) override;
  double max_divergence() override;
  std::vector<double> rates_of_rows(const std::array<std::vector<double>, 3> &inverse) override;
  double seconds_of_exchange() const override;

private:
  Components<T> &history(int age);
  device::Array<T> &values_of(int field);
  device::Array<T> &history_of(int age, int field);
  T *between(std::int64_t size);
  void add_buoyancy(const Components<T> &newest);
  void clear_normal_velocity();
  template <class Value, class Join>
  std::vector<double> of_rows(const Value &value, const Join &join, const grid::Index3 &shape);
  std::vector<double> product(const T *a, const T *b, const device::Array<double> &weights);
  T *room(std::size_t number);

  device::Stream stream_; ///< first: the others end before it
  grid::Grid grid_;
  grid::Box box_; ///< this rank's X pencil of the nodes
  Momentum<T> momentum_;
  Projection<T> projection_;
  Components<T> velocity_;
  std::vector<Components<T>> right_hand_sides_; ///< a ring; [newest_] is the newest finished one
  std::size_t newest_ = 0;
  std::vector<std::unique_ptr<DeviceScalar<T>>> scalars_;
  std::unique_ptr<Derivatives<T>> derivatives_; ///< made when they are first needed
  std::array<device::Array<T>, 2> room_;        ///< for derivatives
  ops::Hyperviscosities hyperviscosity_;
  grid::Decomposition nodes_;
  device::Array<T> between_, cells_;
  device::Array<double> rows_;
  Components<T> force_; ///< no memory until there is one
};

} // namespace tailrace::gpu
