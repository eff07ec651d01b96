#pragma once

#include <tailrace/device/array.hpp>
#include <tailrace/gpu/device_exchange.hpp>
#include <tailrace/gpu/lane_sweep.hpp>
#include <tailrace/gpu/mode_kernels.hpp>
#include <tailrace/gpu/transform.hpp>

#include <array>

namespace tailrace::gpu {

/// What ops::Poisson solves, on the devices of slabs of ranks: Fourier modes where periodic and cosines elsewhere; y
/// may be stretched where z is periodic. Values are transformed along z in Z pencils, then along x and y in planes.
template <class T> class Poisson {
public:
  /// Collective.
  Poisson(const device::Stream &stream, const grid::Grid &grid, ops::Interpolation interpolation,
          std::shared_ptr<const grid::ProcessGrid> processes);

  /// The cells of this rank's Z pencil: f before `solve`, and p after it.
  T *values() const { return values_.data(); }
  double seconds_of_exchange() const { return exchange_.seconds(); }
  /// Collective.
  void solve();

private:
  template <class V>
  void reorder(const V *from, V *to, const grid::Index3 &points, const std::array<bool, 3> &cosine, bool back) const;
  void solve_planes(Complex<T> *modes);
  void solve_modes(Complex<T> *modes);

  const device::Stream &stream_;
  grid::Box box_, planes_; ///< this rank's cells in the Z pencil, and its modes in the Y pencil
  T scale_;
  std::array<device::Array<T>, 3> memory_; ///< of the tables
  std::array<ModeTable<T>, 3> tables_;
  DeviceExchange<Complex<T>> exchange_;
  device::Array<T> values_, ordered_; ///< in the order of the cells, and of cosines along z
  device::Array<Complex<T>> z_modes_; ///< in the Z pencil
  device::Array<Complex<T>> y_modes_; ///< in the Y pencil, where that is another
  device::Array<Complex<T>> planes_ordered_;
  std::unique_ptr<Transform<T>> transform_;
  device::Array<T> factors_; ///< only where y is stretched: see ops::ModeSystems
  int reach_ = 0;
};

} // namespace tailrace::gpu
