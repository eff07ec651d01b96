#pragma once

#include <tailrace/device/launch.hpp>
#include <tailrace/ops/symbols.hpp>

// What is done with the Fourier modes of cells between two transforms.
//
// The cosines of n values are the Fourier modes of the same values in another order, the even numbers first and then
// the odd ones backwards, turned by exp(-i pi k / 2n) (Makhoul 1980); modes k and n - k are combined.

namespace tailrace::gpu {

/// As the libraries for transforms have it.
template <class T> struct Complex {
  T re, im;
};
template <class T> TAILRACE_LANES Complex<T> times(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> TAILRACE_LANES Complex<T> conjugate(Complex<T> a) { return {a.re, -a.im}; }

/// Tables of a direction, in the memory of the device.
template <class T> struct ModeTable {
  int points;
  bool cosine;
  const T *wave, *transfer; ///< see ops::Symbols
  const T *turn;            ///< of a cosine: exp(-i pi k / 2n), two values for each k
};

inline constexpr int mode_threads = 4 * ops::warp_lanes;

/// Copies values into the order of the cosine transforms in the directions of `cosine`, or back. A block has a row.
template <class V> struct Reorder {
  const V *from;
  V *to;
  int points[3];
  bool cosine[3];
  bool back;

  /// Where the cosine transform wants value number j of n.
  TAILRACE_LANES static int place_of(int j, int n) { return j % 2 == 0 ? j / 2 : n - 1 - j / 2; }

  TAILRACE_LANES void operator()(device::Place place, void *) const {
    const auto row = [&](int y, int z) { return (std::int64_t{z} * points[1] + y) * points[0]; };
    const std::int64_t here = row(place.x, place.y);
    const std::int64_t there =
        row(cosine[1] ? place_of(place.x, points[1]) : place.x, cosine[2] ? place_of(place.y, points[2]) : place.y);
    ops::Block<mode_threads>::each([&](int thread) {
      for (int i = thread; i < points[0]; i += mode_threads) {
        const std::int64_t at = there + (cosine[0] ? place_of(i, points[0]) : i);
        back ? to[here + i] = from[at] : to[at] = from[here + i];
      }
    });
  }
};

/// What is done with modes: all of it, or, where those in y are coupled, one of the two changes.
enum class Change { divide, to_cosines, from_cosines };

/// Turns modes into cosines, divides them by their eigenvalues, and turns them back. The modes are those of a few
/// numbers in z, with all in x and y; z has the lower half of them, because the values are real. A thread takes modes
/// that belong together: those of both signs in x and y, and where z is a cosine also those of both signs in z, of
/// which each is the conjugate of another.
template <class T> struct ChangeModes {
  ModeTable<T> x, y, z;
  int first_z; ///< number of the first mode in z
  Change change;
  T scale;
  Complex<T> *modes; ///< [z][y][x]

  TAILRACE_LANES void operator()(device::Place place, void *) const {
    const int j[2] = {place.x, partner(place.x, y)}, k[2] = {first_z + place.y, partner(first_z + place.y, z)};
    Complex<T> *const plane = modes + std::int64_t{place.y} * y.points * x.points;
    ops::Block<mode_threads>::each([&](int thread) {
      for (int first = thread; first <= x.points / 2; first += mode_threads) {
        const int i[2] = {first, partner(first, x)};
        Complex<T> a[2][2][2]; // [sign in x][y][z]
        TAILRACE_UNROLL
        for (int q = 0; q < 4; ++q) {
          a[q / 2][q % 2][0] = plane[std::int64_t{j[q % 2]} * x.points + i[q / 2]];
          a[1 - q / 2][1 - q % 2][1] = conjugate(a[q / 2][q % 2][0]);
        }
        if (change != Change::from_cosines)
          each_cosine(a, i, j, k, [](auto w, auto v, auto &p, auto &r) { to_cosines(w, v, p, r); });
        TAILRACE_UNROLL
        for (int q = 0; q < 8; ++q)
          divide(a[q / 4][q / 2 % 2][q % 2], i, j, k, q);
        if (change != Change::to_cosines)
          each_cosine(a, i, j, k, [](auto w, auto v, auto &p, auto &r) { from_cosines(w, v, p, r); });
        TAILRACE_UNROLL
        for (int q = 0; q < 4; ++q)
          if ((q / 2 == 0 || i[1] != i[0]) && (q % 2 == 0 || j[1] != j[0]))
            plane[std::int64_t{j[q % 2]} * x.points + i[q / 2]] = a[q / 2][q % 2][0];
      }
    });
  }

private:
  TAILRACE_LANES static int partner(int k, const ModeTable<T> &of) { return k == 0 ? 0 : of.points - k; }
  TAILRACE_LANES static Complex<T> turn(const ModeTable<T> &d, int k) { return {d.turn[2 * k], d.turn[2 * k + 1]}; }

  /// Fourier modes k and n - k of reordered values become cosines. Those of complex values are those of their parts.
  TAILRACE_LANES static void to_cosines(Complex<T> turn, Complex<T> back_turn, Complex<T> &a, Complex<T> &b) {
    const auto cosine = [](Complex<T> w, Complex<T> of, Complex<T> other) {
      const Complex<T> p = times(w, of), q = times(conjugate(w), other);
      return Complex<T>{T(0.5) * (p.re + q.re), T(0.5) * (p.im + q.im)};
    };
    const Complex<T> first = cosine(turn, a, b), second = cosine(back_turn, b, a);
    a = first, b = second;
  }
  TAILRACE_LANES static void from_cosines(Complex<T> turn, Complex<T> back_turn, Complex<T> &a, Complex<T> &b) {
    const auto mode = [](Complex<T> w, Complex<T> of, Complex<T> other) {
      return times(conjugate(w), Complex<T>{of.re + other.im, of.im - other.re}); // of - i other
    };
    const Complex<T> first = mode(turn, a, b), second = mode(back_turn, b, a);
    a = first, b = second;
  }

  /// Calls act(turn of k, turn of n - k, mode k, mode n - k) along each direction of cosines.
  template <class Act>
  TAILRACE_LANES void each_cosine(Complex<T> (&a)[2][2][2], const int (&i)[2], const int (&j)[2], const int (&k)[2],
                                  const Act &act) const {
    TAILRACE_UNROLL
    for (int q = 0; q < 4; ++q) {
      if (x.cosine)
        act(turn(x, i[0]), turn(x, i[1]), a[0][q / 2][q % 2], a[1][q / 2][q % 2]);
    }
    TAILRACE_UNROLL
    for (int q = 0; q < 4; ++q) {
      if (y.cosine)
        act(turn(y, j[0]), turn(y, j[1]), a[q / 2][0][q % 2], a[q / 2][1][q % 2]);
    }
    TAILRACE_UNROLL
    for (int q = 0; q < 4; ++q) {
      if (z.cosine)
        act(turn(z, k[0]), turn(z, k[1]), a[q / 2][q % 2][0], a[q / 2][q % 2][1]);
    }
  }

  /// Mode n of n cosines, which is the partner of mode 0, is zero.
  TAILRACE_LANES void divide(Complex<T> &mode, const int (&i)[2], const int (&j)[2], const int (&k)[2], int q) const {
    const int p = i[q / 4], s = j[q / 2 % 2], t = k[q % 2];
    const bool none = (x.cosine && q / 4 == 1 && i[0] == 0) || (y.cosine && q / 2 % 2 == 1 && j[0] == 0) ||
                      (z.cosine && q % 2 == 1 && k[0] == 0);
    T factor = none ? T(0) : T(1);
    if (change == Change::divide && !none) {
      const T across = y.transfer[s] * z.transfer[t];
      const T along = y.wave[s] * z.transfer[t] + z.wave[t] * y.transfer[s];
      factor = ops::mode_factor(x.wave[p] * across + x.transfer[p] * along, scale);
    }
    mode.re *= factor, mode.im *= factor;
  }
};

/// Solves the banded systems of modes that are coupled in y; see ops::ModeSystems::solve. A thread has the column of a
/// mode in x and z.
template <class T> struct SolveCoupled {
  const T *factors;
  Complex<T> *modes; ///< [z][y][x]
  int count_x, count_y, reach;

  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<mode_threads>::each([&](int thread) {
      const int i = place.x * mode_threads + thread;
      if (i >= count_x)
        return;
      const std::int64_t plane = std::int64_t{place.y} * count_y * count_x;
      Complex<T> *const column = modes + plane + i;
      const T *const of_column = factors + 5 * plane + i;
      const auto factor = [&](int m, int band) { return of_column[(std::int64_t{m} * 5 + band) * count_x]; };
      // Rows outside take part with factors of zero; the first row stands for them.
      const auto line = [&](int m) -> Complex<T> & {
        return column[m >= 0 && m < count_y ? std::int64_t{m} * count_x : 0];
      };
      const auto combined = [](T a, Complex<T> p, T b, Complex<T> q) {
        return Complex<T>{a * p.re + b * q.re, a * p.im + b * q.im};
      };
      for (int m = reach; m < count_y; ++m) {
        const Complex<T> above = combined(factor(m, 0), line(m - 2 * reach), factor(m, 1), line(m - reach));
        line(m).re -= above.re, line(m).im -= above.im;
      }
      for (int m = count_y - 1; m >= 0; --m) {
        const Complex<T> below = combined(factor(m, 3), line(m + reach), factor(m, 4), line(m + 2 * reach));
        line(m) = {factor(m, 2) * line(m).re - below.re, factor(m, 2) * line(m).im - below.im};
      }
    });
  }
};

} // namespace tailrace::gpu
