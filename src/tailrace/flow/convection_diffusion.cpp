#include <tailrace/flow/convection_diffusion.hpp>

#include <tailrace/support/error.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

template <class T>
ConvectionDiffusion<T>::ConvectionDiffusion(const Grid &grid, int direction, double viscosity,
                                            const std::optional<Hyperviscosity> &hyperviscosity, bool diffuses)
    : direction_(direction), sides_(grid.boundaries[direction]),
      normal_(momentum_equations(grid, direction, diffuses ? viscosity : 0, diffuses ? hyperviscosity : std::nullopt,
                                 Parity::odd)),
      tangential_(momentum_equations(grid, direction, diffuses ? viscosity : 0,
                                     diffuses ? hyperviscosity : std::nullopt, Parity::even)) {
  for (const double value : momentum_slope(grid, direction, viscosity))
    slope_.push_back(static_cast<T>(value));
}

template <class T>
void ConvectionDiffusion<T>::body(Tile<T, 3, 3> &tile, std::int64_t n,
                                  const std::array<bool, tile_bundles> &left_out) const {
  for (int i = 0; i < 3; ++i)
    fill_ghosts(tile, i, n, sides_, i == direction_ ? Parity::odd : Parity::even, false);
  const auto with = [&](auto stretched, auto wide) {
    for (int b = 0; b < tile.bundles; ++b) {
      if (left_out[static_cast<std::size_t>(b)])
        continue;
      for (int i = 0; i < 3; ++i)
        solve<decltype(stretched)::value, decltype(wide)::value>(
            i == direction_ ? normal_ : tangential_, tile.in[direction_][b], tile.in[i][b], tile.out[i][b], n);
    }
  };
  const bool wide = normal_.diffusion.pair_count > 2;
  if (slope_.empty())
    wide ? with(std::false_type{}, std::true_type{}) : with(std::false_type{}, std::false_type{});
  else
    wide ? with(std::true_type{}, std::true_type{}) : with(std::true_type{}, std::false_type{});
}

namespace {

/// Scratch for two of the three systems; the third uses the result's place.
template <class T> std::array<Vec<T> *, 2> system_memory(std::int64_t n) {
  thread_local Buffer<T> memory;
  const std::int64_t room = (n | 1) * lanes<T>;
  if (memory.size() < 2 * room)
    memory = Buffer<T>(2 * room);
  auto *first = reinterpret_cast<Vec<T> *>(memory.data());
  return {first, first + (n | 1)};
}

} // namespace

namespace {
/// Products of two lines at their first or last points, which the rows near a wall need.
template <class T> struct EndProducts {
  static constexpr std::int64_t room = 8;
  Vec<T> values[room];
  std::int64_t first;
  EndProducts(const Vec<T> *a, const Vec<T> *b, std::int64_t start) : first(start) {
    for (std::int64_t k = 0; k < room; ++k)
      values[k] = a[first + k] * b[first + k];
  }
  const Vec<T> *line() const { return values - first; } ///< as if it had all points
};
} // namespace

