#pragma once

#include <tailrace/grid/exchange.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/line_system.hpp>

#include <map>

namespace tailrace {

/// The solver's own compact operators on distributed fields, along any direction. Arrays are this rank's X pencils;
/// data cross ranks only where the direction is not whole there.
template <class T> class Operators {
public:
  Operators(const Grid &grid, std::shared_ptr<const ProcessGrid> processes, TransposeMethod method,
            Interpolation interpolation = Interpolation::aggressive);

  const Grid &grid() const { return grid_; }
  /// Shape of a field that is on the nodes in every direction but those in `centred`, where it is on the cell centres.
  Index3 shape(const std::array<bool, 3> &centred) const;
  /// This rank's X pencil of that shape.
  Box box(const std::array<bool, 3> &centred) const;

  /// out = the operator applied along `direction` to `in`, whose points are where `centred` tells. `parity` is that of
  /// `in` in that direction (free-slip only). A node-to-centre operator needs nodes there, a centre-to-node one
  /// centres; the result's box differs accordingly. InputError otherwise. `in` and `out` must not overlap. `filter` is
  /// the alpha of a filter. Collective.
  void apply(Operation operation, int direction, Parity parity, const std::array<bool, 3> &centred, const T *in, T *out,
             double filter = 0);

private:
  Exchange<T> &exchange(const Index3 &shape);
  const LineSystem<T> &system(Operation operation, int direction, Parity parity, double filter = 0);

  Grid grid_;
  std::shared_ptr<const ProcessGrid> processes_;
  TransposeMethod method_;
  Interpolation interpolation_;
  std::shared_ptr<Workspace> workspace_ = std::make_shared<Workspace>();
  std::map<Index3, Exchange<T>> exchanges_;
  std::map<std::tuple<Operation, int, Parity, double>, LineSystem<T>> systems_;
  Buffer<T> y_in_, z_in_, y_out_, z_out_;
};

} // namespace tailrace
