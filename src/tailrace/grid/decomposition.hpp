#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/support/communicator.hpp>

#include <memory>
#include <vector>

namespace tailrace::grid {

/// A way to split a grid between ranks. A pencil is named after the direction that no rank boundary cuts.
enum class Pencil : int { x = 0, y = 1, z = 2 };

/// `rows x cols` ranks. The rank (row, col) is row * cols + col. Rows split y in X pencils and x in Y and Z pencils;
/// columns split z in X and Y pencils and y in Z pencils, so X<->Y moves data between rows and Y<->Z between columns.
class ProcessGrid {
public:
  /// Collective over `comm`. rows * cols must be its size. If one of them is 0, it follows from the other; if both are
  /// 0, the process grid is the slab 1 x size. Throws InputError otherwise.
  ProcessGrid(const Communicator &comm, int rows, int cols);

  const Communicator &comm() const { return comm_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int row() const { return comm_.rank() / cols_; }
  int col() const { return comm_.rank() % cols_; }
  /// The ranks of this column (they differ in row), which exchange data in X<->Y.
  const Communicator &across_rows() const { return across_rows_; }
  /// The ranks of this row (they differ in column), which exchange data in Y<->Z.
  const Communicator &across_cols() const { return across_cols_; }

private:
  Communicator comm_;
  int rows_, cols_;
  Communicator across_rows_, across_cols_;
};

/// First index of part `index` when n points are split into `parts` parts whose sizes differ by at most one, larger
/// parts first.
std::int64_t part_start(std::int64_t n, int parts, int index);

/// A global shape split over a process grid: the box of every rank in each pencil. Cheap to copy. What is split by rows
/// is split in pairs of points, unless there are too few: transforms of real values take neighbouring lines in pairs,
/// and their rounding errors are those of any number of ranks only if the pairs are.
class Decomposition {
public:
  /// Throws InputError if some rank would have no points, unless `may_be_empty` is set (spectral grids). Local.
  Decomposition(std::shared_ptr<const ProcessGrid> processes, Index3 shape, bool may_be_empty = false);

  const ProcessGrid &processes() const { return *processes_; }
  const std::shared_ptr<const ProcessGrid> &shared_processes() const { return processes_; }
  const Communicator &comm() const { return processes_->comm(); }
  const Index3 &shape() const { return shape_; }
  /// This rank's box in a pencil.
  Box box(Pencil pencil) const { return box(pencil, processes_->row(), processes_->col()); }
  Box box(Pencil pencil, int row, int col) const;

  /// All pairs (rows, cols) of process grids on which every rank has points of `shape`, slabs first. Local.
  static std::vector<std::pair<int, int>> process_grids(int size, const Index3 &shape);

private:
  std::shared_ptr<const ProcessGrid> processes_;
  Index3 shape_;
};

} // namespace tailrace::grid
