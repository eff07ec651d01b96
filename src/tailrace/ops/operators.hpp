#pragma once

#include <tailrace/grid/field_pool.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/apply.hpp>

#include <map>

namespace tailrace::ops {

/// One term of a sum: `factor` times a node-to-node derivative of array number `input` is added to array number
/// `output`.
struct Term {
  int input, output, direction;
  Operation operation;
  Parity parity; ///< of the input in that direction (free-slip only)
  double factor;
};

/// The solver's compact operators on distributed fields, along any direction. Arrays are this rank's X pencils; data
/// move between ranks only for directions that are not whole in X pencils.
template <class T> class Operators {
public:
  /// `hyperviscosity`: of the second derivatives along x, y and z, which are those of sixth order without it.
  Operators(const grid::Grid &grid, std::shared_ptr<const grid::ProcessGrid> processes, grid::TransposeMethod method,
            Interpolation interpolation = Interpolation::aggressive, const Hyperviscosities &hyperviscosity = {});

  const grid::Grid &grid() const { return grid_; }
  /// Shape of a field that is on the nodes in every direction but those in `centred`, where it is on the cell centres.
  grid::Index3 shape(const std::array<bool, 3> &centred) const;
  /// This rank's X pencil of that shape.
  grid::Box box(const std::array<bool, 3> &centred) const;

  /// out = the operator applied along `direction` to `in`, whose points are on the cell centres in the directions of
  /// `centred` and on the nodes in the others. `parity` is that of `in` in `direction` (free-slip only). An operator
  /// from nodes to centres needs nodes in `direction`, one from centres to nodes needs centres, and `out` has the box
  /// of the result; throws InputError otherwise. `in` and `out` must not overlap. `filter` is the alpha of a filter.
  /// Collective.
  void apply(Operation operation, int direction, Parity parity, const std::array<bool, 3> &centred, const T *in, T *out,
             double filter = 0);

  /// out[o] = the sum of all terms with output o: gradients, curls, divergences, Laplacians, of several fields at once.
  /// Fields are on the nodes. Terms are added in the order z, y, x, so that every decomposition gives the same bits.
  /// All fields move between ranks in the same messages; those in shared memory (see `take`) do not move within a node.
  /// Throws InputError for terms with numbers out of range or operations that are not node to node, and for outputs
  /// without a term. No output may overlap an input. Collective.
  void combine(const std::vector<Term> &terms, const std::vector<const T *> &in, const std::vector<T *> &out);

  /// Memory for a field on the nodes, from the pool; see FieldPool. Local.
  grid::Buffer<T> take(bool reach = true) { return pool_.take(reach); }
  /// The array is one of the solver's, which all ranks of this object can reach in place; see FieldPool. Local.
  void register_shared(const T *array) { pool_.register_shared(array); }

private:
  struct Sum;
  grid::Exchange<T> &exchange(const grid::Index3 &shape);
  const LineOperator<T> &line_operator(Operation operation, int direction, Parity parity, double factor = 1,
                                       double filter = 0);
  void check(const std::vector<Term> &terms, std::size_t inputs, std::size_t outputs) const;
  void sweep_z(Sum &sum, const std::vector<T *> &in, const std::vector<T *> &out);
  void sweep_z_reaching(Sum &sum, const std::vector<T *> &in, const std::vector<T *> &out);
  void sweep_planes(Sum &sum, const std::vector<T *> &in, const std::vector<T *> &out);
  void sweep_term(Sum &sum, const Term &term, const grid::Lines &lines, const T *in, T *out, bool add);
  std::vector<T *> scratch(grid::Pencil pencil, int which, const std::vector<bool> &wanted);

  grid::Grid grid_;
  std::shared_ptr<const grid::ProcessGrid> processes_;
  grid::TransposeMethod method_;
  Interpolation interpolation_;
  Hyperviscosities hyperviscosity_;
  std::shared_ptr<grid::Workspace> workspace_ = std::make_shared<grid::Workspace>();
  std::map<grid::Index3, grid::Exchange<T>> exchanges_;
  std::map<std::tuple<Operation, int, Parity, double, double>, LineOperator<T>> line_operators_;
  grid::Buffer<T> y_in_, z_in_, y_out_, z_out_;
  grid::Exchange<T> nodes_; ///< of arrays in the pool, which may be in memory that ranks share
  grid::FieldPool<T> pool_;
  std::map<std::pair<grid::Pencil, int>, std::vector<grid::Buffer<T>>> scratch_;
};

} // namespace tailrace::ops
