#pragma once

#include <tailrace/flow/equations/flow_equations.hpp>
#include <tailrace/flow/solid_lines.hpp>

namespace tailrace::flow {

/// One direction's part of the momentum equation for the three velocity components,
///   F_i(d) = -1/2 (u_d du_i/dx_d + d(u_d u_i)/dx_d) + nu d2u_i/dx_d2,
/// the skew-symmetric form, in one fused pass over lines: u_d and u_i are read once, the three compact systems solved
/// together. A wall is a few rows with other right-hand sides; a stretched direction is in the factors of the systems,
/// but for the slope in the second derivative. Local: lines along d must be whole.
template <class T> class ConvectionDiffusion {
public:
  /// Without `diffuses` the second derivative is left out, but not the slope that a stretched direction has in it.
  ConvectionDiffusion(const grid::Grid &grid, int direction, double viscosity,
                      const std::optional<ops::Hyperviscosity> &hyperviscosity = {}, bool diffuses = true);

  /// u: the three components on lines along d. finish(i, offset, F_i(d), count) receives each register once; it may
  /// overwrite u at that offset. `solid`, where there is a body: of the lines of this pencil, of which the first one
  /// here is number `first_line`.
  template <class Finish>
  void sweep(const grid::Lines &lines, const std::array<const T *, 3> &u, Finish finish,
             const SolidLines<T> *solid = nullptr, std::int64_t first_line = 0) const {
    const auto transform = [&](auto &tile) {
      if (solid != nullptr)
        if (const LineRange range = lines_of<T>(tile, lines, lines.points, first_line); solid->meets(range))
          return body(tile, lines.points, *solid, range);
      body(tile, lines.points);
    };
    ops::sweep<T, 3, 3>(lines, lines.points, u, transform, finish);
  }

private:
  struct Systems {
    explicit Systems(const MomentumEquations &equations)
        : gradient(equations.gradient), flux(equations.flux), diffusion(equations.diffusion) {}
    ops::LineSystem<T> gradient, flux, diffusion;
  };
  /// The terms of one tile; `left_out` are the bundles whose results are not needed.
  void body(ops::Tile<T, 3, 3> &tile, std::int64_t n, const std::array<bool, ops::tile_bundles> &left_out = {}) const;
  void body(ops::Tile<T, 3, 3> &tile, std::int64_t n, const SolidLines<T> &solid, const LineRange &range) const;
  template <bool stretched, bool wide>
  void solve(const Systems &systems, const Vec<T> *ud, const Vec<T> *ui, Vec<T> *result, std::int64_t n) const;

  int direction_;
  grid::Sides sides_;
  Systems normal_, tangential_;
  std::vector<T> slope_; ///< see momentum_slope
};

} // namespace tailrace::flow
