#include <tailrace/gpu/poisson.hpp>

#include <tailrace/gpu/coupled_factors.hpp>

#include <cmath>
#include <numbers>

namespace tailrace::gpu {

using namespace grid;
using namespace ops;

namespace {

constexpr int threads = 4 * warp_lanes;

template <class T> struct Complex {
  T re, im;
};
template <class T> TAILRACE_LANES Complex<T> times(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> TAILRACE_LANES Complex<T> conjugate(Complex<T> a) { return {a.re, -a.im}; }

/// Where the cosine transform wants value number j of n.
TAILRACE_LANES int ordered(int j, int n) { return j % 2 == 0 ? j / 2 : n - 1 - j / 2; }

/// Copies cells into the order of the cosine transforms, or back.
template <class T> struct Reorder {
  const T *from;
  T *to;
  int points[3];
  bool cosine[3];
  bool back;
  std::int64_t row, plane;

  TAILRACE_LANES void operator()(device::Place place, void *) const {
    const int j = place.x, k = place.y;
    const std::int64_t here = j * row + k * plane;
    const std::int64_t there =
        (cosine[1] ? ordered(j, points[1]) : j) * row + (cosine[2] ? ordered(k, points[2]) : k) * plane;
    Block<threads>::each([&](int thread) {
      for (int i = thread; i < points[0]; i += threads) {
        const std::int64_t at = there + (cosine[0] ? ordered(i, points[0]) : i);
        back ? to[here + i] = from[at] : to[at] = from[here + i];
      }
    });
  }
};

/// The modes k and n - k of a direction, where both are needed: the Fourier modes a and b of reordered values become
/// cosines, and back. Cosines of complex values are those of their parts.
template <class T> TAILRACE_LANES void to_cosines(Complex<T> turn, Complex<T> back_turn, Complex<T> &a, Complex<T> &b) {
  const auto cosine = [](Complex<T> w, Complex<T> of, Complex<T> other) {
    const Complex<T> p = times(w, of), q = times(conjugate(w), other);
    return Complex<T>{T(0.5) * (p.re + q.re), T(0.5) * (p.im + q.im)};
  };
  const Complex<T> first = cosine(turn, a, b), second = cosine(back_turn, b, a);
  a = first, b = second;
}
template <class T>
TAILRACE_LANES void from_cosines(Complex<T> turn, Complex<T> back_turn, Complex<T> &a, Complex<T> &b) {
  const auto mode = [](Complex<T> w, Complex<T> of, Complex<T> other) {
    return times(conjugate(w), Complex<T>{of.re + other.im, of.im - other.re}); // of - i other
  };
  const Complex<T> first = mode(turn, a, b), second = mode(back_turn, b, a);
  a = first, b = second;
}

/// What is done with modes: all of it, or, where those in y are coupled, one of the two changes.
enum class Change { divide, to_cosines, from_cosines };

/// Turns modes into cosines, divides them by their eigenvalues, and turns them back. A thread takes modes that belong
/// together: those of both signs in y and z, and where x is a cosine also those of both signs in x, of which one is the
/// conjugate of another.
template <class T> struct ChangeModes {
  typename Poisson<T>::Direction x, y, z;
  Change change;
  T scale;
  T *modes;
  std::int64_t row, plane; ///< in modes

  TAILRACE_LANES static int partner(int k, int n) { return k == 0 ? 0 : n - k; }
  TAILRACE_LANES static Complex<T> turn(const typename Poisson<T>::Direction &d, int k) {
    return {d.turn[2 * k], d.turn[2 * k + 1]};
  }

  TAILRACE_LANES void operator()(device::Place place, void *) const {
    const int j[2] = {place.x, partner(place.x, y.points)}, k[2] = {place.y, partner(place.y, z.points)};
    auto *const all = reinterpret_cast<Complex<T> *>(modes);
    Block<threads>::each([&](int thread) {
      for (int i = thread; i <= x.points / 2; i += threads) {
        Complex<T> a[2][2][2]; // [sign in x][y][z]
        TAILRACE_UNROLL
        for (int q = 0; q < 4; ++q) {
          a[0][q / 2][q % 2] = all[i + j[q / 2] * row + k[q % 2] * plane];
          a[1][1 - q / 2][1 - q % 2] = conjugate(a[0][q / 2][q % 2]);
        }
        const int both[2] = {i, partner(i, x.points)};
        if (change != Change::from_cosines)
          each_cosine(a, both, j, k, [](auto w, auto v, auto &p, auto &r) { to_cosines(w, v, p, r); });
        TAILRACE_UNROLL
        for (int q = 0; q < 8; ++q)
          divide(a[q / 4][q / 2 % 2][q % 2], both, j, k, q);
        if (change != Change::to_cosines)
          each_cosine(a, both, j, k, [](auto w, auto v, auto &p, auto &r) { from_cosines(w, v, p, r); });
        TAILRACE_UNROLL
        for (int q = 0; q < 4; ++q)
          if ((q / 2 == 0 || j[1] != j[0]) && (q % 2 == 0 || k[1] != k[0]))
            all[i + j[q / 2] * row + k[q % 2] * plane] = a[0][q / 2][q % 2];
      }
    });
  }

private:
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
    if (change != Change::divide) {
      mode.re = none ? T(0) : mode.re, mode.im = none ? T(0) : mode.im;
      return;
    }
    const T across = y.transfer[s] * z.transfer[t];
    const T along = y.wave[s] * z.transfer[t] + z.wave[t] * y.transfer[s];
    const T factor = none ? T(0) : mode_factor(x.wave[p] * across + x.transfer[p] * along, scale);
    mode.re *= factor, mode.im *= factor;
  }
};

/// Solves the banded systems of modes that are coupled in y; see ops::ModeSystems::solve. A thread has the column of a
/// mode in x and z.
template <class T> struct SolveCoupled {
  const T *factors;
  Complex<T> *modes;
  int count_x, count_y, reach;
  std::int64_t row, plane; ///< in modes

  TAILRACE_LANES void operator()(device::Place place, void *) const {
    Block<threads>::each([&](int thread) {
      const int i = place.x * threads + thread;
      if (i >= count_x)
        return;
      Complex<T> *const column = modes + place.y * plane + i;
      const T *const of_column = factors + (std::int64_t{place.y} * count_y * 5) * count_x + i;
      const auto factor = [&](int m, int band) { return of_column[(std::int64_t{m} * 5 + band) * count_x]; };
      // Rows outside take part with factors of zero; the first row stands for them.
      const auto line = [&](int m) -> Complex<T> & { return column[m >= 0 && m < count_y ? m * row : 0]; };
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

} // namespace

template <class T>
Poisson<T>::Poisson(const device::Stream &stream, const Grid &grid, Interpolation interpolation)
    : stream_(stream), layout_(grid.cells(), 2 * (grid.cells()[0] / 2 + 1)), modes_(stream, layout_.size()) {
  const auto [symbols, scale] = symbols_of(grid, interpolation);
  scale_ = static_cast<T>(scale);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t n = symbols[d].wave.size();
    std::vector<T> table(symbols[d].wave.begin(), symbols[d].wave.end());
    table.insert(table.end(), symbols[d].transfer.begin(), symbols[d].transfer.end());
    for (std::size_t k = 0; k < n; ++k) {
      const double angle = -std::numbers::pi * static_cast<double>(k) / (2 * static_cast<double>(n));
      table.push_back(static_cast<T>(std::cos(angle)));
      table.push_back(static_cast<T>(std::sin(angle)));
    }
    tables_[d] = device::Array<T>(stream, table);
    const bool cosine = !grid.periodic(static_cast<int>(d));
    has_cosines_ = has_cosines_ || cosine;
    const T *at = tables_[d].data();
    directions_[d] = {static_cast<int>(n), cosine, at, at + n, at + 2 * n};
  }
  if (has_cosines_)
    values_ = device::Array<T>(stream, layout_.size());
  transform_ = std::make_unique<Transform<T>>(stream, layout_.shape, modes_.data());
  if (!grid.stretching)
    return;
  const CoupledFactors<T> coupled = coupled_factors<T>(grid, interpolation);
  factors_ = device::Array<T>(stream, coupled.values);
  reach_ = coupled.reach;
}

template <class T> void Poisson<T>::solve() {
  const auto &[x, y, z] = directions_;
  const auto reorder = [&](const T *from, T *to, bool back) {
    if (has_cosines_)
      device::launch<threads>(stream_, {y.points, z.points}, 0,
                              Reorder<T>{from,
                                         to,
                                         {x.points, y.points, z.points},
                                         {x.cosine, y.cosine, z.cosine},
                                         back,
                                         layout_.row,
                                         layout_.plane});
  };
  reorder(values_.data(), modes_.data(), false);
  transform_->forward();
  solve_modes();
  transform_->backward();
  reorder(modes_.data(), values_.data(), true);
}

template <class T> void Poisson<T>::solve_modes() {
  const auto &[x, y, z] = directions_;
  const std::int64_t row = layout_.row / 2, plane = layout_.plane / 2;
  const auto change = [&](Change what) {
    device::launch<threads>(stream_, {y.points / 2 + 1, z.points / 2 + 1}, 0,
                            ChangeModes<T>{x, y, z, what, scale_, modes_.data(), row, plane});
  };
  if (factors_.size() == 0)
    return change(Change::divide);
  change(Change::to_cosines);
  const int modes = x.points / 2 + 1;
  device::launch<threads>(stream_, {(modes + threads - 1) / threads, z.points}, 0,
                          SolveCoupled<T>{factors_.data(), reinterpret_cast<Complex<T> *>(modes_.data()), modes,
                                          y.points, reach_, row, plane});
  change(Change::from_cosines);
}

template class Poisson<float>;
template class Poisson<double>;

} // namespace tailrace::gpu
