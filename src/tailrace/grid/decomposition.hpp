#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/support/communicator.hpp>

#include <memory>
#include <vector>

namespace tailrace::grid {

/// A pencil is named after the direction that is whole on every rank.
enum class Pencil : int { x = 0, y = 1, z = 2 };

/// `rows x cols` ranks. The rank (row, col) is row * cols + col. Rows split y in X pencils and x in Y and Z pencils;
/// columns split z in X and Y pencils and y in Z pencils, so X<->Y moves data between rows and Y<->Z between columns.
class ProcessGrid {
public:
  /// Collective over `comm`. rows * cols must be its size; 0 for one of them means "what the other leaves", 0 for both
  /// the slab 1 x size. InputError otherwise.
  ProcessGrid(const Communicator &comm, int rows, int cols);

  const Communicator &comm() const { return comm_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int row() const { return comm_.rank() / cols_; }
  int col() const { return comm_.rank() % cols_; }
  /// The ranks of this column (they differ in row): who meets in X<->Y.
  const Communicator &across_rows() const { return across_rows_; }
  /// The ranks of this row (they differ in column): who meets in Y<->Z.
  const Communicator &across_cols() const { return across_cols_; }

private:
  Communicator comm_;
  int rows_, cols_;
  Communicator across_rows_, across_cols_;
};

/// Where part `index` of `parts` starts when n points are shared as evenly as whole numbers allow, larger parts first.
std::int64_t part_start(std::int64_t n, int parts, int index);

/// A global shape shared over a process grid: the box of every rank in each pencil. Cheap to copy.
class Decomposition {
public:
  /// Local. InputError where a rank would get nothing, unless `may_be_empty` (spectral grids).
  Decomposition(std::shared_ptr<const ProcessGrid> processes, Index3 shape, bool may_be_empty = false);

  const ProcessGrid &processes() const { return *processes_; }
  const Communicator &comm() const { return processes_->comm(); }
  const Index3 &shape() const { return shape_; }
  /// This rank's box in a pencil.
  Box box(Pencil pencil) const { return box(pencil, processes_->row(), processes_->col()); }
  Box box(Pencil pencil, int row, int col) const;

  /// Every process grid on which each rank gets a part of `shape`, slabs first.
  static std::vector<std::pair<int, int>> process_grids(int size, const Index3 &shape);

private:
  std::shared_ptr<const ProcessGrid> processes_;
  Index3 shape_;
};

} // namespace tailrace::grid
