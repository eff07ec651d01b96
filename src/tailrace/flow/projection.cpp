#include <tailrace/flow/projection.hpp>

#include <tailrace/ops/apply.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

namespace {
Index3 first_cells(const Grid &grid, int directions) {
  Index3 shape = grid.nodes;
  for (int d = 0; d < directions; ++d)
    shape[d] = grid.cells()[d];
  return shape;
}

Index3 plane_of(const Index3 &count) { return {count[0], count[1], 1}; }

template <class T, std::size_t N> std::array<T *, N> at_plane(const std::array<T *, N> &arrays, std::int64_t offset) {
  auto moved = arrays;
  for (T *&array : moved)
    array += offset;
  return moved;
}

template <class T, std::size_t N> std::array<const T *, N> constant(const std::array<T *, N> &arrays) {
  std::array<const T *, N> result;
  std::copy(arrays.begin(), arrays.end(), result.begin());
  return result;
}

template <class T, std::size_t N> std::array<T *, N> pointers(std::array<Buffer<T>, N> &buffers) {
  std::array<T *, N> result;
  for (std::size_t i = 0; i < N; ++i)
    result[i] = buffers[i].data();
  return result;
}

/// a += b for every bundle in use.
template <class T>
void add(Vec<T> *const (&a)[tile_bundles], Vec<T> *const (&b)[tile_bundles], int bundles, std::int64_t n) {
  for (int i = 0; i < bundles; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a[i][j] += b[i][j];
}
} // namespace

template <class T>
Projection<T>::Staggered::Staggered(const StaggeredEquations &equations)
    : derivative_to_centre(equations.derivative_to_centre), average_to_centre(equations.average_to_centre),
      derivative_to_node(equations.derivative_to_node), average_to_node(equations.average_to_node) {}

template <class T>
auto Projection<T>::make(const Grid &grid, int d, Interpolation interpolation, WallDivergence walls) -> Staggered {
  const Sides to_centres = d == 1 ? divergence_sides(grid, walls) : staggered_sides(grid, d);
  return Staggered(staggered_equations(grid, d, interpolation, to_centres));
}

template <class T>
Projection<T>::Projection(const Grid &grid, Interpolation interpolation, std::shared_ptr<const ProcessGrid> processes,
                          TransposeMethod method, std::shared_ptr<Workspace> workspace, WallDivergence walls)
    : grid_(grid), sides_{staggered_sides(grid, 0), staggered_sides(grid, 1), staggered_sides(grid, 2)},
      staggered_{make(grid, 0, interpolation, walls), make(grid, 1, interpolation, walls),
                 make(grid, 2, interpolation, walls)},
      xy_(Decomposition(processes, first_cells(grid, 1), true), method, workspace),
      yz_(Decomposition(processes, first_cells(grid, 2), true), method, workspace),
      poisson_(grid, interpolation, processes, method, workspace, walls) {
  // With whole planes on a rank the result of the x stage is used at once, and memory for one plane is enough.
  const Box x_box = xy_.decomposition().box(Pencil::x);
  for (auto &buffer : x_part_)
    buffer = Buffer<T>(has_planes() ? x_box.count[0] * x_box.count[1] : x_box.size());
  if (!has_planes())
    for (auto &buffer : y_part_)
      buffer = Buffer<T>(xy_.decomposition().box(Pencil::y).size());
  for (auto &buffer : y_cells_)
    buffer = yz_.allocate();
  if (!yz_.is_free(Pencil::y, Pencil::z))
    for (auto &buffer : z_part_)
      buffer = Buffer<T>(yz_.decomposition().box(Pencil::z).size());
}

/// Ghosts of a velocity on the nodes along direction d, to which it is normal or not.
template <class T>
template <class Tile>
void Projection<T>::fill_node_ghosts(Tile &tile, int k, int d, bool normal) const {
  for (int b = 0; b < tile.bundles; ++b)
    if (normal)
      fill_ghosts_about_ends<T>(tile.in[k][b], grid_.nodes[d], sides_[d]);
    else
      fill_ghosts<T>(tile.in[k][b], grid_.nodes[d], sides_[d], Parity::even, false);
}

template <class T>
void Projection<T>::divergence_x(const std::array<const T *, 3> &u, const std::array<T *, 3> &out, const Index3 &count,
                                 std::int64_t first_line) const {
  const Lines lines = Lines::along(0, count);
  const Staggered &x = staggered_[0];
  sweep<T, 3, 3>(
      lines, grid_.cells()[0], u,
      [&](auto &tile) {
        if (solid_ != nullptr)
          for (int i = 0; i < 3; ++i)
            solid_->rebuild(lines_of<T>(tile, lines, grid_.cells()[0], first_line), tile.in[i]);
        for (int i = 0; i < 3; ++i) {
          fill_node_ghosts(tile, i, 0, i == 0);
          solve_tile(i == 0 ? x.derivative_to_centre : x.average_to_centre, tile.in[i], tile.out[i], tile.bundles);
        }
      },
      StoreTo<T, 3>{out});
}

template <class T>
void Projection<T>::divergence_y(const std::array<const T *, 3> &in, const std::array<T *, 2> &out,
                                 const Index3 &count) const {
  const Lines lines = Lines::along(1, count);
  const Staggered &y = staggered_[1];
  const std::int64_t cells = grid_.cells()[1];
  sweep<T, 3, 3>(
      lines, cells, in,
      [&](auto &tile) {
        for (int i = 0; i < 3; ++i) {
          fill_node_ghosts(tile, i, 1, i == 1);
          solve_tile(i == 1 ? y.derivative_to_centre : y.average_to_centre, tile.in[i], tile.out[i], tile.bundles);
        }
        add<T>(tile.out[0], tile.out[1], tile.bundles, cells);
      },
      [&](int k, std::int64_t offset, Vec<T> v, int lanes_used) {
        if (k != 1)
          store(out[k == 0 ? 0 : 1] + offset, v, lanes_used);
      });
}

/// From the sum of the x and y parts (in[0]) and the averaged w (in[1]) to the divergence (out[0]).
template <class T> template <class Tile> void Projection<T>::divergence_z(Tile &tile) const {
  const Staggered &z = staggered_[2];
  const std::int64_t cells = grid_.cells()[2];
  fill_node_ghosts(tile, 0, 2, false);
  fill_node_ghosts(tile, 1, 2, true);
  solve_tile(z.average_to_centre, tile.in[0], tile.out[0], tile.bundles);
  // The averaged w is not needed any more once its lines are solved; the result takes its place in the sum.
  thread_local Buffer<T> memory;
  const std::int64_t room = cells | 1;
  if (memory.size() < tile_bundles * room * lanes<T>)
    memory = Buffer<T>(tile_bundles * room * lanes<T>);
  Vec<T> *derivative[tile_bundles];
  for (int b = 0; b < tile_bundles; ++b)
    derivative[b] = reinterpret_cast<Vec<T> *>(memory.data()) + b * room;
  solve_tile(z.derivative_to_centre, tile.in[1], derivative, tile.bundles);
  add<T>(tile.out[0], derivative, tile.bundles, cells);
}

/// This rank's Z pencil of the two arrays between the y and z stages.
template <class T> std::array<T *, 2> Projection<T>::z_columns() {
  if (!yz_.is_free(Pencil::y, Pencil::z))
    return pointers(z_part_);
  return {yz_.z_start(y_cells_[0].data()), yz_.z_start(y_cells_[1].data())};
}

/// This rank's X pencil of the nodes.
template <class T> Index3 Projection<T>::nodes() const {
  const Index3 count = xy_.decomposition().box(Pencil::x).count;
  return {grid_.nodes[0], count[1], count[2]};
}

/// The x and y stages of the divergence in plane k of u.
template <class T> void Projection<T>::gather_plane(const std::array<const T *, 3> &u, std::int64_t k) {
  const Index3 x_count = nodes(), y_count = xy_.decomposition().box(Pencil::y).count;
  const auto x_part = pointers(x_part_);
  divergence_x(at_plane(u, k * x_count[0] * x_count[1]), x_part, plane_of(x_count), k * x_count[1]);
  divergence_y(constant(x_part), at_plane(pointers(y_cells_), k * y_count[0] * grid_.cells()[1]), plane_of(y_count));
}

/// The same of the whole: the sum of their parts and the averaged w, in the Y pencil.
template <class T> void Projection<T>::gather_xy(const std::array<const T *, 3> &u) {
  const Index3 x_count = nodes();
  if (has_planes()) {
    for (std::int64_t k = 0; k < x_count[2]; ++k)
      gather_plane(u, k);
    return;
  }
  const auto x_part = pointers(x_part_), y_part = pointers(y_part_);
  divergence_x(u, x_part, x_count, 0);
  for (int i = 0; i < 3; ++i)
    xy_.move(Pencil::x, Pencil::y, x_part[i], y_part[i]);
  divergence_y(constant(y_part), pointers(y_cells_), xy_.decomposition().box(Pencil::y).count);
}

/// What was gathered, in the Z pencil.
template <class T> std::array<T *, 2> Projection<T>::gathered_columns() {
  for (int i = 0; i < 2; ++i)
    yz_.move(Pencil::y, Pencil::z, y_cells_[i].data(), z_part_[i].data());
  return z_columns();
}

template <class T>
void Projection<T>::gradient_y(const std::array<const T *, 2> &in, const std::array<T *, 3> &out,
                               const Index3 &count) const {
  const Lines lines = Lines::along(1, count);
  const Staggered &y = staggered_[1];
  sweep<T, 2, 3>(
      lines, grid_.nodes[1], in,
      [&](auto &tile) {
        fill_ghosts(tile, 0, lines.points, sides_[1], Parity::even, true);
        fill_ghosts(tile, 1, lines.points, sides_[1], Parity::even, true);
        solve_tile(y.average_to_node, tile.in[0], tile.out[0], tile.bundles);
        solve_tile(y.derivative_to_node, tile.in[0], tile.out[1], tile.bundles);
        solve_tile(y.average_to_node, tile.in[1], tile.out[2], tile.bundles);
      },
      StoreTo<T, 3>{out});
}

/// The last stage of the gradient, subtracted from u.
template <class T>
void Projection<T>::gradient_x(const std::array<const T *, 3> &in, const std::array<T *, 3> &u,
                               const Index3 &count) const {
  const Lines lines = Lines::along(0, count);
  const Staggered &x = staggered_[0];
  sweep<T, 3, 3>(
      lines, grid_.nodes[0], in,
      [&](auto &tile) {
        for (int i = 0; i < 3; ++i) {
          fill_ghosts(tile, i, lines.points, sides_[0], Parity::even, true);
          solve_tile(i == 0 ? x.derivative_to_node : x.average_to_node, tile.in[i], tile.out[i], tile.bundles);
        }
      },
      [&](int k, std::int64_t offset, Vec<T> v, int lanes_used) {
        store(u[k] + offset, load(u[k] + offset, lanes_used) - v, lanes_used);
      });
}

/// From the z-averaged phi and d phi / dz in the Z pencil to u - grad phi.
template <class T> void Projection<T>::scatter_xy(const std::array<T *, 3> &u) {
  const auto y_cells = pointers(y_cells_);
  for (int i = 0; i < 2; ++i)
    yz_.move(Pencil::z, Pencil::y, yz_.is_free(Pencil::z, Pencil::y) ? y_cells[i] : z_part_[i].data(), y_cells[i]);
  const Index3 y_count = yz_.decomposition().box(Pencil::y).count;
  const Index3 x_count = xy_.decomposition().box(Pencil::x).count;
  const auto x_part = pointers(x_part_);
  if (has_planes()) {
    const std::int64_t in = y_count[0] * y_count[1], out = grid_.nodes[0] * x_count[1];
    for (std::int64_t k = 0; k < x_count[2]; ++k) {
      gradient_y(constant(at_plane(y_cells, k * in)), x_part, plane_of(y_count));
      gradient_x(constant(x_part), at_plane(u, k * out), plane_of(x_count));
    }
    return;
  }
  const auto y_part = pointers(y_part_);
  gradient_y(constant(y_cells), y_part, y_count);
  for (int i = 0; i < 3; ++i)
    xy_.move(Pencil::y, Pencil::x, y_part[i], x_part[i]);
  gradient_x(constant(x_part), u, x_count);
}

template <class T> void Projection<T>::operator()(const std::array<T *, 3> &u) {
  gather_xy(constant(u));
  solve_gathered(u);
}

template <class T> void Projection<T>::solve_gathered(const std::array<T *, 3> &u) {
  const std::array<T *, 2> z_part = gathered_columns();
  const Lines lines = yz_.z_lines();
  poisson_.template z_forward<2>(lines, constant(z_part), [&](auto &tile) { divergence_z(tile); });
  poisson_.spectral();
  const Staggered &z = staggered_[2];
  const std::int64_t cells = grid_.cells()[2];
  const auto gradient_z = [&](auto &tile) {
    fill_ghosts(tile, 0, cells, sides_[2], Parity::even, true);
    solve_tile(z.average_to_node, tile.in[0], tile.out[0], tile.bundles);
    solve_tile(z.derivative_to_node, tile.in[0], tile.out[1], tile.bundles);
  };
  poisson_.template z_backward<2>(lines, gradient_z, StoreTo<T, 2>{z_part});
  scatter_xy(u);
}

template <class T> void Projection<T>::divergence(const std::array<const T *, 3> &u, T *result) {
  gather_xy(u);
  const Lines into = Lines::along(2, poisson_.cells().box(Pencil::z).count);
  sweep_columns<T, 2, 1>(
      yz_.z_lines(), into, LoadFrom<T, 2>{constant(gathered_columns())}, [&](auto &tile) { divergence_z(tile); },
      StoreTo<T, 1>{{result}});
  yz_.wait(); // other ranks may still read columns of planes that the next use writes
}

template <class T> void Projection<T>::potential(T *phi) {
  const std::int64_t cells = grid_.cells()[2];
  poisson_.template z_backward<1>(
      Lines::along(2, poisson_.cells().box(Pencil::z).count),
      [&](auto &tile) {
        for (int b = 0; b < tile.bundles; ++b)
          std::copy_n(tile.in[0][b], cells, tile.out[0][b]);
      },
      StoreTo<T, 1>{{phi}});
}

template <class T> void Projection<T>::to_nodes(const T *cells, T *nodes) {
  const auto average = [&](int d, const Index3 &count, const T *in, T *out) {
    apply(staggered_[d].average_to_node, d, count, in, out);
  };
  T *y_cells = y_cells_[0].data();
  yz_.wait(); // another rank may still read its planes of the memory whose columns are written now
  const LineSystem<T> &z = staggered_[2].average_to_node;
  const std::int64_t points = grid_.cells()[2];
  sweep_columns<T, 1, 1>(
      Lines::along(2, poisson_.cells().box(Pencil::z).count), yz_.z_lines(), LoadFrom<T, 1>{{cells}},
      [&](auto &tile) {
        fill_ghosts(tile, 0, points, sides_[2], Parity::even, true);
        solve_tile(z, tile.in[0], tile.out[0], tile.bundles);
      },
      StoreTo<T, 1>{{z_columns()[0]}});
  yz_.move(Pencil::z, Pencil::y, yz_.is_free(Pencil::z, Pencil::y) ? y_cells : z_part_[0].data(), y_cells);
  const Index3 y_count = yz_.decomposition().box(Pencil::y).count, x_count = xy_.decomposition().box(Pencil::x).count;
  T *x_part = x_part_[0].data();
  if (has_planes()) {
    for (std::int64_t k = 0; k < x_count[2]; ++k) {
      average(1, plane_of(y_count), y_cells + k * y_count[0] * y_count[1], x_part);
      average(0, plane_of(x_count), x_part, nodes + k * grid_.nodes[0] * x_count[1]);
    }
    return;
  }
  average(1, y_count, y_cells, y_part_[0].data());
  xy_.move(Pencil::y, Pencil::x, y_part_[0].data(), x_part);
  average(0, x_count, x_part, nodes);
}

template class Projection<float>;
template class Projection<double>;

} // namespace tailrace::flow
