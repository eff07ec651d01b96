#include <tailrace/ops/line_transform.hpp>

#include <tailrace/grid/field.hpp>
#include <tailrace/ops/fftw.hpp>

#include <cmath>
#include <numbers>

namespace tailrace::ops {

using namespace grid;

namespace {

/// (re, im) -> (im, -re) in every pair of lanes.
template <class T, int... i> Vec<T> turn(Vec<T> v, std::integer_sequence<int, i...>) {
  const Vec<T> sign{((i & 1) ? T(-1) : T(1))...};
  return __builtin_shufflevector(v, v, (i ^ 1)...) * sign;
}
template <class T> Vec<T> turn(Vec<T> v) { return turn<T>(v, std::make_integer_sequence<int, lanes<T>>{}); }

// With S and D the sum and difference of modes k and n - k of a + i b, the modes of a are (S.re, D.im) / 2 and those of
// b (S.im, -D.re) / 2. Flat lane e of the result belongs to pair e / 4.
template <class T, int first, int... i> Vec<T> separate(Vec<T> s, Vec<T> d, std::integer_sequence<int, i...>) {
  constexpr auto source = [](int e) {
    const int pair = 2 * (e / 4);
    const int from_sum[4] = {pair, lanes<T> + pair + 1, pair + 1, lanes<T> + pair};
    return from_sum[e % 4];
  };
  const Vec<T> scale{((first + i) % 4 == 3 ? T(-0.5) : T(0.5))...};
  return __builtin_shufflevector(s, d, source(first + i)...) * scale;
}

// Back: a = (re a, im a) and b = (im b, re b) of each pair, from the flat lanes of the two vectors.
template <class T, int... i> Vec<T> first_of_pairs(Vec<T> low, Vec<T> high, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(low, high, (4 * (i / 2) + i % 2)...);
}
template <class T, int... i> Vec<T> second_of_pairs(Vec<T> low, Vec<T> high, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(low, high, (4 * (i / 2) + 3 - i % 2)...);
}
template <class T, int... i> Vec<T> alternate(T even, T odd, std::integer_sequence<int, i...>) {
  return Vec<T>{((i & 1) ? odd : even)...};
}

} // namespace

template <class T> struct LineTransform<T>::Plans {
  fftw::Plan<T> forward, backward;
};

template <class T> LineTransform<T>::LineTransform(Kind kind, std::int64_t points) : kind_(kind), points_(points) {
  Buffer<T> memory(points * lanes<T>);
  const int n = static_cast<int>(points), pairs = lanes<T> / 2;
  const auto plan = [&](int sign) {
    auto *data = fftw::complex(memory.data());
    return fftw::Plan<T>(fftw::Api<T>::plan_many_dft(1, &n, pairs, data, nullptr, pairs, 1, data, nullptr, pairs, 1,
                                                     sign, FFTW_ESTIMATE));
  };
  plans_ = std::make_unique<Plans>(Plans{plan(FFTW_FORWARD), plan(FFTW_BACKWARD)});
  for (std::int64_t k = 0; k < points; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(2 * points);
    cosines_.push_back(static_cast<T>(std::cos(angle)));
    sines_.push_back(static_cast<T>(std::sin(angle)));
  }
}

template <class T> LineTransform<T>::LineTransform(LineTransform &&) noexcept = default;
template <class T> LineTransform<T>::~LineTransform() = default;

template <class T> Vec<T> *LineTransform<T>::scratch() const {
  thread_local Buffer<T> memory;
  if (memory.size() < points_ * lanes<T>)
    memory = Buffer<T>(points_ * lanes<T>);
  return reinterpret_cast<Vec<T> *>(memory.data());
}

template <class T> void LineTransform<T>::forward(Vec<T> *lines, Vec<T> *upper) const {
  if (kind_ == Kind::cosine)
    return cosine_forward(lines);
  auto *data = fftw::complex(reinterpret_cast<T *>(lines));
  fftw::Api<T>::execute_dft(plans_->forward.get(), data, data);
  if (kind_ == Kind::real_to_complex)
    split(lines, upper);
}

template <class T> void LineTransform<T>::backward(Vec<T> *lines, Vec<T> *upper) const {
  if (kind_ == Kind::cosine)
    return cosine_backward(lines);
  if (kind_ == Kind::real_to_complex)
    join(lines, upper);
  auto *data = fftw::complex(reinterpret_cast<T *>(lines));
  fftw::Api<T>::execute_dft(plans_->backward.get(), data, data);
}

/// Makhoul (1980): even points forward, odd points backward, one complex FFT, then a quarter-wave rotation.
template <class T> void LineTransform<T>::cosine_forward(Vec<T> *lines) const {
  const std::int64_t n = points_;
  Vec<T> *v = scratch();
  for (std::int64_t j = 0; 2 * j < n; ++j)
    v[j] = lines[2 * j];
  for (std::int64_t j = 0; 2 * j + 1 < n; ++j)
    v[n - 1 - j] = lines[2 * j + 1];
  auto *data = fftw::complex(reinterpret_cast<T *>(v));
  fftw::Api<T>::execute_dft(plans_->forward.get(), data, data);
  lines[0] = T(2) * v[0];
  for (std::int64_t k = 1; 2 * k <= n; ++k) {
    const Vec<T> sum = v[k] + v[n - k], difference = turn<T>(v[k] - v[n - k]);
    lines[k] = cosines_[k] * sum + sines_[k] * difference;
    lines[n - k] =
        sines_[k] * sum - cosines_[k] * difference; // the middle of an even n is written twice, with the same value
  }
}

template <class T> void LineTransform<T>::cosine_backward(Vec<T> *lines) const {
  const std::int64_t n = points_;
  Vec<T> *v = scratch();
  const T half = T(0.5);
  v[0] = half * lines[0];
  for (std::int64_t k = 1; 2 * k <= n; ++k) {
    const Vec<T> sum = cosines_[k] * lines[k] + sines_[k] * lines[n - k];
    const Vec<T> difference = turn<T>(cosines_[k] * lines[n - k] - sines_[k] * lines[k]);
    v[k] = half * (sum + difference);
    v[n - k] = half * (sum - difference);
  }
  auto *data = fftw::complex(reinterpret_cast<T *>(v));
  fftw::Api<T>::execute_dft(plans_->backward.get(), data, data);
  for (std::int64_t j = 0; 2 * j < n; ++j)
    lines[2 * j] = v[j];
  for (std::int64_t j = 0; 2 * j + 1 < n; ++j)
    lines[2 * j + 1] = v[n - 1 - j];
}

template <class T> void LineTransform<T>::split(Vec<T> *lines, Vec<T> *upper) const {
  constexpr auto sequence = std::make_integer_sequence<int, lanes<T>>{};
  const std::int64_t n = points_;
  for (std::int64_t k = 0; k <= n / 2; ++k) {
    const Vec<T> mirror = lines[k == 0 ? 0 : n - k]; // modes above n / 2 are read before the loop changes them
    const Vec<T> sum = lines[k] + mirror, difference = lines[k] - mirror;
    lines[k] = separate<T, 0>(sum, difference, sequence);
    upper[k] = separate<T, lanes<T>>(sum, difference, sequence);
  }
}

template <class T> void LineTransform<T>::join(Vec<T> *lines, const Vec<T> *upper) const {
  constexpr auto sequence = std::make_integer_sequence<int, lanes<T>>{};
  const std::int64_t n = points_;
  const Vec<T> minus_plus = alternate<T>(-1, 1, sequence), plus_minus = alternate<T>(1, -1, sequence);
  for (std::int64_t k = 0; k <= n / 2; ++k) {
    const Vec<T> a = first_of_pairs<T>(lines[k], upper[k], sequence),
                 b = second_of_pairs<T>(lines[k], upper[k], sequence);
    lines[k] = a + minus_plus * b;
    if (k > 0 && 2 * k != n)
      lines[n - k] = plus_minus * a + b;
  }
}

template class LineTransform<float>;
template class LineTransform<double>;

} // namespace tailrace::ops
