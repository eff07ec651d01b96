#pragma once

#include <map>
#include <string>

namespace tailrace {

/// The versions of the library and its parts: version, mpi, mpi_standard, hdf5, adios2, fftw, simd, compiler.
/// Local.
std::map<std::string, std::string> build_info();

} // namespace tailrace
