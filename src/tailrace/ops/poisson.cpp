#include <tailrace/ops/poisson.hpp>

#include <tailrace/support/error.hpp>

namespace tailrace::ops {

using namespace grid;

namespace {

template <class T> typename LineTransform<T>::Kind kind_of(const Grid &grid, int d, bool already_complex) {
  using Kind = typename LineTransform<T>::Kind;
  if (!grid.periodic(d))
    return Kind::cosine;
  return already_complex ? Kind::complex : Kind::real_to_complex;
}

Index3 with(Index3 shape, int d, std::int64_t points) {
  shape[d] = points;
  return shape;
}

template <class T> std::int64_t values(std::int64_t points, bool is_complex) { return points * (is_complex ? 2 : 1); }

} // namespace

template <class T>
Poisson<T>::Poisson(const Grid &grid, Interpolation interpolation, std::shared_ptr<const ProcessGrid> processes,
                    TransposeMethod method, std::shared_ptr<Workspace> workspace, WallDivergence walls)
    : processes_(processes), cells_(processes, grid.cells(), true), z_kind_(kind_of<T>(grid, 2, false)),
      y_kind_(kind_of<T>(grid, 1, grid.periodic(2))),
      x_kind_(kind_of<T>(grid, 0, grid.periodic(1) || grid.periodic(2))), complex_z_(grid.periodic(2)),
      complex_y_(complex_z_ || grid.periodic(1)), complex_x_(complex_y_ || grid.periodic(0)),
      z_(z_kind_, grid.cells()[2]), y_(y_kind_, grid.cells()[1]),
      modes_z_(processes, with(grid.cells(), 2, z_.modes()), true),
      modes_y_(processes, with(modes_z_.shape(), 1, y_.modes()), true), real_zy_(modes_z_, method, workspace),
      real_yx_(modes_y_, method, workspace), complex_zy_(modes_z_, method, workspace),
      complex_yx_(modes_y_, method, workspace) {
  const std::int64_t nx = grid.cells()[0];
  if (x_kind_ == Kind::cosine)
    x_cosine_.emplace(Kind::cosine, nx);
  else
    x_rows_.emplace(nx, x_kind_ == Kind::real_to_complex);
  y_block_ = real_zy_.allocate(complex_z_ ? 2 : 1);
  if (!real_zy_.is_free(Pencil::z, Pencil::y))
    z_block_ = Buffer<T>(values<T>(modes_z_.box(Pencil::z).size(), complex_z_));
  if (y_kind_ == Kind::real_to_complex)
    y_modes_ = Buffer<T>(values<T>(modes_y_.box(Pencil::y).size(), true));
  if (!real_yx_.is_free(Pencil::y, Pencil::x))
    x_block_ = Buffer<T>(values<T>(modes_y_.box(Pencil::x).size(), complex_y_));
  if (x_kind_ == Kind::real_to_complex)
    x_modes_ = Buffer<T>(2 * (nx / 2 + 1) * modes_y_.box(Pencil::x).count[1]);
  const auto [symbols, scale] = symbols_of(grid, interpolation);
  scale_ = static_cast<T>(scale);
  for (int d = 0; d < 3; ++d) {
    wave_[d].assign(symbols[d].wave.begin(), symbols[d].wave.end());
    transfer_[d].assign(symbols[d].transfer.begin(), symbols[d].transfer.end());
  }
  std::vector<WallMode> one_sided;
  if (grid.boundaries[1].has(Boundary::dirichlet) && walls == WallDivergence::one_sided) {
    if (!grid.periodic(0) || !grid.periodic(2)) // the mean of a divergence would not be what flows through the ends
      throw InputError("the divergence at walls is one-sided only where x and z are periodic; take the mirrored one");
    one_sided = wall_modes(grid, interpolation);
  }
  if (grid.stretching || !one_sided.empty())
    prepare_coupled(grid, symbols, scale, method, workspace, std::move(one_sided));
}

template <class T>
void Poisson<T>::prepare_coupled(const Grid &grid, const std::array<Symbols, 3> &symbols, double scale,
                                 TransposeMethod method, std::shared_ptr<Workspace> workspace,
                                 std::vector<WallMode> walls) {
  const bool halves = x_kind_ == Kind::real_to_complex;
  const Decomposition modes_x(processes_, with(modes_z_.shape(), 0, halves ? grid.cells()[0] / 2 + 1 : grid.cells()[0]),
                              true);
  coupled_.emplace(Coupled{modes_x,
                           Exchange<T>(modes_x, method, workspace),
                           Exchange<Complex>(modes_x, method, workspace),
                           ModeSystems<T>(grid, symbols, modes_x.box(Pencil::y), scale, std::move(walls)),
                           {}});
  if (real_yx_.is_free(Pencil::y, Pencil::x))
    return;
  coupled_->y_block = Buffer<T>(values<T>(modes_x.box(Pencil::y).size(), complex_x_));
  if (halves)
    x_modes_ = Buffer<T>(values<T>(modes_x.box(Pencil::x).size(), true));
}

template <class T>
T *Poisson<T>::exchange(bool is_complex, Exchange<T> &real, Exchange<Complex> &complex, Pencil from, Pencil to, T *in,
                        T *out) {
  if (!is_complex)
    return real.move(from, to, in, out);
  return reinterpret_cast<T *>(
      complex.move(from, to, reinterpret_cast<Complex *>(in), reinterpret_cast<Complex *>(out)));
}

/// Where this rank's columns of z modes start.
template <class T> T *Poisson<T>::z_modes() {
  if (!real_zy_.is_free(Pencil::z, Pencil::y))
    return z_block_.data();
  if (complex_z_)
    return reinterpret_cast<T *>(complex_zy_.z_start(reinterpret_cast<Complex *>(y_block_.data())));
  return real_zy_.z_start(y_block_.data());
}

template <class T> void Poisson<T>::y_forward(const T *in, T *out, const Index3 &cells, bool is_complex) const {
  const std::int64_t inner = cells[0] * (is_complex ? 2 : 1);
  const Lines lines{cells[2], y_.points(), inner, inner};
  const auto transform = [&](auto &tile, Vec<T> *const *upper) {
    for (int b = 0; b < tile.bundles; ++b) {
      std::copy_n(tile.in[0][b], y_.points(), tile.out[0][b]);
      y_.forward(tile.out[0][b], upper ? upper[b] : nullptr);
    }
  };
  if (y_kind_ == Kind::real_to_complex)
    sweep_columns<T, 1, 2>(
        lines, lines.with_points(y_.modes()), LoadFrom<T, 1>{{in}}, [&](auto &tile) { transform(tile, tile.out[1]); },
        StoreComplexTo<T>{out});
  else
    sweep_columns<T, 1, 1>(
        lines, lines.with_points(y_.modes()), LoadFrom<T, 1>{{in}}, [&](auto &tile) { transform(tile, nullptr); },
        StoreTo<T, 1>{{out}});
}

template <class T> void Poisson<T>::y_backward(const T *in, T *out, const Index3 &cells, bool is_complex) const {
  const std::int64_t inner = cells[0] * (is_complex ? 2 : 1);
  const Lines lines{cells[2], y_.modes(), inner, inner};
  const auto transform = [&](auto &tile, Vec<T> *const *upper) {
    for (int b = 0; b < tile.bundles; ++b) {
      y_.backward(tile.in[0][b], upper ? upper[b] : nullptr);
      std::copy_n(tile.in[0][b], y_.points(), tile.out[0][b]);
    }
  };
  const StoreTo<T, 1> finish{{out}};
  if (y_kind_ == Kind::real_to_complex)
    sweep_columns<T, 2, 1>(
        lines, lines.with_points(y_.points()), LoadComplexFrom<T>{in}, [&](auto &tile) { transform(tile, tile.in[1]); },
        finish);
  else
    sweep_columns<T, 1, 1>(
        lines, lines.with_points(y_.points()), LoadFrom<T, 1>{{in}}, [&](auto &tile) { transform(tile, nullptr); },
        finish);
}

/// Divides every mode by its eigenvalue. `rows` holds this box of modes, x whole.
template <class T> void Poisson<T>::scale(T *rows, const Box &box) const {
  const std::int64_t modes = x_kind_ == Kind::real_to_complex ? box.count[0] / 2 + 1 : box.count[0];
  const int parts = complex_x_ ? 2 : 1;
  for (std::int64_t k = box.start[2]; k < box.end(2); ++k)
    for (std::int64_t j = box.start[1]; j < box.end(1); ++j) {
      const T across = transfer_[1][j] * transfer_[2][k];
      const T along = wave_[1][j] * transfer_[2][k] + wave_[2][k] * transfer_[1][j];
      for (std::int64_t i = 0; i < modes; ++i) {
        const T eigenvalue = wave_[0][i] * across + transfer_[0][i] * along;
        const T factor = mode_factor(eigenvalue, scale_);
        for (int part = 0; part < parts; ++part)
          *rows++ *= factor;
      }
    }
}

/// Real rows are taken in pairs, which must be those of any number of ranks, so none is of two planes.
template <class T> void Poisson<T>::x_cosines(T *rows, std::int64_t count, std::int64_t in_plane, bool forward) const {
  const std::int64_t n = x_cosine_->points(), parts = complex_y_ ? 2 : 1;
  const std::int64_t together = parts == 2 || in_plane % 2 == 0 ? count : in_plane;
  for (std::int64_t row = 0; row < count; row += together) {
    T *const first = rows + row * n * parts;
    sweep<T, 1, 1>(
        Lines{together, n, parts, parts}, n, {first},
        [&](auto &tile) {
          for (int b = 0; b < tile.bundles; ++b) {
            std::copy_n(tile.in[0][b], n, tile.out[0][b]);
            forward ? x_cosine_->forward(tile.out[0][b], nullptr) : x_cosine_->backward(tile.out[0][b], nullptr);
          }
        },
        StoreTo<T, 1>{{first}});
  }
}

/// Transforms `count` rows along x, of planes that have `in_plane` each; returns where the modes are.
template <class T> T *Poisson<T>::x_forward(T *rows, std::int64_t count, std::int64_t in_plane) {
  switch (x_kind_) {
  case Kind::cosine:
    x_cosines(rows, count, in_plane, true);
    return rows;
  case Kind::complex:
    x_rows_->complex_rows(rows, count, -1);
    return rows;
  default:
    x_rows_->forward(rows, x_modes_.data(), count);
    return x_modes_.data();
  }
}

template <class T> void Poisson<T>::x_backward(T *modes, T *rows, std::int64_t count, std::int64_t in_plane) {
  switch (x_kind_) {
  case Kind::cosine:
    return x_cosines(rows, count, in_plane, false);
  case Kind::complex:
    return x_rows_->complex_rows(rows, count, +1);
  default:
    return x_rows_->backward(modes, rows, count);
  }
}

template <class T> void Poisson<T>::spectral() {
  // Where no data move between z and y both are the same block; `move` still waits until the other ranks have finished.
  T *y = y_block_.data();
  T *z = real_zy_.is_free(Pencil::z, Pencil::y) ? y : z_block_.data();
  exchange(complex_z_, real_zy_, complex_zy_, Pencil::z, Pencil::y, z, y);
  coupled_ ? solve_coupled(y) : solve_uniform(y);
  exchange(complex_z_, real_zy_, complex_zy_, Pencil::y, Pencil::z, y, z);
}

/// Along y, then along x, where every mode has its eigenvalue. `y`: this rank's Y pencil of modes in z.
template <class T> void Poisson<T>::solve_uniform(T *y) {
  const Box before = modes_z_.box(Pencil::y), after = modes_y_.box(Pencil::y);
  T *modes = y_kind_ == Kind::real_to_complex ? y_modes_.data() : y;
  const std::int64_t plane_in = values<T>(before.count[0] * before.count[1], complex_z_);
  const std::int64_t plane_out = values<T>(after.count[0] * after.count[1], complex_y_);
  const Index3 one_plane = with(before.count, 2, 1);
  const auto solve_planes = [&](T *rows, const Box &box) { // a plane stays in the cache for all operations on it
    const std::int64_t count = box.count[1], plane = values<T>(box.count[0] * count, complex_y_);
    for (std::int64_t k = 0; k < box.count[2]; ++k) {
      T *x_modes = x_forward(rows + k * plane, count, count);
      scale(x_modes, {{box.start[0], box.start[1], box.start[2] + k}, {box.count[0], count, 1}});
      x_backward(x_modes, rows + k * plane, count, count);
    }
  };
  if (real_yx_.is_free(Pencil::y, Pencil::x)) {
    for (std::int64_t k = 0; k < before.count[2]; ++k) {
      y_forward(y + k * plane_in, modes + k * plane_out, one_plane, complex_z_);
      solve_planes(modes + k * plane_out,
                   {{after.start[0], after.start[1], after.start[2] + k}, with(after.count, 2, 1)});
      y_backward(modes + k * plane_out, y + k * plane_in, one_plane, complex_z_);
    }
    return;
  }
  y_forward(y, modes, before.count, complex_z_);
  T *x = exchange(complex_y_, real_yx_, complex_yx_, Pencil::y, Pencil::x, modes, x_block_.data());
  solve_planes(x, modes_y_.box(Pencil::x));
  exchange(complex_y_, real_yx_, complex_yx_, Pencil::x, Pencil::y, x, modes);
  y_backward(modes, y, before.count, complex_z_);
}

/// Along x, then along y, where its modes are coupled.
template <class T> void Poisson<T>::solve_coupled(T *y) {
  const Box rows_box = modes_z_.box(Pencil::y), modes_box = coupled_->modes_x.box(Pencil::y);
  const Index3 one_plane = with(modes_box.count, 2, 1);
  const auto solve_plane = [&](T *modes, std::int64_t k) {
    y_forward(modes, modes, one_plane, complex_x_);
    coupled_->systems.solve(modes, k, complex_x_ ? 2 : 1);
    y_backward(modes, modes, one_plane, complex_x_);
  };
  if (real_yx_.is_free(Pencil::y, Pencil::x)) {
    const std::int64_t plane = values<T>(rows_box.count[0] * rows_box.count[1], complex_z_);
    for (std::int64_t k = 0; k < rows_box.count[2]; ++k) {
      T *modes = x_forward(y + k * plane, rows_box.count[1], rows_box.count[1]);
      solve_plane(modes, k);
      x_backward(modes, y + k * plane, rows_box.count[1], rows_box.count[1]);
    }
    return;
  }
  const Box x_box = modes_z_.box(Pencil::x);
  const std::int64_t count = x_box.count[1] * x_box.count[2];
  const std::int64_t plane = values<T>(modes_box.count[0] * modes_box.count[1], complex_x_);
  T *x = exchange(complex_z_, real_yx_, complex_yx_, Pencil::y, Pencil::x, y, x_block_.data());
  T *x_modes = x_forward(x, count, x_box.count[1]);
  T *columns =
      exchange(complex_x_, coupled_->real, coupled_->complex, Pencil::x, Pencil::y, x_modes, coupled_->y_block.data());
  for (std::int64_t k = 0; k < modes_box.count[2]; ++k)
    solve_plane(columns + k * plane, k);
  exchange(complex_x_, coupled_->real, coupled_->complex, Pencil::y, Pencil::x, columns, x_modes);
  x_backward(x_modes, x, count, x_box.count[1]);
  exchange(complex_z_, real_yx_, complex_yx_, Pencil::x, Pencil::y, x, y);
}

template <class T> void Poisson<T>::solve(const T *f, T *p) {
  const std::int64_t n = z_.points();
  const Lines lines = Lines::along(2, cells_.box(Pencil::z).count);
  const auto copy = [&](auto &tile) {
    for (int b = 0; b < tile.bundles; ++b)
      std::copy_n(tile.in[0][b], n, tile.out[0][b]);
  };
  z_forward<1>(lines, {f}, copy);
  spectral();
  z_backward<1>(lines, copy, StoreTo<T, 1>{{p}});
}

template class Poisson<float>;
template class Poisson<double>;

} // namespace tailrace::ops
