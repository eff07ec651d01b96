#pragma once

#include <tailrace/gpu/device_exchange.hpp>
#include <tailrace/gpu/systems.hpp>
#include <tailrace/ops/operator_equations.hpp>

#include <array>
#include <memory>

namespace tailrace::gpu {

/// Derivatives of the velocity from nodes to nodes, on a device: what ops::Operators does.
template <class T> class Derivatives {
public:
  /// `nodes`: split into slabs; `hyperviscosity`: of second derivatives.
  Derivatives(const device::Stream &stream, const grid::Grid &grid, const ops::Hyperviscosities &hyperviscosity,
              const grid::Decomposition &nodes);

  enum class Kind { first, second, hyperviscous };
  /// The derivative of velocity component i along d, in the memory of `out`. Collective.
  void operator()(Kind kind, int i, int d, const T *component, T *out);
  double seconds_of_exchange() const { return exchange_.seconds(); }

private:
  /// One of them along a direction, for a parity.
  struct Operator {
    Systems<T> systems; ///< the scheme; where stretched, the first derivative behind it
    device::Array<T> curvature;
  };
  static Operator make(const device::Stream &stream, const ops::OperatorEquations &equations);
  template <ops::Operation operation> void sweep(const Operator &of, ops::Parity parity, int d, const T *in, T *out);

  const device::Stream &stream_;
  grid::Grid grid_;
  Layout nodes_, z_nodes_;
  DeviceExchange<T> exchange_;
  std::array<std::array<std::array<Operator, 2>, 3>, 3> operators_; ///< [kind][d][odd, even]
  device::Array<T> z_in_, z_out_; ///< only where the Z pencil is another part than the slab
};

} // namespace tailrace::gpu
