#pragma once

#include <tailrace/grid/buffer.hpp>
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/line_system.hpp>

#include <array>
#include <memory>

namespace tailrace::analysis {

/// A field on the nodes of `from`, at the nodes of another grid of the same box and boundaries.
///
/// Along a direction without walls this is the trigonometric interpolation of its values, periodic, or continued beyond
/// free-slip boundaries by `parities`; where nodes are stretched, along the uniform coordinate. Waves that fewer points
/// cannot hold are left out. Along a direction with a wall, and where the stretchings are different, the values are
/// those of polynomials of degree five through the six points around, with an error of sixth order. Values are exact
/// where the nodes of a direction do not change.
///
/// `in` and the result are X pencils of the two grids on the same process grid. No rank holds more than a few times its
/// share. Throws InputError where the boundaries are not the same. Collective.
grid::Buffer<double> resample(const grid::Grid &from, const std::shared_ptr<const grid::ProcessGrid> &processes,
                              const std::array<ops::Parity, 3> &parities, const grid::Grid &to, const double *in);

} // namespace tailrace::analysis
