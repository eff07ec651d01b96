#pragma once

#include <tailrace/device/array.hpp>
#include <tailrace/gpu/sweep.hpp>
#include <tailrace/gpu/transform.hpp>
#include <tailrace/ops/symbols.hpp>

#include <array>

namespace tailrace::gpu {

/// What ops::Poisson solves, on a device: Fourier modes where periodic and cosines elsewhere; y may be stretched where
/// x and z are periodic.
///
/// One transform of three dimensions serves all. The cosines of n values are the Fourier modes of the same values in
/// another order, the even numbers first and then the odd ones backwards, turned by exp(-i pi k / 2n) (Makhoul 1980);
/// modes k and n - k are combined while they are divided.
template <class T> class Poisson {
public:
  Poisson(const device::Stream &stream, const grid::Grid &grid, ops::Interpolation interpolation);

  /// The cells: f before `solve`, and p after it, in rows that have room for their modes.
  T *values() const { return has_cosines_ ? values_.data() : modes_.data(); }
  const Layout &layout() const { return layout_; }
  void solve();

  /// Tables of a direction, in the memory of the device.
  struct Direction {
    int points;
    bool cosine;
    const T *wave, *transfer; ///< see ops::Symbols
    const T *turn;            ///< of a cosine: exp(-i pi k / 2n), two values for each k
  };

private:
  void solve_modes();

  const device::Stream &stream_;
  Layout layout_; ///< of the cells
  bool has_cosines_ = false;
  T scale_;
  std::array<device::Array<T>, 3> tables_; ///< wave, transfer, turn
  std::array<Direction, 3> directions_;
  device::Array<T> modes_;  ///< where the transforms are done
  device::Array<T> values_; ///< in the order of the cells; only where there are cosines
  std::unique_ptr<Transform<T>> transform_;
  device::Array<T> factors_; ///< only where y is stretched: see ops::ModeSystems
  int reach_ = 0;
};

} // namespace tailrace::gpu
