#pragma once

#include <array>
#include <cstddef>

namespace tailrace::flow {

/// The forces on the momentum that follow from the velocity alone, for all components.
struct SteadyForces {
  std::array<double, 3> acceleration, coriolis; ///< see FlowOptions
  double linear;
  std::array<double, 3> mean; ///< of the velocity, where linear forcing needs it

  bool any() const { return acceleration != zero || coriolis != zero || linear != 0; }
  static constexpr std::array<double, 3> zero{};
};

/// Those on component i:  a + linear (u - mean) - c x u,  with  (c x u)_i = c_next u_last - c_last u_next.
template <class T> struct SteadyForce {
  T constant, with_next, with_last, linear, mean;

  SteadyForce(const SteadyForces &of, std::size_t i)
      : constant(static_cast<T>(of.acceleration[i])), with_next(static_cast<T>(of.coriolis[(i + 2) % 3])),
        with_last(static_cast<T>(-of.coriolis[(i + 1) % 3])), linear(static_cast<T>(of.linear)),
        mean(static_cast<T>(of.mean[i])) {}

  /// At a point: u is component i there, `next` and `last` are the components after and before it in cyclic order.
  constexpr T operator()(T u, T next, T last) const {
    return constant + (with_last * last + with_next * next) + linear * (u - mean);
  }
};

} // namespace tailrace::flow
