#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>

#include <array>

namespace tailrace::grid {

/// Fills the halo of fields on one pencil of a decomposition with the neighbours' values, edges and corners included.
/// Outside a direction that is not periodic the halo is left as it is.
template <class T> class HaloExchange {
public:
  /// `periodic` per direction. Local. InputError when the halo is wider than some rank's box.
  HaloExchange(const Decomposition &decomposition, Pencil pencil, int width, std::array<bool, 3> periodic);

  /// `field` must have the pencil's box and this halo width. Collective.
  void operator()(Field<T> &field) const;

private:
  struct Neighbours {
    int lower = MPI_PROC_NULL, upper = MPI_PROC_NULL;
  };
  void exchange(Field<T> &field, int d) const;

  Decomposition decomposition_;
  Pencil pencil_;
  int width_;
  std::array<Neighbours, 3> neighbours_;
};

} // namespace tailrace::grid
