#pragma once

#include <tailrace/support/simd.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace tailrace::ops {

/// A Fourier or cosine transform of bundles of lines, where a pair of lanes is one complex line or two real ones. All
/// kinds use the same in-cache complex FFT: two real lines are the real and the imaginary part of one complex line.
template <class T> class LineTransform {
public:
  enum class Kind {
    complex,         ///< lanes are (re, im) of complex lines
    real_to_complex, ///< real lines of n points to n / 2 + 1 complex values
    cosine,          ///< real lines, DCT-II: 2 sum_j f[j] cos(pi k (2 j + 1) / (2 n)), for even cell-centred data
  };

  /// FFTW estimates its plans and does not measure them, so that every run gives the same bits.
  LineTransform(Kind kind, std::int64_t points);
  LineTransform(LineTransform &&) noexcept;
  ~LineTransform();

  Kind kind() const { return kind_; }
  std::int64_t points() const { return points_; }
  /// Values per line after `forward`.
  std::int64_t modes() const { return kind_ == Kind::real_to_complex ? points_ / 2 + 1 : points_; }

  /// In place on one bundle of `points` vectors. Real to complex writes the complex columns of the lower lanes to
  /// `lines` and those of the upper lanes to `upper` (modes() vectors each); the other kinds leave `upper` alone.
  void forward(Vec<T> *lines, Vec<T> *upper) const;
  /// The inverse, times `points`.
  void backward(Vec<T> *lines, Vec<T> *upper) const;

private:
  void cosine_forward(Vec<T> *lines) const;
  void cosine_backward(Vec<T> *lines) const;
  void split(Vec<T> *lines, Vec<T> *upper) const;
  void join(Vec<T> *lines, const Vec<T> *upper) const;
  Vec<T> *scratch() const;

  struct Plans;
  Kind kind_;
  std::int64_t points_;
  std::unique_ptr<Plans> plans_;
  std::vector<T> cosines_, sines_; ///< of pi k / (2 n)
};

} // namespace tailrace::ops
