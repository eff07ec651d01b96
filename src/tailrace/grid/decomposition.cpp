#include <tailrace/grid/decomposition.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::grid {

namespace {

std::pair<int, int> complete(int size, int rows, int cols) {
  if (rows < 0 || cols < 0)
    throw InputError(fmt::format("process grid {} x {}: rows and cols cannot be negative", rows, cols));
  if (rows == 0 && cols == 0)
    rows = 1;
  if (rows == 0 && size % cols == 0)
    rows = size / cols;
  if (cols == 0 && size % rows == 0)
    cols = size / rows;
  if (rows * cols != size)
    throw InputError(
        fmt::format("process grid {} x {} does not fit {} ranks; rows * cols must be the number of ranks, or 0 "
                    "to have them chosen",
                    rows, cols, size));
  return {rows, cols};
}

/// The directions that the rows and the columns of the process grid split in a pencil.
constexpr int split_by_rows(Pencil pencil) { return pencil == Pencil::x ? 1 : 0; }
constexpr int split_by_cols(Pencil pencil) { return pencil == Pencil::z ? 1 : 2; }

bool fits(const Index3 &shape, int rows, int cols) {
  return rows <= std::min(shape[0], shape[1]) && cols <= std::min(shape[1], shape[2]);
}

} // namespace

ProcessGrid::ProcessGrid(const Communicator &comm, int rows, int cols)
    : comm_(comm), rows_(complete(comm.size(), rows, cols).first), cols_(complete(comm.size(), rows, cols).second),
      across_rows_(comm.split(col(), row())), across_cols_(comm.split(row(), col())) {}

std::int64_t part_start(std::int64_t n, int parts, int index) {
  return index * (n / parts) + std::min<std::int64_t>(index, n % parts);
}

Decomposition::Decomposition(std::shared_ptr<const ProcessGrid> processes, Index3 shape, bool may_be_empty)
    : processes_(std::move(processes)), shape_(shape) {
  const int rows = processes_->rows(), cols = processes_->cols();
  if (may_be_empty || fits(shape, rows, cols))
    return;
  throw InputError(
      fmt::format("{} ranks as {} rows x {} cols are too many for {} x {} x {} points: rows may be at most {} "
                  "(x and y are split by rows) and cols at most {} (y and z are split by cols); use fewer ranks",
                  rows * cols, rows, cols, shape[0], shape[1], shape[2], std::min(shape[0], shape[1]),
                  std::min(shape[1], shape[2])));
}

Box Decomposition::box(Pencil pencil, int row, int col) const {
  Box box{{0, 0, 0}, shape_};
  const auto split = [&](int d, int parts, int index, bool in_pairs) {
    const auto start = [&](int part) {
      if (in_pairs) // an odd last point is in the last part, which then has three at least
        return part == parts ? shape_[d] : 2 * part_start(shape_[d] / 2, parts, part);
      return part_start(shape_[d], parts, part);
    };
    box.start[d] = start(index);
    box.count[d] = start(index + 1) - box.start[d];
  };
  const int rows = processes_->rows(), d = split_by_rows(pencil);
  split(d, rows, row, rows <= shape_[d] / 2);
  split(split_by_cols(pencil), processes_->cols(), col, false);
  return box;
}

std::vector<std::pair<int, int>> Decomposition::process_grids(int size, const Index3 &shape) {
  std::vector<std::pair<int, int>> grids, in_pairs;
  for (int rows = 1; rows <= size; ++rows)
    if (size % rows == 0 && fits(shape, rows, size / rows)) {
      grids.emplace_back(rows, size / rows);
      if (2 * rows < std::min(shape[0], shape[1])) // so that cells, of which there may be one fewer, are split in pairs
        in_pairs.emplace_back(rows, size / rows);
    }
  return in_pairs.empty() ? grids : in_pairs;
}

} // namespace tailrace::grid
