#pragma once

#include <tailrace/device/stream.hpp>
#include <tailrace/gpu/mode_kernels.hpp>
#include <tailrace/grid/box.hpp>

#include <memory>

namespace tailrace::gpu {

/// Fourier transforms, not scaled, by the device's library: cuFFT, or FFTW on a host.
template <class T> class Transform {
public:
  /// `values`: of a Z pencil; `planes`: of modes, x and y whole.
  Transform(const device::Stream &stream, const grid::Index3 &values, const grid::Index3 &planes);
  ~Transform();
  Transform(const Transform &) = delete;
  Transform &operator=(const Transform &) = delete;

  /// Real values along z to the lower half of their modes, and back, which may spoil the modes.
  void z_forward(T *values, Complex<T> *modes) const;
  void z_backward(Complex<T> *modes, T *values) const;
  /// Planes of complex values along x and y, in place, forward or back.
  void planes(Complex<T> *modes, bool forward) const;

private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

} // namespace tailrace::gpu
