#pragma once

#include <limits>

namespace tailrace::flow {

/// The sum |u_d| / h_d at a node, by which time steps are limited; infinite where a component is not a number.
/// `inverse`: 1 / h_d, where h_d is the least distance from a neighbour along d.
template <class T> constexpr double node_rate(T ux, T uy, T uz, double inverse_x, double inverse_y, double inverse_z) {
  const auto size = [](T u) { return u < 0 ? -static_cast<double>(u) : static_cast<double>(u); };
  const double sum = size(ux) * inverse_x + size(uy) * inverse_y + size(uz) * inverse_z;
  return sum == sum ? sum : std::numeric_limits<double>::infinity();
}

} // namespace tailrace::flow
