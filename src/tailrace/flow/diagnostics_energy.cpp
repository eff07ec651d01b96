#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <algorithm>

// What changes the kinetic energy, with the schemes and at the nodes of the solver.

namespace tailrace::flow {

using namespace grid;
using namespace ops;

namespace {
bool has_work(const FlowOptions &options) {
  const auto any = [](const std::array<double, 3> &of) { return of[0] != 0 || of[1] != 0 || of[2] != 0; };
  return options.linear != 0 || any(options.acceleration) ||
         std::any_of(options.scalars.begin(), options.scalars.end(),
                     [&](const ScalarOptions &scalar) { return any(scalar.buoyancy); });
}
} // namespace

/// What viscosity takes from the energy along x, y and z, by second derivatives of these operators: those of the flow,
/// or those of sixth order. Around a body they are always those of the flow.
template <class T> std::array<double, 3> Diagnostics<T>::removed(Operators<T> &operators) {
  std::array<ExactSum, 3> sums;
  fresh_ = false; // the memory of the gradient holds second derivatives until the gradient is computed
  if (Accelerator<T> *const device = flow_.device()) {
    const auto rows = device->diffusion_of_rows(inside_[0], diffusion_ && &operators == &*diffusion_);
    for (std::size_t d = 0; d < 3; ++d)
      add_rows(sums[d], inside_, rows[d]);
  } else {
    const Index3 count = flow_.velocity(0).box().count;
    for (int i = 0; i < 3; ++i) {
      differentiate(operators, Operation::second_derivative, i, gradient_.data());
      for (std::size_t d = 0; d < 3; ++d)
        add_weighted<T>(sums[d], inside_, count, {{flow_.velocity(i).data(), gradient_[d].data()}});
    }
  }
  ExactSum::combine(flow_.nodes().comm(), sums);
  const double factor = -flow_.options().viscosity / static_cast<double>(product(flow_.grid().cells()));
  return {factor * sums[0].value(), factor * sums[1].value(), factor * sums[2].value()};
}

/// <u . field> of the nodes at which the solver integrates.
template <class T> double Diagnostics<T>::inside(const std::array<const T *, 3> &field) const {
  const Index3 count = flow_.velocity(0).box().count;
  ExactSum sum;
  add_weighted<T>(sum, inside_, count,
                  {{flow_.velocity(0).data(), field[0]},
                   {flow_.velocity(1).data(), field[1]},
                   {flow_.velocity(2).data(), field[2]}});
  sum.combine(flow_.nodes().comm());
  return sum.value() / static_cast<double>(product(flow_.grid().cells()));
}

template <class T> double Diagnostics<T>::energy() {
  if (Accelerator<T> *const device = flow_.device()) {
    ExactSum sum;
    for (int i = 0; i < 3; ++i)
      add_rows(sum, inside_, device->products_of_rows(i, i, inside_[0]));
    sum.combine(flow_.nodes().comm());
    return 0.5 * sum.value() / static_cast<double>(product(flow_.grid().cells()));
  }
  return 0.5 * inside({flow_.velocity(0).data(), flow_.velocity(1).data(), flow_.velocity(2).data()});
}

template <class T> double Diagnostics<T>::force_power() {
  return inside({flow_.force(0).data(), flow_.force(1).data(), flow_.force(2).data()});
}

template <class T> EnergyRates Diagnostics<T>::energy_rates() {
  const FlowOptions &options = flow_.options();
  EnergyRates rates{};
  if (diffusion_) {
    const std::array<double, 3> without = removed(operators_);
    for (std::size_t d = 0; d < 3; ++d)
      rates.hyperviscous += removed_[d] - without[d];
  }
  if (options.implicit_y)
    rates.implicit = removed_[1];
  if (options.eddy_model)
    rates.eddy = -inside(flow_.eddy_force());
  if (has_work(options)) {
    const auto forces = flow_.steady_force();
    rates.work = inside({forces[0].data(), forces[1].data(), forces[2].data()});
  }
  return rates;
}

template std::array<double, 3> Diagnostics<float>::removed(Operators<float> &);
template std::array<double, 3> Diagnostics<double>::removed(Operators<double> &);
template double Diagnostics<float>::energy();
template double Diagnostics<double>::energy();
template double Diagnostics<float>::force_power();
template double Diagnostics<double>::force_power();
template EnergyRates Diagnostics<float>::energy_rates();
template EnergyRates Diagnostics<double>::energy_rates();

} // namespace tailrace::flow
