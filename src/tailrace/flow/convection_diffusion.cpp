#include <tailrace/flow/convection_diffusion.hpp>

#include <tailrace/support/error.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

template <class T>
auto ConvectionDiffusion<T>::make(const Grid &grid, int d, double viscosity, Parity parity) -> Systems {
  const CompactScheme first = compact_scheme(Operation::first_derivative, grid.spacing(d));
  const CompactScheme second = compact_scheme(Operation::second_derivative, grid.spacing(d));
  const Boundary boundary = grid.boundaries[d];
  // The normal velocity is odd, so the product u_d u_i has the other parity than u_i.
  return {{first, grid.nodes[d], boundary, parity, -0.5},
          {first, grid.nodes[d], boundary, parity * Parity::odd, -0.5},
          {second, grid.nodes[d], boundary, parity, viscosity}};
}

template <class T>
ConvectionDiffusion<T>::ConvectionDiffusion(const Grid &grid, int direction, double viscosity)
    : direction_(direction), boundary_(grid.boundaries[direction]),
      normal_(make(grid, direction, viscosity, Parity::odd)),
      tangential_(make(grid, direction, viscosity, Parity::even)) {
  if (boundary_ == Boundary::dirichlet)
    throw InputError("the flow solver knows periodic and free-slip boundaries; dirichlet is for operators only so far");
}

template <class T> void ConvectionDiffusion<T>::body(Tile<T, 3, 3> &tile, std::int64_t n) const {
  for (int i = 0; i < 3; ++i)
    fill_ghosts(tile, i, n, boundary_, i == direction_ ? Parity::odd : Parity::even, false);
  for (int b = 0; b < tile.bundles; ++b)
    for (int i = 0; i < 3; ++i)
      solve(i == direction_ ? normal_ : tangential_, tile.in[direction_][b], tile.in[i][b], tile.out[i][b], n);
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

template <class T>
void ConvectionDiffusion<T>::solve(const Systems &s, const Vec<T> *ud, const Vec<T> *ui, Vec<T> *diffusion,
                                   std::int64_t n) {
  const auto [gradient, flux] = system_memory<T>(n);
  const T a = s.gradient.pairs[0], b = s.gradient.pairs[1], c = s.diffusion.pairs[0], e = s.diffusion.pairs[1];
  const T centre = -2 * (c + e);
  const T *m_gradient = s.gradient.forward.data(), *m_flux = s.flux.forward.data(),
          *m_diffusion = s.diffusion.forward.data();
  Vec<T> y_gradient{}, y_flux{}, y_diffusion{};
  Vec<T> q[5] = {{}, ud[-2] * ui[-2], ud[-1] * ui[-1], ud[0] * ui[0], ud[1] * ui[1]}; // u_d u_i at j-2 .. j+2
  for (std::int64_t j = 0; j < n; ++j) {
    q[0] = q[1], q[1] = q[2], q[2] = q[3], q[3] = q[4];
    q[4] = ud[j + 2] * ui[j + 2];
    const Vec<T> west = ui[j - 1], east = ui[j + 1], wwest = ui[j - 2], eeast = ui[j + 2];
    y_gradient = a * (east - west) + b * (eeast - wwest) - m_gradient[j] * y_gradient;
    y_flux = a * (q[3] - q[1]) + b * (q[4] - q[0]) - m_flux[j] * y_flux;
    y_diffusion = c * (east + west) + e * (eeast + wwest) + centre * ui[j] - m_diffusion[j] * y_diffusion;
    gradient[j] = y_gradient;
    flux[j] = y_flux;
    diffusion[j] = y_diffusion;
  }
  Vec<T> x_gradient{}, x_flux{}, x_diffusion{};
  if (s.gradient.wrap > 0) {
    // Gradient and flux share their factors where periodic.
    Vec<T> *const first[2] = {gradient, flux}, *const second[1] = {diffusion};
    Vec<T> last_first[2] = {y_gradient, y_flux}, last_second[1] = {y_diffusion};
    ops::detail::wrap_around<T, 2>(s.gradient, first, last_first);
    ops::detail::wrap_around<T, 1>(s.diffusion, second, last_second);
    x_gradient = last_first[0], x_flux = last_first[1], x_diffusion = last_second[0];
  }
  const T *d_gradient = s.gradient.diagonal.data(), *d_flux = s.flux.diagonal.data(),
          *d_diffusion = s.diffusion.diagonal.data();
  const T *b_gradient = s.gradient.backward.data(), *b_flux = s.flux.backward.data(),
          *b_diffusion = s.diffusion.backward.data();
  for (std::int64_t j = n - 1; j >= 0; --j) {
    x_gradient = d_gradient[j] * gradient[j] - b_gradient[j] * x_gradient;
    x_flux = d_flux[j] * flux[j] - b_flux[j] * x_flux;
    x_diffusion = d_diffusion[j] * diffusion[j] - b_diffusion[j] * x_diffusion;
    diffusion[j] = ud[j] * x_gradient + x_flux + x_diffusion;
  }
}

template class ConvectionDiffusion<float>;
template class ConvectionDiffusion<double>;

} // namespace tailrace::flow
