#pragma once

#include <tailrace/grid/exchange.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/line_transform.hpp>
#include <tailrace/ops/mode_systems.hpp>
#include <tailrace/ops/row_transform.hpp>
#include <tailrace/ops/sweep.hpp>

#include <complex>
#include <optional>

namespace tailrace::ops {

/// Interleaved complex columns in memory as two registers of lanes: the lower half of the columns (k = 0) and the
/// upper.
template <class T> struct LoadComplexFrom {
  const T *columns;
  Vec<T> operator()(int k, std::int64_t column, int count) const {
    const int values = 2 * count - k * lanes<T>;
    return values > 0 ? load(columns + 2 * column + k * lanes<T>, values) : Vec<T>{};
  }
  void announce(int k, std::int64_t column) const { __builtin_prefetch(columns + 2 * column + k * lanes<T>, 0, 2); }
};
template <class T> struct StoreComplexTo {
  T *columns;
  void operator()(int k, std::int64_t column, Vec<T> v, int count) const {
    const int values = 2 * count - k * lanes<T>;
    if (values > 0)
      store(columns + 2 * column + k * lanes<T>, v, values);
  }
  void announce(int k, std::int64_t column) const { __builtin_prefetch(columns + 2 * column + k * lanes<T>, 1, 2); }
};

/// Solves  div grad p = f  on the cell centres, where div and grad are the staggered sixth-order operators, by
/// transforms along z, then y, then x and division by the modified wave numbers of the same operators (Laizet and
/// Lamballais 2009, eq. 40): then the discrete divergence of u - grad p vanishes to rounding. Periodic directions use
/// Fourier modes, all others cosines. Modes on which the operators give 0 (the mean, and grid-scale pairs) get p = 0.
/// Where y is stretched, or the divergence is one-sided at walls in y, its modes are coupled, and x is transformed
/// before y.
template <class T> class Poisson {
public:
  /// Throws InputError where the divergence is one-sided at walls and x or z is not periodic.
  Poisson(const grid::Grid &grid, Interpolation interpolation, std::shared_ptr<const grid::ProcessGrid> processes,
          grid::TransposeMethod method, std::shared_ptr<grid::Workspace> workspace,
          WallDivergence walls = WallDivergence::mirrored);

  /// `f` and `p` cover this rank's Z pencil of the cells; they may be the same array. Collective.
  void solve(const T *f, T *p);

  /// The same in three parts, for callers that compute f and use p line by line in the cache. body(tile) writes lines
  /// of f to tile.out[0]; `in` are arrays laid out as `from`, the lines of this rank's Z pencil.
  template <int inputs, class Body>
  void z_forward(const grid::Lines &from, const std::array<const T *, inputs> &in, Body body);
  /// From the transform of f to that of p. Collective.
  void spectral();
  /// body(tile) gets lines of p in tile.in[0], with room for ghosts, and fills `outputs` lines, which are passed on as
  /// for arrays laid out as `into`.
  template <int outputs, class Body, class Finish> void z_backward(const grid::Lines &into, Body body, Finish finish);

  const grid::Decomposition &cells() const { return cells_; }

private:
  using Complex = std::complex<T>;
  using Kind = typename LineTransform<T>::Kind;
  void prepare_coupled(const grid::Grid &grid, const std::array<Symbols, 3> &symbols, double scale,
                       grid::TransposeMethod method, std::shared_ptr<grid::Workspace> workspace,
                       std::vector<WallMode> walls);
  T *z_modes();
  void y_forward(const T *in, T *out, const grid::Index3 &cells, bool is_complex) const;
  void y_backward(const T *in, T *out, const grid::Index3 &cells, bool is_complex) const;
  T *x_forward(T *rows, std::int64_t count, std::int64_t in_plane);
  void x_backward(T *modes, T *rows, std::int64_t count, std::int64_t in_plane);
  void x_cosines(T *rows, std::int64_t count, std::int64_t in_plane, bool forward) const;
  void scale(T *rows, const grid::Box &box) const;
  void solve_uniform(T *y);
  void solve_coupled(T *y);
  T *exchange(bool is_complex, grid::Exchange<T> &real, grid::Exchange<Complex> &complex, grid::Pencil from,
              grid::Pencil to, T *in, T *out);

  std::shared_ptr<const grid::ProcessGrid> processes_;
  grid::Decomposition cells_;
  Kind z_kind_, y_kind_, x_kind_;
  bool complex_z_, complex_y_, complex_x_; ///< whether data are complex once that direction is transformed
  LineTransform<T> z_, y_;
  std::optional<LineTransform<T>> x_cosine_;
  std::optional<RowTransform<T>> x_rows_;
  grid::Decomposition modes_z_, modes_y_; ///< shapes once z, then y, is transformed
  grid::Exchange<T> real_zy_, real_yx_;
  grid::Exchange<Complex> complex_zy_, complex_yx_;
  grid::Buffer<T> z_block_, y_block_, y_modes_, x_block_, x_modes_;
  std::array<std::vector<T>, 3> wave_, transfer_; ///< squares of modified wave number and transfer function, per mode
  T scale_;

  /// Where the modes in y are coupled: their systems, and the exchange between x and y once x is transformed.
  struct Coupled {
    grid::Decomposition modes_x;
    grid::Exchange<T> real;
    grid::Exchange<Complex> complex;
    ModeSystems<T> systems;
    grid::Buffer<T> y_block; ///< only where it differs from the Y pencil before x is transformed
  };
  std::optional<Coupled> coupled_;
};

template <class T>
template <int inputs, class Body>
void Poisson<T>::z_forward(const grid::Lines &lines, const std::array<const T *, inputs> &in, Body body) {
  const grid::Lines from = lines.in_pairs(cells_.box(grid::Pencil::z).count[0]);
  const grid::Lines into = real_zy_.z_lines();
  T *modes = z_modes();
  if (z_kind_ == Kind::cosine) {
    sweep_columns<T, inputs, 1>(
        from, into, LoadFrom<T, inputs>{in},
        [&](auto &tile) {
          body(tile);
          for (int b = 0; b < tile.bundles; ++b)
            z_.forward(tile.out[0][b], nullptr);
        },
        StoreTo<T, 1>{{modes}});
    return;
  }
  sweep_columns<T, inputs, 2>(
      from, into, LoadFrom<T, inputs>{in},
      [&](auto &tile) {
        body(tile);
        for (int b = 0; b < tile.bundles; ++b)
          z_.forward(tile.out[0][b], tile.out[1][b]);
      },
      StoreComplexTo<T>{modes});
}

template <class T>
template <int outputs, class Body, class Finish>
void Poisson<T>::z_backward(const grid::Lines &into, Body body, Finish finish) {
  const grid::Lines from = real_zy_.z_lines().in_pairs(cells_.box(grid::Pencil::z).count[0]);
  const T *modes = z_modes();
  if (z_kind_ == Kind::cosine) {
    sweep_columns<T, 1, outputs>(
        from, into, LoadFrom<T, 1>{{modes}},
        [&](auto &tile) {
          for (int b = 0; b < tile.bundles; ++b)
            z_.backward(tile.in[0][b], nullptr);
          body(tile);
        },
        finish);
    return;
  }
  sweep_columns<T, 2, outputs>(
      from, into, LoadComplexFrom<T>{modes},
      [&](auto &tile) {
        for (int b = 0; b < tile.bundles; ++b)
          z_.backward(tile.in[0][b], tile.in[1][b]);
        body(tile);
      },
      finish);
}

} // namespace tailrace::ops
