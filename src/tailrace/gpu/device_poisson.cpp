#include <tailrace/gpu/device_poisson.hpp>

#include <tailrace/gpu/coupled_factors.hpp>

#include <cmath>
#include <numbers>

namespace tailrace::gpu {

using namespace grid;
using namespace ops;

namespace {
Index3 of_modes(const Grid &grid) { return {grid.cells()[0], grid.cells()[1], grid.cells()[2] / 2 + 1}; }
} // namespace

template <class T>
Poisson<T>::Poisson(const device::Stream &stream, const Grid &grid, Interpolation interpolation,
                    std::shared_ptr<const ProcessGrid> processes)
    : stream_(stream), box_(Decomposition(processes, grid.cells(), true).box(Pencil::z)),
      planes_(Decomposition(processes, of_modes(grid), true).box(Pencil::y)),
      exchange_(stream, Decomposition(processes, of_modes(grid), true)), values_(stream, box_.size()),
      z_modes_(stream, box_.count[0] * box_.count[1] * of_modes(grid)[2]) {
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
    memory_[d] = device::Array<T>(stream, table);
    const T *at = memory_[d].data();
    tables_[d] = {static_cast<int>(n), !grid.periodic(static_cast<int>(d)), at, at + n, at + 2 * n};
  }
  const auto &[x, y, z] = tables_;
  if (z.cosine)
    ordered_ = device::Array<T>(stream, box_.size());
  if (!exchange_.is_free())
    y_modes_ = device::Array<Complex<T>>(stream, planes_.size());
  if (x.cosine || y.cosine)
    planes_ordered_ = device::Array<Complex<T>>(stream, planes_.size());
  transform_ = std::make_unique<Transform<T>>(stream, box_.count, planes_.count);
  if (grid.stretching) {
    const CoupledFactors<T> coupled = coupled_factors<T>(grid, interpolation, planes_);
    factors_ = device::Array<T>(stream, coupled.values);
    reach_ = coupled.reach;
  }
}

/// Copies into the order of cosines, or back.
template <class T>
template <class V>
void Poisson<T>::reorder(const V *from, V *to, const Index3 &points, const std::array<bool, 3> &cosine,
                         bool back) const {
  const int n[3] = {static_cast<int>(points[0]), static_cast<int>(points[1]), static_cast<int>(points[2])};
  device::launch<mode_threads>(stream_, {n[1], n[2]}, 0,
                               Reorder<V>{from, to, {n[0], n[1], n[2]}, {cosine[0], cosine[1], cosine[2]}, back});
}

template <class T> void Poisson<T>::solve() {
  const bool cosines = tables_[2].cosine;
  const std::array<bool, 3> only_z{false, false, true};
  T *const values = cosines ? ordered_.data() : values_.data();
  if (cosines)
    reorder(values_.data(), values, box_.count, only_z, false);
  transform_->z_forward(values, z_modes_.data());
  Complex<T> *const modes = exchange_.move(Pencil::z, Pencil::y, z_modes_.data(), y_modes_.data());
  solve_planes(modes);
  exchange_.move(Pencil::y, Pencil::z, modes, z_modes_.data());
  transform_->z_backward(z_modes_.data(), values);
  if (cosines)
    reorder(values, values_.data(), box_.count, only_z, true);
}

/// Along x and y, where this rank has whole planes of modes in z.
template <class T> void Poisson<T>::solve_planes(Complex<T> *modes) {
  const std::array<bool, 3> cosine{tables_[0].cosine, tables_[1].cosine, false};
  const bool ordered = cosine[0] || cosine[1];
  Complex<T> *const planes = ordered ? planes_ordered_.data() : modes;
  if (ordered)
    reorder(modes, planes, planes_.count, cosine, false);
  transform_->planes(planes, true);
  solve_modes(planes);
  transform_->planes(planes, false);
  if (ordered)
    reorder(planes, modes, planes_.count, cosine, true);
}

template <class T> void Poisson<T>::solve_modes(Complex<T> *modes) {
  const auto &[x, y, z] = tables_;
  const auto count_z = static_cast<int>(planes_.count[2]);
  const auto change = [&](Change what) {
    device::launch<mode_threads>(stream_, {y.points / 2 + 1, count_z}, 0,
                                 ChangeModes<T>{x, y, z, static_cast<int>(planes_.start[2]), what, scale_, modes});
  };
  if (reach_ == 0)
    return change(Change::divide);
  change(Change::to_cosines);
  device::launch<mode_threads>(stream_, {(x.points + mode_threads - 1) / mode_threads, count_z}, 0,
                               SolveCoupled<T>{factors_.data(), modes, x.points, y.points, reach_});
  change(Change::from_cosines);
}

template class Poisson<float>;
template class Poisson<double>;

} // namespace tailrace::gpu
