#pragma once

#include <map>
#include <string>

namespace tailrace {

/// What the library was built with and what it runs on: version, mpi, mpi_standard, hdf5, adios2, fftw, simd, compiler.
/// Local.
std::map<std::string, std::string> build_info();

} // namespace tailrace
