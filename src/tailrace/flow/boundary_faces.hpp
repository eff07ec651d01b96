#pragma once

#include <tailrace/flow/equations/free_nodes.hpp>
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>
#include <tailrace/grid/grid.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace tailrace::flow {

/// How fast what leaves through an outflow is carried: the largest velocity of the plane before it, the mean of the
/// largest and the least one, or a given number.
struct ConvectionSpeed {
  enum class Kind { largest, middle, given };
  Kind kind = Kind::largest;
  double value = 0;
};

/// One end of a direction that is not periodic, with the velocity there, on this rank's X pencil. The
/// arrays are empty on ranks that do not have this end, and if it is free-slip.
template <class T> struct Face {
  int direction;
  bool upper;
  grid::Boundary boundary;
  grid::Box box;                          ///< the nodes of this rank on the face; one node along `direction`
  std::array<grid::Field<T>, 3> value;    ///< the velocity given there
  std::array<grid::Field<T>, 3> gradient; ///< pressure gradient of the last stage; the normal part is not used
};

/// The nodes of an end of direction d in this part of a field.
grid::Box face_box(const grid::Grid &grid, const grid::Box &field, int d, bool upper);

/// Throws InputError if a rank has only one node along direction d, so that a node at an end may lack its neighbour.
/// Local, with the same result on all ranks.
void check_neighbours(const grid::Decomposition &nodes, int d);

/// Some planes of a field along z, from `first` on and before `end`.
struct Planes {
  std::int64_t first = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

/// Calls visit(offset in the face, offset in the field) for every node of a face, or of the plane that lies `inwards`
/// nodes inside; in some planes of the field only, if they are given.
template <class T, class Visit>
void for_nodes(const Face<T> &face, const grid::Box &field, int inwards, Visit visit, const Planes &planes = {}) {
  const grid::Index3 &n = face.box.count;
  grid::Index3 first;
  for (int d = 0; d < 3; ++d)
    first[d] = face.box.start[d] - field.start[d];
  first[face.direction] += face.upper ? -inwards : inwards;
  const std::int64_t begin = std::max<std::int64_t>(0, planes.first - first[2]);
  std::int64_t at = begin * n[0] * n[1];
  for (std::int64_t k = begin; k < n[2] && first[2] + k < planes.end; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j) {
      const std::int64_t row = first[0] + field.count[0] * (first[1] + j + field.count[1] * (first[2] + k));
      for (std::int64_t i = 0; i < n[0]; ++i)
        visit(at++, row + i);
    }
}

/// The ends of a flow. The projection changes the tangential velocity at walls by the pressure gradient. So the
/// velocity before it is the given one, corrected by the gradient of the stage before (Xcompact3D's pre_correc). What
/// remains is the change of the pressure between two stages. At free slip the normal velocity is zero. If two Dirichlet
/// ends meet, the velocity is that of the later direction, or of the end that is not an outflow.
template <class T> class BoundaryFaces {
public:
  BoundaryFaces(const grid::Grid &grid, const grid::Decomposition &nodes, ops::Interpolation interpolation);

  using Velocity = std::array<grid::Field<T>, 3>;

  /// The end of direction d. Throws InputError if d is periodic.
  Face<T> &at(int d, bool upper);
  /// Makes the upper end of direction d, a Dirichlet one, an outflow: its velocity is convected out in each stage. With
  /// `balance` it is shifted so that outflow equals the inflow through the other faces; otherwise the divergence cannot
  /// vanish. Throws InputError if that end is not a Dirichlet one, or if a rank has only one node along d. Local.
  void make_outflow(int d, const ConvectionSpeed &speed, bool balance);

  bool has_outflow() const { return !outflows_.empty(); }
  /// The values at outflows at the end of a stage of this length. Returns the speed of the last outflow, 0 where there
  /// is none. Collective.
  double convect(const Velocity &u, double duration);
  /// Sets the velocity before the projection of a stage of this length. Collective if an outflow is balanced.
  void impose(Velocity &u, double duration);
  /// The same in one plane of this rank. Local: no outflow may be balanced.
  void impose_plane(Velocity &u, double duration, std::int64_t k) const { impose(u, duration, {k, k + 1}); }
  bool has_balance() const;
  /// Stores the velocity before the projection, in the memory of the gradient. Local.
  void remember(const Velocity &u);
  /// Computes the pressure gradient for the next stage from the stored velocity and the one after the projection.
  /// Local.
  void keep_gradient(const Velocity &u, double duration);

private:
  struct Outflow {
    int direction;
    ConvectionSpeed speed;
    bool balance;
  };
  double convect(const Outflow &outflow, const Velocity &u, double duration);
  bool is_outflow(const Face<T> &face) const;
  void impose(Velocity &u, double duration, const Planes &planes) const;
  void impose(const Face<T> &face, Velocity &u, double duration, const Planes &planes) const;
  void balance(const Face<T> &outflow, Velocity &u) const;
  template <class Visit> void for_weights(const Face<T> &face, Visit visit) const;

  grid::Grid grid_;
  grid::Decomposition nodes_;
  std::vector<Face<T>> faces_;
  std::vector<Outflow> outflows_;
  std::array<std::vector<double>, 3> weights_; ///< of nodes in the sum over cells that vanishes without net inflow
};

} // namespace tailrace::flow
