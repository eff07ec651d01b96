#pragma once

#include <tailrace/flow/convection_diffusion.hpp>

namespace tailrace::flow {

/// One direction's part of the equation of a scalar,
///   F(d) = -(u_d + s_d) d phi/dx_d + kappa d2 phi/dx_d2,
/// with the velocity s at which it settles, in one pass over lines of u_d and phi. Local: lines along d must be whole.
template <class T> class ScalarTransport {
public:
  /// `grid`: with the boundaries of the scalar; `diffuses` as in ConvectionDiffusion.
  ScalarTransport(const grid::Grid &grid, int direction, double diffusivity, double settling,
                  const std::optional<ops::Hyperviscosity> &hyperviscosity, bool diffuses = true);

  /// finish(0, offset, F(d), count) receives each register once; it may overwrite phi at that offset. `solid` and
  /// `first_line` are as in ConvectionDiffusion: the scalar is zero on a body.
  template <class Finish>
  void sweep(const grid::Lines &lines, const T *velocity, const T *scalar, Finish finish,
             const SolidLines<T> *solid = nullptr, std::int64_t first_line = 0) const {
    const auto transform = [&](auto &tile) {
      if (solid != nullptr)
        solid->rebuild(lines_of<T>(tile, lines, lines.points, first_line), tile.in[1]);
      body(tile, lines.points);
    };
    ops::sweep<T, 2, 1>(lines, lines.points, {velocity, scalar}, transform, finish);
  }

private:
  void body(ops::Tile<T, 2, 1> &tile, std::int64_t n) const;
  template <bool wide> void solve(const Vec<T> *velocity, const Vec<T> *scalar, Vec<T> *result, std::int64_t n) const;

  ops::LineSystem<T> gradient_;  ///< minus the derivative
  ops::LineSystem<T> diffusion_; ///< kappa times the second derivative; where stretched, without the slope
  std::vector<T> shift_;         ///< added to u_d: s_d, and kappa times the curvature of the mapping
};

} // namespace tailrace::flow
