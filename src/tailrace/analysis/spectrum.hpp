#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/grid.hpp>

#include <array>
#include <complex>
#include <vector>

namespace tailrace::analysis {

/// The energy of fields by the length of the wave vector. With f_k = 1/N sum f exp(-i k x), shell n holds the modes
/// with round(|k| / width) = n, where width = 2 pi / (longest side of the box) is the smallest wave number; directions
/// of one node have no waves, and do not count. The last shells are in the corners of wave-number space and not full;
/// every mode is in one shell.
struct Shells {
  double width;
  std::vector<double> energy;      ///< per shell the sum of |f_k|^2 / 2, of all fields together
  std::vector<std::int64_t> modes; ///< modes per shell, N in total
};

/// Fields are this rank's X pencils of the nodes. Throws InputError if a direction is not periodic.
/// Collective.
Shells shell_spectrum(const grid::Grid &grid, const std::shared_ptr<const grid::ProcessGrid> &processes,
                      const std::vector<const double *> &fields);

/// conj(F_k) G_k for k = 0 .. points / 2, where F_k = sum_j f[j] exp(-2 pi i j k / points) along `direction`, of lines
/// lengthened by zeros to `points`; averaged over the other two directions by the trapezoidal rule. `f` and `g` are
/// this rank's X pencils of a field on the cell centres in the directions of `centred` and on the nodes in the others;
/// they may be the same array. Collective.
std::vector<std::complex<double>> mean_cross_spectrum(const grid::Grid &grid, const std::array<bool, 3> &centred,
                                                      const std::shared_ptr<const grid::ProcessGrid> &processes,
                                                      int direction, std::int64_t points, const double *f,
                                                      const double *g);

} // namespace tailrace::analysis
