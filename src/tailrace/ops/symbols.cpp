#include <tailrace/ops/symbols.hpp>

#include <numbers>

namespace tailrace::ops {

using namespace grid;

std::pair<std::array<Symbols, 3>, double> symbols_of(const Grid &grid, Interpolation interpolation) {
  const Index3 cells = grid.cells();
  std::array<Symbols, 3> symbols;
  double scale = 1;
  for (int d = 0; d < 3; ++d) {
    const CompactScheme derivative = compact_scheme(Operation::derivative_to_centre, grid.spacing(d));
    const CompactScheme average = compact_scheme(Operation::interpolate_to_centre, grid.spacing(d), interpolation);
    for (std::int64_t k = 0; k < cells[d]; ++k) {
      const double w =
          (grid.periodic(d) ? 2 : 1) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(cells[d]);
      const bool shortest = grid.periodic(d) && 2 * k == cells[d]; // averages of a +-+- wave vanish exactly
      const double wave = derivative.response(w), transfer = shortest ? 0 : average.response(w);
      symbols[d].wave.push_back(wave * wave);
      symbols[d].transfer.push_back(transfer * transfer);
    }
    scale /= static_cast<double>(cells[d]);
  }
  return {symbols, scale};
}

} // namespace tailrace::ops
