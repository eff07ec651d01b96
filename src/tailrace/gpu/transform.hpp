#pragma once

#include <tailrace/device/stream.hpp>
#include <tailrace/grid/box.hpp>

#include <memory>

namespace tailrace::gpu {

/// Fourier transforms of real values in three dimensions and back, not scaled, in place, by the device's library:
/// cuFFT, or FFTW on a host. Rows have room for x / 2 + 1 modes of two values.
template <class T> class Transform {
public:
  Transform(const device::Stream &stream, const grid::Index3 &shape, T *memory);
  ~Transform();
  Transform(const Transform &) = delete;
  Transform &operator=(const Transform &) = delete;

  void forward();
  void backward();

private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

} // namespace tailrace::gpu
