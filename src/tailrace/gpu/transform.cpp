#include <tailrace/gpu/transform.hpp>

#include <tailrace/support/error.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#ifdef __CUDACC__
#include <cufft.h>
#else
#include <tailrace/device/array.hpp>
#include <tailrace/ops/fftw.hpp>
#endif

namespace tailrace::gpu {

using grid::Index3;

#ifdef __CUDACC__

namespace {

void check(cufftResult result, const char *what) {
  if (result == CUFFT_ALLOC_FAILED)
    throw Error("the device has no room for the work of its Fourier transforms; take a smaller grid, more devices or "
                "single precision, or compute on the processor (numerics.device = \"cpu\")");
  if (result != CUFFT_SUCCESS)
    throw Error("cuFFT could not " + std::string(what) + ": error " + std::to_string(result));
}

/// A plan of cuFFT; none where there is nothing to transform.
class Plan {
public:
  Plan() = default;
  /// Transforms of `rank` dimensions n: points `stride` apart, `batch` of them `distance` apart.
  Plan(const device::Stream &stream, int rank, int *n, int stride, int distance, int batch, cufftType type) {
    if (batch == 0)
      return;
    cufftHandle handle = 0;
    check(cufftPlanMany(&handle, rank, n, n, stride, distance, n, stride, distance, type, batch), "plan a transform");
    handle_ = handle;
    check(cufftSetStream(handle, static_cast<cudaStream_t>(stream.handle())), "use a stream");
  }
  Plan(Plan &&other) noexcept : handle_(std::exchange(other.handle_, std::nullopt)) {}
  Plan &operator=(Plan &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Plan() {
    if (handle_)
      cufftDestroy(*handle_);
  }
  cufftHandle get() const { return *handle_; }
  explicit operator bool() const { return handle_.has_value(); }

private:
  std::optional<cufftHandle> handle_; // any number may be one
};

} // namespace

template <class T> struct Transform<T>::Plans {
  static constexpr bool is_double = std::is_same_v<T, double>;
  using Real = std::conditional_t<is_double, cufftDoubleReal, cufftReal>;
  using Mode = std::conditional_t<is_double, cufftDoubleComplex, cufftComplex>;

  Plans(const device::Stream &stream, const Index3 &values, const Index3 &modes) {
    int z[1] = {static_cast<int>(values[2])}, xy[2] = {static_cast<int>(modes[1]), static_cast<int>(modes[0])};
    const int columns = static_cast<int>(values[0] * values[1]);
    forward = Plan(stream, 1, z, columns, 1, columns, is_double ? CUFFT_D2Z : CUFFT_R2C);
    backward = Plan(stream, 1, z, columns, 1, columns, is_double ? CUFFT_Z2D : CUFFT_C2R);
    planes = Plan(stream, 2, xy, 1, xy[0] * xy[1], static_cast<int>(modes[2]), is_double ? CUFFT_Z2Z : CUFFT_C2C);
  }
  static Mode *mode(Complex<T> *modes) { return reinterpret_cast<Mode *>(modes); }

  Plan forward, backward, planes;
};

template <class T> void Transform<T>::z_forward(T *values, Complex<T> *modes) const {
  if (!plans_->forward)
    return;
  if constexpr (Plans::is_double)
    check(cufftExecD2Z(plans_->forward.get(), values, Plans::mode(modes)), "transform");
  else
    check(cufftExecR2C(plans_->forward.get(), values, Plans::mode(modes)), "transform");
}

template <class T> void Transform<T>::z_backward(Complex<T> *modes, T *values) const {
  if (!plans_->backward)
    return;
  if constexpr (Plans::is_double)
    check(cufftExecZ2D(plans_->backward.get(), Plans::mode(modes), values), "transform back");
  else
    check(cufftExecC2R(plans_->backward.get(), Plans::mode(modes), values), "transform back");
}

template <class T> void Transform<T>::planes(Complex<T> *modes, bool forward) const {
  if (!plans_->planes)
    return;
  auto *const at = Plans::mode(modes);
  const int sign = forward ? CUFFT_FORWARD : CUFFT_INVERSE;
  if constexpr (Plans::is_double)
    check(cufftExecZ2Z(plans_->planes.get(), at, at, sign), "transform planes");
  else
    check(cufftExecC2C(plans_->planes.get(), at, at, sign), "transform planes");
}

#else

template <class T> struct Transform<T>::Plans {
  using Api = fftw::Api<T>;

  /// FFTW plans for memory, but may be given other memory that is aligned as that is.
  Plans(const device::Stream &stream, const Index3 &values, const Index3 &modes) {
    const int z[1] = {static_cast<int>(values[2])}, xy[2] = {static_cast<int>(modes[1]), static_cast<int>(modes[0])};
    const int columns = static_cast<int>(values[0] * values[1]), count = static_cast<int>(modes[2]);
    const device::Array<T> real(stream, grid::product(values));
    const device::Array<Complex<T>> complex(stream, columns * (values[2] / 2 + 1)), whole(stream, grid::product(modes));
    auto *const of_z = mode(complex.data()), *const of_planes = mode(whole.data());
    if (columns > 0) {
      forward.reset(Api::plan_many_r2c(1, z, columns, real.data(), nullptr, columns, 1, of_z, nullptr, columns, 1,
                                       FFTW_ESTIMATE));
      backward.reset(Api::plan_many_c2r(1, z, columns, of_z, nullptr, columns, 1, real.data(), nullptr, columns, 1,
                                        FFTW_ESTIMATE));
    }
    if (count > 0)
      for (const bool there : {true, false})
        (there ? planes_forward : planes_backward)
            .reset(Api::plan_many_dft(2, xy, count, of_planes, nullptr, 1, xy[0] * xy[1], of_planes, nullptr, 1,
                                      xy[0] * xy[1], there ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE));
    if ((columns > 0 && (!forward || !backward)) || (count > 0 && (!planes_forward || !planes_backward)))
      throw std::runtime_error("FFTW did not plan a transform");
  }

  static auto *mode(Complex<T> *modes) { return fftw::complex(reinterpret_cast<T *>(modes)); }

  fftw::Plan<T> forward, backward, planes_forward, planes_backward;
};

template <class T> void Transform<T>::z_forward(T *values, Complex<T> *modes) const {
  if (plans_->forward)
    fftw::Api<T>::execute_r2c(plans_->forward.get(), values, Plans::mode(modes));
}

template <class T> void Transform<T>::z_backward(Complex<T> *modes, T *values) const {
  if (plans_->backward)
    fftw::Api<T>::execute_c2r(plans_->backward.get(), Plans::mode(modes), values);
}

template <class T> void Transform<T>::planes(Complex<T> *modes, bool forward) const {
  if (const auto &plan = forward ? plans_->planes_forward : plans_->planes_backward)
    fftw::Api<T>::execute_dft(plan.get(), Plans::mode(modes), Plans::mode(modes));
}

#endif

template <class T>
Transform<T>::Transform(const device::Stream &stream, const Index3 &values, const Index3 &planes)
    : plans_(std::make_unique<Plans>(stream, values, planes)) {}
template <class T> Transform<T>::~Transform() = default;

template class Transform<float>;
template class Transform<double>;

} // namespace tailrace::gpu
