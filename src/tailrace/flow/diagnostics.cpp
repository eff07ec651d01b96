#include <tailrace/flow/diagnostics.hpp>

#include <tailrace/ops/invariants.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

namespace {

/// The curl of the velocity from g[3 * i + d] = d u_i / d x_d.
std::array<double, 3> vorticity(const std::array<double, 9> &g) { return {g[7] - g[5], g[2] - g[6], g[3] - g[1]}; }

/// Weights of the nodes of this box, in units of a cell of the uniform coordinates; `inside`: zero at ends with given
/// values.
Weights node_weights(const Grid &grid, const Box &box, bool inside) {
  Weights weights;
  for (int d = 0; d < 3; ++d) {
    std::vector<double> all = grid.weights(d);
    if (inside && grid.boundaries[d].lower == Boundary::dirichlet)
      all.front() = 0;
    if (inside && grid.boundaries[d].upper == Boundary::dirichlet)
      all.back() = 0;
    weights[static_cast<std::size_t>(d)].assign(all.begin() + box.start[d], all.begin() + box.end(d));
  }
  return weights;
}

bool has_any(const Hyperviscosities &given) {
  return std::any_of(given.begin(), given.end(), [](const auto &one) { return one.has_value(); });
}

} // namespace

template <class T>
Diagnostics<T>::Diagnostics(NavierStokes<T> &flow, std::shared_ptr<const ProcessGrid> processes, TransposeMethod method)
    : flow_(flow), operators_(flow.grid(), processes, method, flow.options().interpolation),
      weights_(node_weights(flow.grid(), flow.velocity(0).box(), false)),
      inside_(node_weights(flow.grid(), flow.velocity(0).box(), true)) {
  if (has_any(flow.options().hyperviscosity))
    diffusion_.emplace(flow.grid(), processes, method, flow.options().interpolation, flow.options().hyperviscosity);
  if (flow.exchange().is_free(Pencil::x, Pencil::y)) // then the other ranks reach the velocity
    for (int i = 0; i < 3; ++i) {
      operators_.register_shared(flow.velocity(i).data());
      if (diffusion_)
        diffusion_->register_shared(flow.velocity(i).data());
    }
}

/// The derivatives of component i along x, y and z. One component at a time, so that little memory is needed where
/// data move between ranks.
template <class T>
void Diagnostics<T>::differentiate(Operators<T> &operators, Operation operation, int i, Buffer<T> *out) {
  for (int d = 0; d < 3; ++d)
    if (out[d].size() == 0)
      out[d] = operators_.take();
  if (flow_.body() != nullptr)
    return differentiate_around_body(operation, i, out);
  std::vector<Term> terms;
  for (int d = 0; d < 3; ++d) {
    terms.push_back({0, d, d, operation, i == d ? Parity::odd : Parity::even, 1});
  }
  operators.combine(terms, {flow_.velocity(i).data()}, {out[0].data(), out[1].data(), out[2].data()});
}

/// The same, from lines that are rebuilt in the body, and zero there.
template <class T> void Diagnostics<T>::differentiate_around_body(Operation operation, int i, Buffer<T> *out) {
  if (!derivative_)
    derivative_.emplace(flow_);
  const Field<std::uint8_t> &solid = flow_.body()->solid();
  for (int d = 0; d < 3; ++d) {
    const T *values = (*derivative_)(i, d, operation);
    for (std::int64_t p = 0; p < solid.size(); ++p)
      out[d][p] = solid.data()[p] != 0 ? T(0) : values[p];
  }
}

template <class T> auto Diagnostics<T>::gradient() -> std::array<const T *, 9> {
  for (int i = 0; i < 3 && !fresh_; ++i)
    differentiate(operators_, Operation::first_derivative, i, gradient_.data() + 3 * i);
  fresh_ = true;
  std::array<const T *, 9> arrays;
  for (std::size_t e = 0; e < 9; ++e)
    arrays[e] = gradient_[e].data();
  return arrays;
}

template <class T> void Diagnostics<T>::add_products(std::array<ExactSum, 4> &sums) {
  const T *u[3] = {flow_.velocity(0).data(), flow_.velocity(1).data(), flow_.velocity(2).data()};
  const Index3 count = flow_.velocity(0).box().count;
  using Pairs = std::vector<std::pair<const T *, const T *>>;
  const auto add = [&](std::size_t which, const Pairs &pairs) { add_weighted(sums[which], weights_, count, pairs); };
  const auto g = gradient();
  add(0, {{u[0], u[0]}, {u[1], u[1]}, {u[2], u[2]}});
  add(1, {{g[0], g[0]}, {g[4], g[4]}, {g[8], g[8]}});
  add(2, {{g[1], g[1]}, {g[2], g[2]}, {g[3], g[3]}, {g[5], g[5]}, {g[6], g[6]}, {g[7], g[7]}});
  add(3, {{g[1], g[3]}, {g[2], g[6]}, {g[5], g[7]}});
}

