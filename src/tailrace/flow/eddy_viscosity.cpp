#include <tailrace/flow/eddy_viscosity.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

EddyModel::Kind eddy_model_from_name(const std::string &name) {
  if (name == "smagorinsky")
    return EddyModel::Kind::smagorinsky;
  if (name == "wale")
    return EddyModel::Kind::wale;
  throw InputError(fmt::format("eddy viscosity '{}' is unknown; choose smagorinsky or wale", name));
}

EddyModel::Form eddy_form_from_name(const std::string &name) {
  if (name == "conservative")
    return EddyModel::Form::conservative;
  if (name == "xcompact3d")
    return EddyModel::Form::xcompact3d;
  throw InputError(
      fmt::format("the form '{}' of an eddy viscosity is unknown; choose conservative or xcompact3d", name));
}

namespace {
constexpr double karman = 0.4;

/// The number of entry i, j among the six entries of a symmetric tensor.
constexpr int entry(int i, int j) { return i == j ? i : i + j + 2; }

std::vector<double> part(const std::vector<double> &all, const Box &box, int d) {
  return {all.begin() + box.start[d], all.begin() + box.end(d)};
}

/// The node distances from which the width of the filter is computed.
std::vector<double> widths(const Grid &grid, int d, EddyModel::Form form) {
  std::vector<double> found(static_cast<std::size_t>(grid.nodes[d]), grid.spacing(d));
  if (form == EddyModel::Form::xcompact3d && grid.stretched(d)) {
    const std::vector<double> x = grid.coordinates(d);
    for (std::size_t i = 0; i + 1 < x.size(); ++i)
      found[i] = x[i + 1] - x[i];
    found.back() = found[found.size() - 2];
    return found;
  }
  const std::vector<double> metric = grid.metric(d);
  for (std::size_t i = 0; i < metric.size(); ++i)
    found[i] /= metric[i];
  return found;
}

std::vector<double> wall_distances(const Grid &grid, int d) {
  std::vector<double> x = grid.coordinates(d);
  const Sides &sides = grid.boundaries[d];
  for (double &value : x) {
    double least = std::numeric_limits<double>::infinity();
    if (sides.lower == Boundary::dirichlet)
      least = value;
    if (sides.upper == Boundary::dirichlet)
      least = std::min(least, grid.lengths[d] - value);
    value = least;
  }
  return x;
}
} // namespace

template <class T>
EddyViscosity<T>::EddyViscosity(const Grid &grid, const EddyModel &model, double viscosity,
                                const Hyperviscosities &hyperviscosity, std::shared_ptr<const ProcessGrid> processes,
                                TransposeMethod method)
    : grid_(grid), model_(model), viscosity_of_flow_(viscosity),
      operators_(grid, std::move(processes), method, Interpolation::aggressive, hyperviscosity),
      box_(operators_.box({})) {
  for (int d = 0; d < 3; ++d) {
    spacings_[d] = part(widths(grid, d, model.form), box_, d);
    wall_[d] = part(wall_distances(grid, d), box_, d);
  }
  for (auto &buffer : work_)
    buffer = operators_.take();
  for (auto &buffer : force_)
    buffer = operators_.take();
  viscosity_ = operators_.take();
}

template <class T> void EddyViscosity<T>::differentiate(const std::array<Field<T>, 3> &u) {
  std::vector<Term> terms;
  std::vector<T *> out;
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d) {
      terms.push_back({i, 3 * i + d, d, Operation::first_derivative, i == d ? Parity::odd : Parity::even, 1});
      out.push_back(work_[at++].data());
    }
  operators_.combine(terms, {u[0].data(), u[1].data(), u[2].data()}, out);
}

template <class T>
double EddyViscosity<T>::viscosity_at(const std::array<double, 9> &g, double width, double wall) const {
  double strain = 0; // S_ij S_ij
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const double s = 0.5 * (g[3 * i + j] + g[3 * j + i]);
      strain += s * s;
    }
  const double length = model_.constant * width;
  if (model_.kind == EddyModel::Kind::smagorinsky) {
    const double near = karman * wall;
    const bool damped = std::isfinite(near) && model_.form == EddyModel::Form::conservative;
    const double square = damped ? 1 / (1 / (length * length) + 1 / (near * near)) : length * length;
    return square * std::sqrt(2 * strain);
  }
  std::array<double, 9> square{}; // g_ik g_kj
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k)
        square[3 * i + j] += g[3 * i + k] * g[3 * k + j];
  const double third = (square[0] + square[4] + square[8]) / 3;
  double traceless = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const double s = 0.5 * (square[3 * i + j] + square[3 * j + i]) - (i == j ? third : 0);
      traceless += s * s;
    }
  const double below = std::pow(strain, 2.5) + std::pow(traceless, 1.25);
  return below > 0 ? length * length * std::pow(traceless, 1.5) / below : 0;
}

