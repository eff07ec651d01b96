#include <tailrace/grid/halo.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <complex>

namespace tailrace::grid {

namespace {

/// The rank `step` places along the rows or columns, around the end where periodic.
int neighbour(int index, int step, int parts, bool periodic) {
  const int other = index + step;
  if (other >= 0 && other < parts)
    return other;
  return periodic ? (other + parts) % parts : MPI_PROC_NULL;
}

/// A slab of the memory of a field: the whole of the directions below d (halo included), `width` planes of d.
MPI_Datatype slab_type(const Index3 &memory, int d, std::int64_t start, int width, MPI_Datatype element) {
  int sizes[3], counts[3], starts[3];
  for (int e = 0; e < 3; ++e) {
    sizes[2 - e] = counts[2 - e] = static_cast<int>(memory[e]);
    starts[2 - e] = 0;
  }
  counts[2 - d] = width;
  starts[2 - d] = static_cast<int>(start);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, element, &type),
            "MPI_Type_create_subarray");
  check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

} // namespace

template <class T>
HaloExchange<T>::HaloExchange(const Decomposition &decomposition, Pencil pencil, int width,
                              std::array<bool, 3> periodic)
    : decomposition_(decomposition), pencil_(pencil), width_(width) {
  const ProcessGrid &grid = decomposition.processes();
  const int whole = static_cast<int>(pencil);
  const int by_rows = whole == 0 ? 1 : 0, by_cols = whole == 2 ? 1 : 2;
  for (int d = 0; d < 3; ++d) {
    const int parts = d == by_rows ? grid.rows() : d == by_cols ? grid.cols() : 1;
    // Every rank sees the narrowest part, so all of them refuse together.
    const std::int64_t narrowest = decomposition.shape()[d] / parts;
    if (width > narrowest)
      throw InputError(
          fmt::format("a halo of {} points is wider than a rank's {} points in {}; use fewer ranks in that "
                      "direction or a narrower halo",
                      width, narrowest, "xyz"[d]));
    const auto at = [&](int step) {
      if (d == by_rows) {
        const int row = neighbour(grid.row(), step, grid.rows(), periodic[d]);
        return row == MPI_PROC_NULL ? row : row * grid.cols() + grid.col();
      }
      if (d == by_cols) {
        const int col = neighbour(grid.col(), step, grid.cols(), periodic[d]);
        return col == MPI_PROC_NULL ? col : grid.row() * grid.cols() + col;
      }
      return periodic[d] ? grid.comm().rank() : MPI_PROC_NULL;
    };
    neighbours_[d] = {at(-1), at(+1)};
  }
}

template <class T> void HaloExchange<T>::exchange(Field<T> &field, int d) const {
  const Index3 memory = field.memory_count();
  const std::int64_t inner = field.box().count[d];
  const MPI_Comm comm = decomposition_.comm().get();
  const auto move = [&](std::int64_t from, int to_rank, std::int64_t into, int from_rank) {
    MPI_Datatype send = slab_type(memory, d, from, width_, mpi_type<T>());
    MPI_Datatype receive = slab_type(memory, d, into, width_, mpi_type<T>());
    check_mpi(MPI_Sendrecv(field.data(), 1, send, to_rank, d, field.data(), 1, receive, from_rank, d, comm,
                           MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    MPI_Type_free(&send);
    MPI_Type_free(&receive);
  };
  move(width_, neighbours_[d].lower, inner + width_, neighbours_[d].upper);
  move(inner, neighbours_[d].upper, 0, neighbours_[d].lower);
}

template <class T> void HaloExchange<T>::operator()(Field<T> &field) const {
  decomposition_.comm().agree([&] {
    if (field.halo() != width_ || !(field.box() == decomposition_.box(pencil_)))
      throw InputError(fmt::format("halo exchange of width {} was given a field of halo {} or of another box", width_,
                                   field.halo()));
  });
  if (width_ == 0)
    return;
  // One direction after the other, each with the halo of the earlier ones, so that edges and corners arrive too.
  for (int d = 0; d < 3; ++d)
    exchange(field, d);
}

template class HaloExchange<float>;
template class HaloExchange<double>;
template class HaloExchange<std::complex<float>>;
template class HaloExchange<std::complex<double>>;

} // namespace tailrace::grid