template <class T> void Diagnostics<T>::add_products(Accelerator<T> &device, std::array<ExactSum, 4> &sums) {
  for (int i = 0; i < 3; ++i)
    add_rows(sums[0], weights_, device.products_of_rows(i, i, weights_[0]));
  const auto of_gradient = device.gradients_of_rows(weights_[0]);
  for (std::size_t which = 0; which < 3; ++which)
    add_rows(sums[which + 1], weights_, of_gradient[which]);
}

template <class T> VolumeAverages Diagnostics<T>::averages(double dt) {
  std::array<ExactSum, 4> sums; // of u . u, of g_ii^2, of the other g_ij^2, and of g_ij g_ji with i < j
  removed_ = removed(diffusion_ ? *diffusion_ : operators_);
  if (Accelerator<T> *const device = flow_.device())
    add_products(*device, sums);
  else
    add_products(sums);
  ExactSum::combine(flow_.nodes().comm(), sums);
  const auto mean = [&](std::size_t which) {
    return sums[which].value() / static_cast<double>(product(flow_.grid().cells()));
  };
  const double across = mean(2), mixed = mean(3);
  const double dissipation = flow_.options().viscosity * (2 * mean(1) + across + 2 * mixed);
  const double laplacian = removed_[0] + removed_[1] + removed_[2];
  return {0.5 * mean(0), dissipation, laplacian, 0.5 * across - mixed, flow_.max_divergence(), flow_.rate() * dt};
}

template <class T> std::array<double, 3> Diagnostics<T>::mean_gradient(int d, bool upper) {
  const Face<T> &face = flow_.face(d, upper);
  const auto g = gradient();
  const Box box = flow_.velocity(0).box();
  std::array<ExactSum, 4> sums;
  Weights weights = weights_;
  weights[static_cast<std::size_t>(d)].assign(weights[static_cast<std::size_t>(d)].size(), 1);
  std::array<std::int64_t, 3> at{};
  const Index3 &n = face.box.count;
  const auto weight = [&](std::size_t direction, std::int64_t node) {
    return weights[direction][static_cast<std::size_t>(node - box.start[direction])];
  };
  for_nodes(face, box, 0, [&](std::int64_t here, std::int64_t offset) {
    at = {here % n[0], here / n[0] % n[1], here / (n[0] * n[1])};
    double share = 1;
    for (std::size_t each = 0; each < 3; ++each)
      share *= weight(each, face.box.start[each] + at[each]);
    for (int i = 0; i < 3; ++i)
      sums[i].add(share * static_cast<double>(g[3 * i + d][offset]));
    sums[3].add(share);
  });
  ExactSum::combine(flow_.nodes().comm(), sums);
  const double all = sums[3].value();
  return {sums[0].value() / all, sums[1].value() / all, sums[2].value() / all};
}

template <class T> void Diagnostics<T>::derive(const std::string &name, T *out) {
  if (name == "pressure")
    return flow_.pressure(out);
  const std::int64_t points = flow_.velocity(0).size();
  const auto fill = [&](auto of_vorticity) {
    const auto g = gradient();
    for (std::int64_t p = 0; p < points; ++p) {
      std::array<double, 9> here;
      for (std::size_t e = 0; e < 9; ++e)
        here[e] = static_cast<double>(g[e][p]);
      out[p] = static_cast<T>(of_vorticity(vorticity(here)));
    }
  };
  if (name == "vorticity")
    fill([](const auto &w) { return std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]); });
  else if (name == "vorticity_x" || name == "vorticity_y" || name == "vorticity_z")
    fill([&](const auto &w) { return w[static_cast<std::size_t>(name.back() - 'x')]; });
  else if (name == "q")
    invariant(Invariant::q, gradient(), points, out);
  else
    throw InputError(
        fmt::format("derived field '{}' is unknown; choose vorticity, vorticity_x, vorticity_y, vorticity_z, q or "
                    "pressure",
                    name));
}

template <class T> std::optional<BadPoint> Diagnostics<T>::find_bad_point() const {
  if (std::isfinite(flow_.rate()))
    return std::nullopt;
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
  const Index3 node{box.start[0] + p % box.count[0], box.start[1] + p / box.count[0] % box.count[1],
                    box.start[2] + p / (box.count[0] * box.count[1])};
  return comm.broadcast_value(BadPoint{static_cast<int>(found % 3), node}, static_cast<int>(lowest));
}

template class Diagnostics<float>;
template class Diagnostics<double>;

} // namespace tailrace::flow
