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

namespace {
constexpr double karman = 0.4;

/// Which of the six entries of a symmetric tensor is i, j.
constexpr int entry(int i, int j) { return i == j ? i : i + j + 2; }

std::vector<double> part(const std::vector<double> &all, const Box &box, int d) {
  return {all.begin() + box.start[d], all.begin() + box.end(d)};
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
EddyViscosity<T>::EddyViscosity(const Grid &grid, const EddyModel &model, std::shared_ptr<const ProcessGrid> processes,
                                TransposeMethod method)
    : grid_(grid), model_(model), operators_(grid, std::move(processes), method), box_(operators_.box({})) {
  for (int d = 0; d < 3; ++d) {
    std::vector<double> spacings(static_cast<std::size_t>(grid.nodes[d]), grid.spacing(d));
    const std::vector<double> metric = grid.metric(d);
    for (std::size_t i = 0; i < metric.size(); ++i)
      spacings[i] /= metric[i];
    spacings_[d] = part(spacings, box_, d);
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
    const double square = std::isinf(near) ? length * length : 1 / (1 / (length * length) + 1 / (near * near));
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

/// From the gradient to the eddy viscosity and the stress.
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
        for (int a = 0; a < 3; ++a)
          for (int b = a; b < 3; ++b)
            work_[entry(a, b)][p] = static_cast<T>(nu * (g[3 * a + b] + g[3 * b + a]));
      }
}

template <class T> void EddyViscosity<T>::update(const std::array<Field<T>, 3> &u, std::vector<Scalar<T>> &scalars) {
  differentiate(u);
  make_stress();
  std::vector<Term> terms;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) // a stress across a free-slip boundary is odd about it
      terms.push_back({entry(i, j), i, j, Operation::first_derivative, i == j ? Parity::even : Parity::odd, 1});
  std::vector<const T *> stress;
  for (std::size_t e = 0; e < 6; ++e)
    stress.push_back(work_[e].data());
  operators_.combine(terms, stress, {force_[0].data(), force_[1].data(), force_[2].data()});
  while (sources_.size() < scalars.size())
    sources_.push_back(operators_.take());
  for (std::size_t number = 0; number < scalars.size(); ++number) {
    std::vector<Term> slopes, fluxes;
    for (int d = 0; d < 3; ++d) {
      slopes.push_back({0, d, d, Operation::first_derivative, Parity::even, 1 / model_.schmidt});
      fluxes.push_back({d, 0, d, Operation::first_derivative, Parity::odd, 1});
    }
    operators_.combine(slopes, {scalars[number].values().data()}, {work_[0].data(), work_[1].data(), work_[2].data()});
    for (int d = 0; d < 3; ++d)
      for (std::int64_t p = 0; p < box_.size(); ++p)
        work_[static_cast<std::size_t>(d)][p] *= viscosity_[p];
    operators_.combine(fluxes, {work_[0].data(), work_[1].data(), work_[2].data()}, {sources_[number].data()});
  }
}

template class EddyViscosity<float>;
template class EddyViscosity<double>;

} // namespace tailrace::flow
