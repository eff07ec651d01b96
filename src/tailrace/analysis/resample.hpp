#pragma once

#include <tailrace/grid/buffer.hpp>
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/line_system.hpp>

#include <array>
#include <memory>

namespace tailrace::analysis {

/// A field on the nodes of `from` at `points` nodes of the same box: the trigonometric interpolation of its values,
/// periodic, or continued beyond free-slip boundaries by `parities`. Waves that fewer points cannot hold are left out.
/// Values are exact where the number of points of a direction does not change.
///
/// `in` and the result are X pencils of the two grids on the same process grid. No rank holds more than a few times its
/// share. Throws InputError for other boundaries than periodic and free-slip. Collective.
grid::Buffer<double> resample(const grid::Grid &from, const std::shared_ptr<const grid::ProcessGrid> &processes,
                              const std::array<ops::Parity, 3> &parities, const grid::Index3 &points, const double *in);

} // namespace tailrace::analysis
