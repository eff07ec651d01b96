#pragma once

#include <tailrace/flow/boundary_faces.hpp>
#include <tailrace/flow/scalar_transport.hpp>
#include <tailrace/flow/time_integration.hpp>
#include <tailrace/grid/exchange.hpp>

#include <limits>

namespace tailrace::flow {

/// The value of a scalar at a Dirichlet end.
enum class ScalarEnd {
  given,     ///< the given value
  no_flux,   ///< the value of the next node; if the scalar settles towards this end, the deposit
  convected, ///< the value that the flow carries out; only at an outflow
  free,      ///< the value from its equation, as inside; nothing is imposed
};

/// A scalar besides its values.
struct ScalarOptions {
  double diffusivity;
  grid::Boundaries boundaries; ///< periodic as the grid; at the other ends Dirichlet, or free-slip: no flux
  std::array<std::array<ScalarEnd, 2>, 3> ends{}; ///< [direction][upper], where Dirichlet
  std::array<double, 3> buoyancy{};               ///< acceleration of the flow, for a scalar of one
  std::array<double, 3> settling{};               ///< velocity at which the scalar moves through the flow
  double deposit_distance = 0; ///< from an end where it settles to the next node; 0: that of the grid
  double least = -std::numeric_limits<double>::infinity(), most = -least; ///< it is clipped to these after each stage
};

/// A scalar that a flow carries: its values, its right-hand sides and its values at the ends. Lives in X pencils.
template <class T> class Scalar {
public:
  /// `nodes`: the exchange of the flow; `stored`: how many right-hand sides are kept; `implicit_y`: whether diffusion
  /// along y is implicit. Collective. Throws InputError for boundaries that do not fit those of the grid, or, at ends
  /// of an implicit y, are ScalarEnd::no_flux or ScalarEnd::free.
  Scalar(const grid::Grid &grid, const ScalarOptions &options, grid::Exchange<T> &nodes, int stored,
         const ops::Hyperviscosities &hyperviscosity, bool implicit_y = false);

  const ScalarOptions &options() const { return options_; }
  grid::Field<T> &values() { return values_; }
  const grid::Field<T> &values() const { return values_; }
  /// The given values at an end of direction d; empty on ranks without this end. Throws InputError if none are given.
  grid::Field<T> &given(int d, bool upper);
  /// The right-hand side of `age` stages ago; 1 is the newest.
  grid::Field<T> &history(int age) { return right_hand_sides_[(newest_ + age - 1) % right_hand_sides_.size()]; }

  /// The values at Dirichlet ends, at the start of a stage of this length; `speed`: of the outflow. At ends of an
  /// implicit y, only `change`. Local.
  void impose(double duration, double speed);
  /// With an implicit y: the change of the values at a Dirichlet end of y in this stage, after which they are the given
  /// ones; null at other ends.
  const grid::Field<T> *change(bool upper) const;
  /// Makes room for the right-hand side of a new stage, and returns it.
  grid::Field<T> &begin_stage();
  const ScalarTransport<T> &transport(int d) const { return transports_[d]; }
  void clip(T *values, std::int64_t count) const;

private:
  struct End {
    Face<T> face; ///< only the first `value` is used
    ScalarEnd kind;
    grid::Field<T> change; ///< no memory where it is not needed
  };
  void impose(End &end, double duration, double speed);

  grid::Grid grid_;
  ScalarOptions options_;
  bool implicit_y_;
  std::array<ScalarTransport<T>, 3> transports_;
  grid::Field<T> values_;
  std::vector<grid::Field<T>> right_hand_sides_;
  std::size_t newest_ = 0;
  std::vector<End> ends_;
};

} // namespace tailrace::flow
