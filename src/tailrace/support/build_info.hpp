#pragma once

#include <map>
#include <string>

namespace tailrace {

/// The versions of the library and its parts: version, mpi, mpi_standard, hdf5, adios2, fftw, simd, compiler, and
/// fortran, the compiler of the Fortran module ("": there is no module). Local.
std::map<std::string, std::string> build_info();

} // namespace tailrace
