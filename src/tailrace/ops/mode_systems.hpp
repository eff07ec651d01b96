#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/symbols.hpp>
#include <tailrace/ops/wall_modes.hpp>

#include <array>
#include <vector>

namespace tailrace::ops {

/// The pressure equation in spectral space where the cosine modes in y are coupled: for every mode in x and z one
/// banded system, because the metric of a stretched y is a sum of two cosines and couples each mode with its second
/// neighbours at most (Laizet and Lamballais 2009, section 4.2). One-sided schemes at walls add few products of a
/// column and a row, which the formula of Sherman and Morrison takes in one by one (Golub and Van Loan 2013, section
/// 2.1.4). All systems are factored once. Local.
template <class T> class ModeSystems {
public:
  /// `symbols` of x, y and z; `box` of the modes of this rank, y whole; `scale` multiplies the solutions; `walls`: what
  /// one-sided schemes add. Only this rank's modes are factored.
  ModeSystems(const grid::Grid &grid, const std::array<Symbols, 3> &symbols, const grid::Box &box, double scale,
              std::vector<WallMode> walls = {});

  /// Replaces right-hand sides by solutions in plane number `k` of the box, which has rows of `parts` values (1: real,
  /// 2: complex) for each mode in x.
  void solve(T *plane, std::int64_t k, int parts) const;

  /// Five factors of each mode in y of the box, those of the modes of a row side by side: [z][y][factor][x]. With them
  /// other solvers do what `solve` does where there are no walls.
  const std::vector<T> &factors() const { return factors_; }
  /// The distance in y of modes that are coupled; those twice as far apart are too.
  std::int64_t reach() const { return reach_; }

private:
  /// The factors of the operators for a mode in x and z.
  struct Factors {
    double along, across; ///< the second derivative in y, and minus the averages in y
  };
  Factors factors_of(const std::array<Symbols, 3> &symbols, std::int64_t i, std::int64_t k) const;
  void add_walls(const std::array<Symbols, 3> &symbols, std::int64_t k, double scale);
  template <int parts> void correct_plane(T *plane, std::int64_t k, std::size_t count) const;
  template <int parts> void solve_plane(T *plane, const T *factors) const;
  void factor(const std::vector<std::array<double, 5>> &bands, double along, double across,
              const std::vector<double> &transfer, double scale, T *factors, bool is_mean) const;

  grid::Box box_;
  std::int64_t reach_;     ///< how far apart coupled modes are: the bands are at +-reach_ and +-2 reach_
  std::vector<T> factors_; ///< [z][y][lower 2, lower 1, inverse of the pivot, upper 1, upper 2][x]
  std::vector<WallMode> walls_;
  std::vector<T> corrections_; ///< [z][wall mode][its modes in y][x]: what a residual of its row takes from a solution
};

} // namespace tailrace::ops
