#include <tailrace/flow/scalar_transport.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

template <class T>
ScalarTransport<T>::ScalarTransport(const ScalarEquations &equations)
    : gradient_(equations.gradient), diffusion_(equations.diffusion),
      shift_(equations.shift.begin(), equations.shift.end()) {}

template <class T> void ScalarTransport<T>::body(Tile<T, 2, 1> &tile, std::int64_t n) const {
  fill_ghosts(tile, 1, n, gradient_.sides, Parity::even, false);
  for (int b = 0; b < tile.bundles; ++b)
    diffusion_.pair_count > 2 ? solve<true>(tile.in[0][b], tile.in[1][b], tile.out[0][b], n)
                              : solve<false>(tile.in[0][b], tile.in[1][b], tile.out[0][b], n);
}

template <class T>
template <bool wide>
void ScalarTransport<T>::solve(const Vec<T> *velocity, const Vec<T> *phi, Vec<T> *diffusion, std::int64_t n) const {
  thread_local Buffer<T> memory;
  if (memory.size() < n * lanes<T>)
    memory = Buffer<T>(n * lanes<T>);
  auto *gradient = reinterpret_cast<Vec<T> *>(memory.data());
  const T *m_gradient = gradient_.forward.data(), *m_diffusion = diffusion_.forward.data();
  Vec<T> y_gradient{}, y_diffusion{};
  for (std::int64_t j = 0; j < n; ++j) {
    y_gradient = row<T, Operation::first_derivative, 2>(gradient_, phi, j) - m_gradient[j] * y_gradient;
    y_diffusion = row<T, Operation::second_derivative, wide ? 4 : 2>(diffusion_, phi, j) - m_diffusion[j] * y_diffusion;
    gradient[j] = y_gradient;
    diffusion[j] = y_diffusion;
  }
  Vec<T> x_gradient{}, x_diffusion{};
  if (gradient_.wrap > 0) {
    Vec<T> *const first[1] = {gradient}, *const second[1] = {diffusion};
    Vec<T> last_first[1] = {y_gradient}, last_second[1] = {y_diffusion};
    ops::detail::wrap_around<T, 1>(gradient_, first, last_first);
    ops::detail::wrap_around<T, 1>(diffusion_, second, last_second);
    x_gradient = last_first[0], x_diffusion = last_second[0];
  }
  for (std::int64_t j = n - 1; j >= 0; --j) {
    x_gradient = ops::detail::backward_step(gradient_.diagonal[j], gradient[j], gradient_.backward[j], x_gradient);
    x_diffusion = ops::detail::backward_step(diffusion_.diagonal[j], diffusion[j], diffusion_.backward[j], x_diffusion);
    diffusion[j] = (velocity[j] + shift_[static_cast<std::size_t>(j)]) * x_gradient + x_diffusion;
  }
}

template class ScalarTransport<float>;
template class ScalarTransport<double>;

} // namespace tailrace::flow
