#include <tailrace/ops/row_transform.hpp>

#include <tailrace/grid/buffer.hpp>
#include <tailrace/ops/fftw.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

namespace tailrace::ops {

using grid::Buffer;

namespace {
constexpr std::int64_t batch = 8; ///< rows per call of a plan, while there are so many
constexpr std::int64_t pair = 2;  ///< rows per call for the remaining ones

/// Memory for a few rows on either side of a transform, kept for the next call.
template <class T> std::array<T *, 2> rows_memory(std::int64_t values) {
  thread_local Buffer<T> memory;
  if (memory.size() < 2 * values)
    memory = Buffer<T>(2 * values);
  return {memory.data(), memory.data() + values};
}
} // namespace

template <class T> struct RowTransform<T>::Plans {
  fftw::Plan<T> batches, pairs;
};

template <class T>
RowTransform<T>::RowTransform(std::int64_t points, bool from_real) : points_(points), from_real_(from_real) {
  const int n = static_cast<int>(points), modes = n / 2 + 1;
  Buffer<T> a(2 * points * batch), b(2 * points * batch);
  // Rows of any length start at any address, so the plan must not assume alignment.
  const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
  auto *complex = fftw::complex(a.data());
  using Api = fftw::Api<T>;
  const auto plan = [&](int sign, std::int64_t count) {
    const int rows = static_cast<int>(count);
    if (!from_real)
      return Api::plan_many_dft(1, &n, rows, complex, nullptr, 1, n, complex, nullptr, 1, n, sign, flags);
    return sign < 0 ? Api::plan_many_r2c(1, &n, rows, b.data(), nullptr, 1, n, complex, nullptr, 1, modes, flags)
                    : Api::plan_many_c2r(1, &n, rows, complex, nullptr, 1, modes, b.data(), nullptr, 1, n, flags);
  };
  plans_ = std::make_unique<std::array<Plans, 2>>();
  for (const int sign : {-1, 1}) {
    Plans &plans = (*plans_)[sign > 0];
    plans.batches.reset(plan(sign, batch));
    plans.pairs.reset(plan(sign, pair));
    if (!pairs_agree(sign))
      plans.pairs.reset();
  }
}

template <class T> RowTransform<T>::RowTransform(RowTransform &&) noexcept = default;
template <class T> RowTransform<T>::~RowTransform() = default;

template <class T> std::int64_t RowTransform<T>::values(bool real) const {
  return real ? points_ : 2 * (from_real_ ? points_ / 2 + 1 : points_);
}

template <class T> void RowTransform<T>::execute(int sign, bool pairs, T *in, T *out) const {
  const Plans &plans = (*plans_)[sign > 0];
  const auto plan = pairs ? plans.pairs.get() : plans.batches.get();
  if (!from_real_)
    fftw::Api<T>::execute_dft(plan, fftw::complex(in), fftw::complex(out));
  else if (sign < 0)
    fftw::Api<T>::execute_r2c(plan, in, fftw::complex(out));
  else
    fftw::Api<T>::execute_c2r(plan, fftw::complex(in), out);
}

/// Plans of different numbers of rows may have different rounding errors, and results would depend on how many rows a
/// rank has. The plan of a pair had those of a batch for every length tried; where it has not, it is not used.
template <class T> bool RowTransform<T>::pairs_agree(int sign) const {
  const std::int64_t in = values(from_real_ && sign < 0), out = values(from_real_ && sign > 0);
  const auto transformed = [&](bool pairs) {
    Buffer<T> rows(batch * in), result(batch * out);
    std::minstd_rand random(1);
    std::generate_n(rows.data(), rows.size(), [&] { return T(random()) / T(std::minstd_rand::max()) - T(0.5); });
    T *const to = from_real_ ? result.data() : rows.data();
    for (std::int64_t row = 0; row < batch; row += pairs ? pair : batch)
      execute(sign, pairs, rows.data() + row * in, to + row * out);
    return from_real_ ? std::move(result) : std::move(rows);
  };
  const Buffer<T> one = transformed(false), other = transformed(true);
  return std::memcmp(one.data(), other.data(), static_cast<std::size_t>(one.size()) * sizeof(T)) == 0;
}

template <class T> void RowTransform<T>::transform(int sign, std::int64_t count, T *in, T *out) const {
  const std::int64_t values_in = values(from_real_ && sign < 0), values_out = values(from_real_ && sign > 0);
  std::int64_t row = 0;
  for (; row + batch <= count; row += batch)
    execute(sign, false, in + row * values_in, out + row * values_out);
  const bool pairs = (*plans_)[sign > 0].pairs != nullptr;
  for (; pairs && row + pair <= count; row += pair)
    execute(sign, true, in + row * values_in, out + row * values_out);
  if (row == count)
    return;
  const std::int64_t rows = pairs ? pair : batch, used = count - row; // the others are zero
  const auto [from, to] = rows_memory<T>(rows * std::max(values_in, values_out));
  std::copy_n(in + row * values_in, used * values_in, from);
  std::fill(from + used * values_in, from + rows * values_in, T{});
  T *const result = in == out ? from : to;
  execute(sign, pairs, from, result);
  std::copy_n(result, used * values_out, out + row * values_out);
}

template <class T> void RowTransform<T>::complex_rows(T *rows, std::int64_t count, int sign) const {
  transform(sign, count, rows, rows);
}

template <class T> void RowTransform<T>::forward(const T *real, T *complex, std::int64_t count) const {
  transform(-1, count, const_cast<T *>(real), complex);
}

template <class T> void RowTransform<T>::backward(T *complex, T *real, std::int64_t count) const {
  transform(+1, count, complex, real);
}

template class RowTransform<float>;
template class RowTransform<double>;

} // namespace tailrace::ops
