#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/grid/grid.hpp>

#include <array>
#include <vector>

namespace tailrace::ops {

/// What a staggered derivative and an average multiply each mode of a direction by, squared.
struct Symbols {
  std::vector<double> wave, transfer;
};

/// The pressure equation in spectral space where y is stretched: for every mode in x and z one banded system of the
/// cosine modes in y, because the metric of the mapping is a sum of two cosines and couples each mode with its second
/// neighbours at most (Laizet and Lamballais 2009, section 4.2). All systems are factored once. Local.
template <class T> class ModeSystems {
public:
  /// `symbols` of x, y and z; `box` of the modes of this rank, y whole; `scale` multiplies the solutions. Only this
  /// rank's modes are factored.
  ModeSystems(const grid::Grid &grid, const std::array<Symbols, 3> &symbols, const grid::Box &box, double scale);

  /// Replaces right-hand sides by solutions in plane number `k` of the box, which has rows of `parts` values (1: real,
  /// 2: complex) for each mode in x.
  void solve(T *plane, std::int64_t k, int parts) const;

private:
  template <int parts> void solve_plane(T *plane, const T *factors) const;
  void factor(const std::vector<std::array<double, 5>> &bands, double along, double across,
              const std::vector<double> &transfer, double scale, T *factors, bool is_mean) const;

  grid::Box box_;
  std::int64_t reach_;     ///< how far apart coupled modes are: the bands are at +-reach_ and +-2 reach_
  std::vector<T> factors_; ///< [z][y][lower 2, lower 1, inverse of the pivot, upper 1, upper 2][x]
};

} // namespace tailrace::ops
