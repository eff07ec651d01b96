#pragma once

#include <fftw3.h>

#include <memory>
#include <type_traits>

namespace tailrace::fftw {

/// FFTW's two precisions under one name.
template <class T> struct Api;

template <> struct Api<double> {
  using Plan = fftw_plan;
  using Complex = fftw_complex;
  static constexpr auto plan_many_dft = fftw_plan_many_dft;
  static constexpr auto plan_many_r2c = fftw_plan_many_dft_r2c;
  static constexpr auto plan_many_c2r = fftw_plan_many_dft_c2r;
  static constexpr auto execute_dft = fftw_execute_dft;
  static constexpr auto execute_r2c = fftw_execute_dft_r2c;
  static constexpr auto execute_c2r = fftw_execute_dft_c2r;
  static constexpr auto destroy = fftw_destroy_plan;
};

template <> struct Api<float> {
  using Plan = fftwf_plan;
  using Complex = fftwf_complex;
  static constexpr auto plan_many_dft = fftwf_plan_many_dft;
  static constexpr auto plan_many_r2c = fftwf_plan_many_dft_r2c;
  static constexpr auto plan_many_c2r = fftwf_plan_many_dft_c2r;
  static constexpr auto execute_dft = fftwf_execute_dft;
  static constexpr auto execute_r2c = fftwf_execute_dft_r2c;
  static constexpr auto execute_c2r = fftwf_execute_dft_c2r;
  static constexpr auto destroy = fftwf_destroy_plan;
};

/// A plan that destroys itself.
template <class T> struct Deleter {
  using pointer = typename Api<T>::Plan;
  void operator()(pointer plan) const { Api<T>::destroy(plan); }
};
template <class T> using Plan = std::unique_ptr<std::remove_pointer_t<typename Api<T>::Plan>, Deleter<T>>;

template <class T> typename Api<T>::Complex *complex(T *p) { return reinterpret_cast<typename Api<T>::Complex *>(p); }

} // namespace tailrace::fftw
