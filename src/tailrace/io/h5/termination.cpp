#include <tailrace/io/h5/termination.hpp>

#include <mpi.h>

#include <cstdlib>

/// Whether HDF5 is initialised. It ends itself only if it is.
extern "C" __attribute__((weak)) bool H5_libinit_g;

namespace tailrace::io::h5 {

namespace {

void forget_files() {
  if (&H5_libinit_g != nullptr)
    H5_libinit_g = false;
}

int forget_files_of_mpi(MPI_Comm, int, void *, void *) {
  forget_files();
  return MPI_SUCCESS;
}

} // namespace

// A parallel HDF5 ends itself when MPI deletes the attributes of MPI_COMM_SELF, and otherwise when the process ends.
// Both come in the reverse order, so that ours, which is younger, is first.
void skip_termination() {
  static const bool once = [] {
    std::atexit(forget_files);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_files_of_mpi, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    return true;
  }();
  static_cast<void>(once);
}

} // namespace tailrace::io::h5
