#include <tailrace/flow/diagnostics.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

namespace {

using Gradient = std::array<std::array<double, 3>, 3>;

std::array<double, 3> vorticity(const Gradient &g) { return {g[2][1] - g[1][2], g[0][2] - g[2][0], g[1][0] - g[0][1]}; }

double square(const std::array<double, 3> &v) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

double strain_square(const Gradient &g) {
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double s = 0.5 * (g[i][j] + g[j][i]);
      sum += s * s;
    }
  return sum;
}

} // namespace

template <class T>
Diagnostics<T>::Diagnostics(NavierStokes<T> &flow, std::shared_ptr<const ProcessGrid> processes, TransposeMethod method)
    : flow_(flow), operators_(flow.grid(), std::move(processes), method, flow.options().interpolation) {}

template <class T> void Diagnostics<T>::apply(Operation operation, int component, int direction, T *out) {
  const Parity parity = component == direction ? Parity::odd : Parity::even;
  operators_.apply(operation, direction, parity, {false, false, false}, flow_.velocity(component).data(), out);
}

template <class T> void Diagnostics<T>::compute_gradient() {
  if (fresh_)
    return;
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d) {
      if (gradient_[i][d].size() == 0)
        gradient_[i][d] = Field<T>(flow_.velocity(0).box());
      apply(Operation::first_derivative, i, d, gradient_[i][d].data());
    }
  fresh_ = true;
}

template <class T> auto Diagnostics<T>::at(std::int64_t point) const -> Gradient {
  Gradient g;
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d)
      g[i][d] = static_cast<double>(gradient_[i][d].data()[point]);
  return g;
}

/// The volume average of function(point), trapezoidal where both ends are nodes.
template <class T> template <class Function> double Diagnostics<T>::average(Function function) const {
  const Grid &grid = flow_.grid();
  const Box box = flow_.velocity(0).box();
  const auto weight = [&](int d, std::int64_t i) {
    return !grid.periodic(d) && (i == 0 || i == grid.nodes[d] - 1) ? 0.5 : 1.0;
  };
  double sum = 0;
  std::int64_t point = 0;
  for (std::int64_t k = box.start[2]; k < box.end(2); ++k)
    for (std::int64_t j = box.start[1]; j < box.end(1); ++j) {
      double row = 0;
      for (std::int64_t i = box.start[0]; i < box.end(0); ++i)
        row += weight(0, i) * function(point++);
      sum += weight(1, j) * weight(2, k) * row;
    }
  return flow_.nodes().comm().sum(sum) / static_cast<double>(product(grid.cells()));
}

template <class T> FlowNumbers Diagnostics<T>::numbers(double dt) {
  FlowNumbers numbers{};
  const T *u[3] = {flow_.velocity(0).data(), flow_.velocity(1).data(), flow_.velocity(2).data()};
  const double nu = flow_.options().viscosity;
  numbers.kinetic_energy = average([&](std::int64_t p) {
    return 0.5 * square({static_cast<double>(u[0][p]), static_cast<double>(u[1][p]), static_cast<double>(u[2][p])});
  });
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 3; ++d) {
      if (gradient_[0][0].size() == 0)
        gradient_[0][0] = Field<T>(flow_.velocity(0).box());
      fresh_ = false; // its memory serves as scratch here
      T *second = gradient_[0][0].data();
      apply(Operation::second_derivative, i, d, second);
      numbers.dissipation_laplacian -=
          nu * average([&](std::int64_t p) { return static_cast<double>(u[i][p]) * static_cast<double>(second[p]); });
    }
  compute_gradient();
  numbers.dissipation = average([&](std::int64_t p) { return 2 * nu * strain_square(at(p)); });
  numbers.enstrophy = average([&](std::int64_t p) { return 0.5 * square(vorticity(at(p))); });
  numbers.max_divergence = flow_.max_divergence();
  double cfl = 0;
  for (std::int64_t p = 0; p < flow_.velocity(0).size(); ++p) {
    double sum = 0;
    for (int d = 0; d < 3; ++d)
      sum += std::fabs(static_cast<double>(u[d][p])) / flow_.grid().spacing(d);
    cfl = std::max(cfl, sum * dt);
  }
  numbers.cfl = flow_.nodes().comm().max(cfl);
  return numbers;
}

template <class T> void Diagnostics<T>::derive(const std::string &name, T *out) {
  if (name == "pressure")
    return flow_.pressure(out);
  const std::int64_t points = flow_.velocity(0).size();
  const auto fill = [&](auto function) {
    compute_gradient();
    for (std::int64_t p = 0; p < points; ++p)
      out[p] = static_cast<T>(function(at(p)));
  };
  if (name == "vorticity")
    fill([](const Gradient &g) { return std::sqrt(square(vorticity(g))); });
  else if (name == "vorticity_x" || name == "vorticity_y" || name == "vorticity_z")
    fill([&](const Gradient &g) { return vorticity(g)[static_cast<std::size_t>(name.back() - 'x')]; });
  else if (name == "q")
    fill([](const Gradient &g) { return 0.25 * square(vorticity(g)) - 0.5 * strain_square(g); });
  else
    throw InputError(
        fmt::format("derived field '{}' is unknown; choose vorticity, vorticity_x, vorticity_y, vorticity_z, q or "
                    "pressure",
                    name));
}

template <class T> std::optional<BadPoint> Diagnostics<T>::find_bad_point() const {
  const Communicator &comm = flow_.nodes().comm();
  const Box box = flow_.velocity(0).box();
  std::int64_t found = -1;
  for (std::int64_t p = 0; p < box.size() && found < 0; ++p)
    for (int i = 0; i < 3 && found < 0; ++i)
      if (!std::isfinite(flow_.velocity(i).data()[p]))
        found = 3 * p + i;
  const std::int64_t lowest = -comm.max(found < 0 ? -std::int64_t{comm.size()} : -std::int64_t{comm.rank()});
  if (lowest == comm.size())
    return std::nullopt;
  const std::int64_t p = std::max<std::int64_t>(found, 0) / 3;
  std::int64_t numbers[4] = {found % 3, box.start[0] + p % box.count[0], box.start[1] + p / box.count[0] % box.count[1],
                             box.start[2] + p / (box.count[0] * box.count[1])};
  check_mpi(MPI_Bcast(numbers, 4, MPI_INT64_T, static_cast<int>(lowest), comm.get()), "MPI_Bcast");
  return BadPoint{static_cast<int>(numbers[0]), {numbers[1], numbers[2], numbers[3]}};
}

template class Diagnostics<float>;
template class Diagnostics<double>;

} // namespace tailrace::flow
