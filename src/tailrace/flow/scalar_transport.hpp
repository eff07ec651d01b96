#pragma once

#include <tailrace/flow/convection_diffusion.hpp>

namespace tailrace::flow {

/// One direction's part of the equation of a scalar,
///   F(d) = -(u_d + s_d) d phi/dx_d + kappa d2 phi/dx_d2,
/// with the velocity s at which it settles, in one pass over lines of u_d and phi. Local: lines along d must be whole.
template <class T> class ScalarTransport {
public:
  explicit ScalarTransport(const ScalarEquations &equations);

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

  ops::LineSystem<T> gradient_, diffusion_; ///< see ScalarEquations
  std::vector<T> shift_;
};

} // namespace tailrace::flow
