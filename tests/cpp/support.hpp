#pragma once
// Shared code of several tests: the communicator, all process grids, reproducible noise, comparison over all ranks.

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/grid/shared_memory.hpp>
#include <tailrace/grid/transpose.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::test {

using namespace grid;

using Processes = std::shared_ptr<const ProcessGrid>;

inline const Communicator &world() {
  static const Communicator comm(MPI_COMM_WORLD);
  return comm;
}

/// Every process grid of `comm`, whether or not a shape fits on it.
inline std::vector<Processes> every_process_grid(const Communicator &comm = world()) {
  std::vector<Processes> grids;
  for (int rows = 1; rows <= comm.size(); ++rows)
    if (comm.size() % rows == 0)
      grids.push_back(std::make_shared<const ProcessGrid>(comm, rows, comm.size() / rows));
  return grids;
}

/// Every transpose method that works on this machine.
inline std::vector<TransposeMethod> every_method() {
  std::vector<TransposeMethod> methods{TransposeMethod::alltoall, TransposeMethod::subarray};
  if (can_share_memory(world()))
    methods.push_back(TransposeMethod::shared);
  return methods;
}

/// A process grid with one rank. Tests compare results on many ranks with results on this grid.
inline Processes alone() { return std::make_shared<const ProcessGrid>(Communicator(MPI_COMM_SELF), 1, 1); }

inline std::string name(const ProcessGrid &grid) {
  return std::to_string(grid.rows()) + " x " + std::to_string(grid.cols());
}

/// Every combination of periodic and free-slip boundaries.
inline std::vector<std::array<Boundary, 3>> every_flow_boundary() {
  std::vector<std::array<Boundary, 3>> all;
  for (int bits = 0; bits < 8; ++bits) {
    std::array<Boundary, 3> b{};
    for (int d = 0; d < 3; ++d)
      b[d] = (bits >> d & 1) ? Boundary::free_slip : Boundary::periodic;
    all.push_back(b);
  }
  return all;
}

inline std::string name(const std::array<Boundary, 3> &b) {
  return std::string(boundary_name(b[0])) + ", " + boundary_name(b[1]) + ", " + boundary_name(b[2]);
}

inline std::string name(const Boundaries &b) {
  return sides_name(b[0]) + ", " + sides_name(b[1]) + ", " + sides_name(b[2]);
}

/// Calls visit(global point, offset in the memory of the box) for every point, in memory order.
template <class Visit> void for_each_point(const Box &box, Visit visit) {
  std::int64_t offset = 0;
  for (std::int64_t k = box.start[2]; k < box.end(2); ++k)
    for (std::int64_t j = box.start[1]; j < box.end(1); ++j)
      for (std::int64_t i = box.start[0]; i < box.end(0); ++i)
        visit(Index3{i, j, k}, offset++);
}

/// Global number of a point.
inline std::int64_t linear(const Index3 &shape, const Index3 &p) { return p[0] + shape[0] * (p[1] + shape[1] * p[2]); }

/// Noise in [-1, 1) without symmetry. It depends on point and salt only, so it is the same on every decomposition.
inline double noise(const Index3 &p, std::uint64_t salt = 0) {
  std::uint64_t z = salt + 1;
  for (const std::int64_t i : p) { // the splitmix64 generator
    z += static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-52 - 1;
}

/// The part `box` of a global array.
template <class T> std::vector<T> part_of(const std::vector<T> &global, const Index3 &shape, const Box &box) {
  std::vector<T> part(static_cast<std::size_t>(box.size()));
  for_each_point(box, [&](const Index3 &p, std::int64_t at) { part[at] = global[linear(shape, p)]; });
  return part;
}

template <class T> double max_abs(const std::vector<T> &a) {
  double largest = 0;
  for (const T &value : a) // with the negation, the result is NaN if a value is NaN
    largest = !(std::fabs(static_cast<double>(value)) <= largest) ? std::fabs(static_cast<double>(value)) : largest;
  return largest;
}

/// max |a - b| over n values of every rank, or infinity if a value is not a number. Collective.
template <class A, class B> double max_difference(const A *a, const B *b, std::int64_t n) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return world().max(largest);
}

/// The order of accuracy that follows from two errors if the step becomes smaller by `ratio`.
inline double order(double coarse, double fine, double ratio = 2) { return std::log(coarse / fine) / std::log(ratio); }

} // namespace tailrace::test
