#include <tailrace/gpu/transform.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>

#ifdef __CUDACC__
#include <cufft.h>
#else
#include <tailrace/ops/fftw.hpp>

#include <array>
#endif

namespace tailrace::gpu {

#ifdef __CUDACC__

namespace {
void check(cufftResult result, const char *what) {
  if (result != CUFFT_SUCCESS)
    throw std::runtime_error("cuFFT could not " + std::string(what) + ": error " + std::to_string(result));
}
} // namespace

template <class T> struct Transform<T>::Plans {
  static constexpr bool is_double = std::is_same_v<T, double>;
  using Real = std::conditional_t<is_double, cufftDoubleReal, cufftReal>;
  using Complex = std::conditional_t<is_double, cufftDoubleComplex, cufftComplex>;

  Plans(const device::Stream &stream, const grid::Index3 &shape, T *data) : memory(data) {
    const int n[3] = {static_cast<int>(shape[2]), static_cast<int>(shape[1]), static_cast<int>(shape[0])};
    check(cufftPlan3d(&forward, n[0], n[1], n[2], is_double ? CUFFT_D2Z : CUFFT_R2C), "plan a transform");
    check(cufftPlan3d(&backward, n[0], n[1], n[2], is_double ? CUFFT_Z2D : CUFFT_C2R), "plan a transform");
    for (const cufftHandle plan : {forward, backward})
      check(cufftSetStream(plan, static_cast<cudaStream_t>(stream.handle())), "use a stream");
  }
  ~Plans() {
    cufftDestroy(forward);
    cufftDestroy(backward);
  }
  Real *real() const { return reinterpret_cast<Real *>(memory); }
  Complex *complex() const { return reinterpret_cast<Complex *>(memory); }

  T *memory;
  cufftHandle forward = 0, backward = 0;
};

template <class T> void Transform<T>::forward() {
  if constexpr (Plans::is_double)
    check(cufftExecD2Z(plans_->forward, plans_->real(), plans_->complex()), "transform");
  else
    check(cufftExecR2C(plans_->forward, plans_->real(), plans_->complex()), "transform");
}

template <class T> void Transform<T>::backward() {
  if constexpr (Plans::is_double)
    check(cufftExecZ2D(plans_->backward, plans_->complex(), plans_->real()), "transform back");
  else
    check(cufftExecC2R(plans_->backward, plans_->complex(), plans_->real()), "transform back");
}

#else

template <class T> struct Transform<T>::Plans {
  using Api = fftw::Api<T>;

  Plans(const device::Stream &, const grid::Index3 &shape, T *data) : memory(data) {
    const std::array<int, 3> n{static_cast<int>(shape[2]), static_cast<int>(shape[1]), static_cast<int>(shape[0])};
    forward.reset(
        Api::plan_many_r2c(3, n.data(), 1, memory, nullptr, 1, 0, fftw::complex(memory), nullptr, 1, 0, FFTW_ESTIMATE));
    backward.reset(
        Api::plan_many_c2r(3, n.data(), 1, fftw::complex(memory), nullptr, 1, 0, memory, nullptr, 1, 0, FFTW_ESTIMATE));
    if (!forward || !backward)
      throw std::runtime_error("FFTW did not plan a transform");
  }

  T *memory;
  fftw::Plan<T> forward, backward;
};

template <class T> void Transform<T>::forward() {
  fftw::Api<T>::execute_r2c(plans_->forward.get(), plans_->memory, fftw::complex(plans_->memory));
}

template <class T> void Transform<T>::backward() {
  fftw::Api<T>::execute_c2r(plans_->backward.get(), fftw::complex(plans_->memory), plans_->memory);
}

#endif

template <class T>
Transform<T>::Transform(const device::Stream &stream, const grid::Index3 &shape, T *memory)
    : plans_(std::make_unique<Plans>(stream, shape, memory)) {}
template <class T> Transform<T>::~Transform() = default;

template class Transform<float>;
template class Transform<double>;

} // namespace tailrace::gpu