template <class T>
template <bool stretched, bool wide>
void ConvectionDiffusion<T>::solve(const Systems &s, const Vec<T> *ud, const Vec<T> *ui, Vec<T> *diffusion,
                                   std::int64_t n) const {
  const auto [gradient, flux] = system_memory<T>(n);
  const T a = s.gradient.pairs[0], b = s.gradient.pairs[1], c = s.diffusion.pairs[0], e = s.diffusion.pairs[1];
  const T third = s.diffusion.pairs[2], fourth = s.diffusion.pairs[3];
  const T centre = -2 * (wide ? c + e + third + fourth : c + e);
  const T *m_gradient = s.gradient.forward.data(), *m_flux = s.flux.forward.data(),
          *m_diffusion = s.diffusion.forward.data();
  Vec<T> y_gradient{}, y_flux{}, y_diffusion{};
  const auto keep = [&](std::int64_t j, Vec<T> of_gradient, Vec<T> of_flux, Vec<T> of_diffusion) {
    y_gradient = of_gradient - m_gradient[j] * y_gradient;
    y_flux = of_flux - m_flux[j] * y_flux;
    y_diffusion = of_diffusion - m_diffusion[j] * y_diffusion;
    gradient[j] = y_gradient;
    flux[j] = y_flux;
    diffusion[j] = y_diffusion;
  };
  const auto near_wall = [&](std::int64_t j, const Vec<T> *products) {
    keep(j, row<T, Operation::first_derivative, 2>(s.gradient, ui, j),
         row<T, Operation::first_derivative, 2>(s.flux, products, j),
         row<T, Operation::second_derivative, wide ? 4 : 2>(s.diffusion, ui, j));
  };
  const auto first = static_cast<std::int64_t>(s.diffusion.lower.size()), last = s.diffusion.first_upper();
  if (first > 0) {
    const EndProducts<T> products(ud, ui, 0);
    for (std::int64_t j = 0; j < first; ++j)
      near_wall(j, products.line());
  }
  Vec<T> q[5] = {{},
                 ud[first - 2] * ui[first - 2],
                 ud[first - 1] * ui[first - 1],
                 ud[first] * ui[first],
                 ud[first + 1] * ui[first + 1]}; // u_d u_i at j-2 .. j+2
  for (std::int64_t j = first; j < last; ++j) {
    q[0] = q[1], q[1] = q[2], q[2] = q[3], q[3] = q[4];
    q[4] = ud[j + 2] * ui[j + 2];
    const Vec<T> west = ui[j - 1], east = ui[j + 1], wwest = ui[j - 2], eeast = ui[j + 2];
    Vec<T> of_diffusion = c * (east + west) + e * (eeast + wwest) + centre * ui[j];
    if constexpr (wide)
      of_diffusion += third * (ui[j + 3] + ui[j - 3]) + fourth * (ui[j + 4] + ui[j - 4]);
    keep(j, a * (east - west) + b * (eeast - wwest), a * (q[3] - q[1]) + b * (q[4] - q[0]), of_diffusion);
  }
  if (last < n) {
    const EndProducts<T> products(ud, ui, n - EndProducts<T>::room);
    for (std::int64_t j = last; j < n; ++j)
      near_wall(j, products.line());
  }
  Vec<T> x_gradient{}, x_flux{}, x_diffusion{};
  if (s.gradient.wrap > 0) {
    // Gradient and flux share their factors where periodic.
    Vec<T> *const both[2] = {gradient, flux}, *const second[1] = {diffusion};
    Vec<T> last_both[2] = {y_gradient, y_flux}, last_second[1] = {y_diffusion};
    ops::detail::wrap_around<T, 2>(s.gradient, both, last_both);
    ops::detail::wrap_around<T, 1>(s.diffusion, second, last_second);
    x_gradient = last_both[0], x_flux = last_both[1], x_diffusion = last_second[0];
  }
  const T *d_gradient = s.gradient.diagonal.data(), *d_flux = s.flux.diagonal.data(),
          *d_diffusion = s.diffusion.diagonal.data();
  const T *b_gradient = s.gradient.backward.data(), *b_flux = s.flux.backward.data(),
          *b_diffusion = s.diffusion.backward.data();
  for (std::int64_t j = n - 1; j >= 0; --j) {
    x_gradient = ops::detail::backward_step(d_gradient[j], gradient[j], b_gradient[j], x_gradient);
    x_flux = ops::detail::backward_step(d_flux[j], flux[j], b_flux[j], x_flux);
    x_diffusion = ops::detail::backward_step(d_diffusion[j], diffusion[j], b_diffusion[j], x_diffusion);
    if constexpr (stretched)
      diffusion[j] = (ud[j] + slope_[static_cast<std::size_t>(j)]) * x_gradient + x_flux + x_diffusion;
    else
      diffusion[j] = ud[j] * x_gradient + x_flux + x_diffusion;
  }
}

namespace {
/// Scratch of a tile: bundles with room for ghosts, as in a tile.
template <class T> struct BundleMemory {
  Vec<T> *lines[tile_bundles];
  BundleMemory(std::int64_t n, grid::Buffer<T> &memory) {
    const std::int64_t room = (n + 2 * line_ghosts) | 1;
    if (memory.size() < tile_bundles * room * lanes<T>)
      memory = Buffer<T>(tile_bundles * room * lanes<T>);
    for (int b = 0; b < tile_bundles; ++b)
      lines[b] = reinterpret_cast<Vec<T> *>(memory.data()) + b * room + line_ghosts;
  }
};
} // namespace

