#pragma once

#include <map>
#include <string>

namespace tailrace {

/// The versions of the library and its parts: version, mpi, mpi_standard, hdf5, adios2, fftw, simd, compiler, fortran,
/// the compiler of the Fortran module ("": there is no module), and gpu: for what the kernels of devices were compiled,
/// "off", "host" (the processor, for tests) or "cuda". Local.
std::map<std::string, std::string> build_info();

} // namespace tailrace