/// From the gradient to the eddy viscosity and the stress, or 2 S.
template <class T> void EddyViscosity<T>::make_stress() {
  std::int64_t p = 0;
  for (std::int64_t k = 0; k < box_.count[2]; ++k)
    for (std::int64_t j = 0; j < box_.count[1]; ++j)
      for (std::int64_t i = 0; i < box_.count[0]; ++i, ++p) {
        std::array<double, 9> g;
        for (std::size_t e = 0; e < 9; ++e)
          g[e] = static_cast<double>(work_[e][p]);
        const auto x = static_cast<std::size_t>(i), y = static_cast<std::size_t>(j), z = static_cast<std::size_t>(k);
        const double width = std::cbrt(spacings_[0][x] * spacings_[1][y] * spacings_[2][z]);
        const double nu = viscosity_at(g, width, std::min({wall_[0][x], wall_[1][y], wall_[2][z]}));
        viscosity_[p] = static_cast<T>(nu);
        const double factor = model_.form == EddyModel::Form::conservative ? nu : 1;
        for (int a = 0; a < 3; ++a)
          for (int b = a; b < 3; ++b)
            work_[entry(a, b)][p] = static_cast<T>(factor * (g[3 * a + b] + g[3 * b + a]));
      }
}

template <class T> void EddyViscosity<T>::diverge_stress() {
  std::vector<Term> terms;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) // a stress across a free-slip boundary is odd about it
      terms.push_back({entry(i, j), i, j, Operation::first_derivative, i == j ? Parity::even : Parity::odd, 1});
  std::vector<const T *> stress;
  for (std::size_t e = 0; e < 6; ++e)
    stress.push_back(work_[e].data());
  operators_.combine(terms, stress, {force_[0].data(), force_[1].data(), force_[2].data()});
}

/// nu_t lap u_i + 2 S_ij dnu_t/dx_j
template <class T> void EddyViscosity<T>::expand_stress(const std::array<Field<T>, 3> &u) {
  std::vector<Term> second, slopes;
  for (int d = 0; d < 3; ++d) {
    for (int i = 0; i < 3; ++i)
      second.push_back({i, i, d, Operation::second_derivative, i == d ? Parity::odd : Parity::even, 1});
    slopes.push_back({0, d, d, Operation::first_derivative, Parity::even, 1});
  }
  operators_.combine(second, {u[0].data(), u[1].data(), u[2].data()},
                     {force_[0].data(), force_[1].data(), force_[2].data()});
  operators_.combine(slopes, {viscosity_.data()}, {work_[6].data(), work_[7].data(), work_[8].data()});
  for (int i = 0; i < 3; ++i) {
    T *force = force_[static_cast<std::size_t>(i)].data();
    for (std::int64_t p = 0; p < box_.size(); ++p) {
      T sum = viscosity_[p] * force[p];
      for (std::size_t j = 0; j < 3; ++j)
        sum += work_[static_cast<std::size_t>(entry(i, static_cast<int>(j)))][p] * work_[6 + j][p];
      force[p] = sum;
    }
  }
}

template <class T> void EddyViscosity<T>::diffuse(const Scalar<T> &scalar, T *source) {
  std::vector<Term> slopes, fluxes;
  for (int d = 0; d < 3; ++d) {
    slopes.push_back({0, d, d, Operation::first_derivative, Parity::even, 1 / model_.schmidt});
    fluxes.push_back({d, 0, d, Operation::first_derivative, Parity::odd, 1});
  }
  operators_.combine(slopes, {scalar.values().data()}, {work_[0].data(), work_[1].data(), work_[2].data()});
  for (std::size_t d = 0; d < 3; ++d)
    for (std::int64_t p = 0; p < box_.size(); ++p)
      work_[d][p] *= viscosity_[p];
  operators_.combine(fluxes, {work_[0].data(), work_[1].data(), work_[2].data()}, {source});
}

/// (nu_t lap phi + dphi/dx_j dnu_t/dx_j) / Schmidt number of the scalar
template <class T> void EddyViscosity<T>::expand_diffusion(const Scalar<T> &scalar, T *source) {
  std::vector<Term> second, slopes;
  for (int d = 0; d < 3; ++d) {
    second.push_back({0, 0, d, Operation::second_derivative, Parity::even, 1});
    slopes.push_back({0, d, d, Operation::first_derivative, Parity::even, 1});
  }
  operators_.combine(second, {scalar.values().data()}, {source});
  operators_.combine(slopes, {scalar.values().data()}, {work_[0].data(), work_[1].data(), work_[2].data()});
  const T factor = static_cast<T>(scalar.options().diffusivity / viscosity_of_flow_);
  for (std::int64_t p = 0; p < box_.size(); ++p) {
    T sum = viscosity_[p] * source[p];
    for (std::size_t d = 0; d < 3; ++d)
      sum += work_[d][p] * work_[6 + d][p];
    source[p] = factor * sum;
  }
}

template <class T>
void EddyViscosity<T>::update(const std::array<Field<T>, 3> &u, const std::vector<Scalar<T>> &scalars) {
  const bool conservative = model_.form == EddyModel::Form::conservative;
  differentiate(u);
  make_stress();
  conservative ? diverge_stress() : expand_stress(u);
  while (sources_.size() < scalars.size())
    sources_.push_back(operators_.take());
  for (std::size_t number = 0; number < scalars.size(); ++number) {
    T *source = sources_[number].data();
    conservative ? diffuse(scalars[number], source) : expand_diffusion(scalars[number], source);
  }
}

template class EddyViscosity<float>;
template class EddyViscosity<double>;

} // namespace tailrace::flow
