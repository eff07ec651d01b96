#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace tailrace::ops {

/// Complex rows (contiguous lines of n complex values), many at once, in place.
template <class T> class RowTransform {
public:
  RowTransform(std::int64_t points, bool from_real);
  RowTransform(RowTransform &&) noexcept;
  ~RowTransform();
  /// Complex rows in place; `sign` is -1 forward, +1 backward (times `points`).
  void complex_rows(T *rows, std::int64_t count, int sign) const;
  /// Real rows of `points` to complex rows of points / 2 + 1 and back (times `points`).
  void forward(const T *real, T *complex, std::int64_t count) const;
  void backward(T *complex, T *real, std::int64_t count) const;

private:
  struct Plans;
  std::int64_t values(bool real) const; ///< of a row, real or complex
  void execute(int sign, bool pairs, T *in, T *out) const;
  bool pairs_agree(int sign) const;
  void transform(int sign, std::int64_t count, T *in, T *out) const;
  std::int64_t points_;
  bool from_real_;
  std::unique_ptr<std::array<Plans, 2>> plans_; ///< forward, backward
};

} // namespace tailrace::ops
