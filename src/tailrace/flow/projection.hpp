#pragma once

#include <tailrace/flow/equations/flow_equations.hpp>
#include <tailrace/flow/solid_lines.hpp>
#include <tailrace/ops/poisson.hpp>

namespace tailrace::flow {

/// Makes a velocity on nodes divergence-free on the cells: solves  div grad phi = div u  and subtracts grad phi. Works
/// plane by plane and line by line in cache; the divergence and phi never exist as whole arrays unless the caller asks
/// for them.
template <class T> class Projection {
public:
  Projection(const grid::Grid &grid, ops::Interpolation interpolation,
             std::shared_ptr<const grid::ProcessGrid> processes, grid::TransposeMethod method,
             std::shared_ptr<grid::Workspace> workspace, ops::WallDivergence walls = ops::WallDivergence::mirrored);

  /// From now on divergences are those of a velocity that is zero at these nodes of the X pencil; `solid` must live as
  /// long as this object. Local.
  void set_solid(const SolidLines<T> *solid) { solid_ = solid; }

  /// u: three components in this rank's X pencil of the nodes, replaced by u - grad phi. Collective.
  void operator()(const std::array<T *, 3> &u);
  /// Where this rank has whole planes in x and y, the same may be done in two parts: `gather_plane` for each plane k of
  /// u while it is in the cache, then `solve_gathered`. The first is local, the second collective.
  bool has_planes() const { return xy_.is_free(grid::Pencil::x, grid::Pencil::y); }
  void gather_plane(const std::array<const T *, 3> &u, std::int64_t k);
  void solve_gathered(const std::array<T *, 3> &u);
  /// The phi of the last projection, on the cells, this rank's Z pencil. Local.
  void potential(T *phi);

  /// div u on the cells, this rank's Z pencil. Collective.
  void divergence(const std::array<const T *, 3> &u, T *result);
  /// Values on the cells (Z pencil) interpolated to the nodes (X pencil). Collective.
  void to_nodes(const T *cells, T *nodes);

  const grid::Decomposition &cells() const { return poisson_.cells(); }

private:
  struct Staggered {
    explicit Staggered(const StaggeredEquations &equations);
    ops::LineSystem<T> derivative_to_centre, average_to_centre, derivative_to_node, average_to_node;
  };
  static Staggered make(const grid::Grid &grid, int d, ops::Interpolation interpolation, ops::WallDivergence walls);
  grid::Index3 nodes() const;
  std::array<T *, 2> z_columns();
  std::array<T *, 2> gathered_columns();
  void gather_xy(const std::array<const T *, 3> &u);
  void divergence_x(const std::array<const T *, 3> &u, const std::array<T *, 3> &out, const grid::Index3 &count,
                    std::int64_t first_line) const;
  void divergence_y(const std::array<const T *, 3> &in, const std::array<T *, 2> &out, const grid::Index3 &count) const;
  template <class Tile> void divergence_z(Tile &tile) const;
  template <class Tile> void fill_node_ghosts(Tile &tile, int k, int d, bool normal) const;
  void gradient_y(const std::array<const T *, 2> &in, const std::array<T *, 3> &out, const grid::Index3 &count) const;
  void gradient_x(const std::array<const T *, 3> &in, const std::array<T *, 3> &u, const grid::Index3 &count) const;
  void scatter_xy(const std::array<T *, 3> &u);

  grid::Grid grid_;
  std::array<grid::Sides, 3> sides_; ///< of the staggered operators, but for one-sided ones to centres
  std::array<Staggered, 3> staggered_;
  grid::Exchange<T> xy_; ///< cells in x, nodes in y and z
  grid::Exchange<T> yz_; ///< cells in x and y, nodes in z
  ops::Poisson<T> poisson_;
  const SolidLines<T> *solid_ = nullptr;
  std::array<grid::Buffer<T>, 3> x_part_, y_part_;  ///< after the x stage, in X and in Y pencils
  std::array<grid::Buffer<T>, 2> y_cells_, z_part_; ///< after the y stage, in Y and in Z pencils
};

} // namespace tailrace::flow