namespace {
/// The bundles of a tile in which lines meet a body.
template <class T> struct MetBundles {
  Tile<T, 3, 3> tile; ///< only these bundles
  Vec<T> *products[3][tile_bundles]{};
  std::array<typename SolidLines<T>::LaneMask, tile_bundles> masks{}; ///< of the lanes that meet it
  std::array<bool, tile_bundles> whole{};                             ///< of all bundles: whether all lanes meet it

  MetBundles(const Tile<T, 3, 3> &all, const BundleMemory<T> (&room)[3], const SolidLines<T> &solid,
             const LineRange &range)
      : tile(all) {
    const auto of_all = solid.lanes_that_meet(range);
    tile.bundles = 0;
    for (int b = 0; b < all.bundles; ++b) {
      const auto mask = of_all[static_cast<std::size_t>(b)];
      int lines = 0;
      for (int l = 0; l < lanes<T>; ++l)
        lines += mask[l] != 0;
      whole[static_cast<std::size_t>(b)] = lines == lanes<T>;
      if (lines == 0)
        continue;
      for (int i = 0; i < 3; ++i) {
        tile.in[i][tile.bundles] = all.in[i][b];
        tile.out[i][tile.bundles] = all.out[i][b];
        products[i][tile.bundles] = room[i].lines[b];
      }
      masks[static_cast<std::size_t>(tile.bundles++)] = mask;
    }
  }
};
} // namespace

/// The same where some of the lines meet a body: each of these is rebuilt before a derivative of it is taken, also the
/// product, which is zero on the surface and rebuilt from the products at the fluid nodes. The others keep the bits
/// that they have in a tile without such lines, since which lines share a tile depends on the ranks.
template <class T>
void ConvectionDiffusion<T>::body(Tile<T, 3, 3> &tile, std::int64_t n, const SolidLines<T> &solid,
                                  const LineRange &range) const {
  thread_local std::array<Buffer<T>, 6> memory;
  const BundleMemory<T> products[3] = {{n, memory[0]}, {n, memory[1]}, {n, memory[2]}};
  const BundleMemory<T> gradient(n, memory[3]), flux(n, memory[4]), diffusion(n, memory[5]);
  MetBundles<T> met(tile, products, solid, range);
  body(tile, n, met.whole);
  const auto &in = met.tile.in;
  for (int i = 0; i < 3; ++i)
    for (int b = 0; b < met.tile.bundles; ++b)
      for (std::int64_t j = 0; j < n; ++j)
        met.products[i][b][j] = in[direction_][b][j] * in[i][b][j];
  for (int i = 0; i < 3; ++i) {
    solid.rebuild(range, tile.in[i]);
    solid.rebuild(range, products[i].lines);
  }
  for (int i = 0; i < 3; ++i) {
    const Parity parity = i == direction_ ? Parity::odd : Parity::even;
    const Systems &systems = i == direction_ ? normal_ : tangential_;
    fill_ghosts(met.tile, i, n, sides_, parity, false);
    for (int b = 0; b < met.tile.bundles; ++b)
      fill_ghosts<T>(met.products[i][b], n, sides_, parity * Parity::odd, false);
    solve_tile(systems.gradient, in[i], gradient.lines, met.tile.bundles);
    solve_tile(systems.flux, met.products[i], flux.lines, met.tile.bundles);
    solve_tile(systems.diffusion, in[i], diffusion.lines, met.tile.bundles);
    for (int b = 0; b < met.tile.bundles; ++b)
      for (std::int64_t j = 0; j < n; ++j) {
        const T slope = slope_.empty() ? T(0) : slope_[static_cast<std::size_t>(j)];
        const Vec<T> rebuilt =
            diffusion.lines[b][j] + (in[direction_][b][j] + slope) * gradient.lines[b][j] + flux.lines[b][j];
        Vec<T> &result = met.tile.out[i][b][j];
        result = met.masks[static_cast<std::size_t>(b)] ? rebuilt : result;
      }
  }
}

template class ConvectionDiffusion<float>;
template class ConvectionDiffusion<double>;

} // namespace tailrace::flow
