#include <tailrace/support/build_info.hpp>

#include <tailrace/support/simd.hpp>

#include <fftw3.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#if TAILRACE_HAVE_ADIOS2
#include <adios2.h>
#endif

namespace tailrace {

namespace {

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  return name.substr(0, name.find_first_of(",\n"));
}

std::string hdf5_library() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
#ifdef H5_HAVE_PARALLEL
  const char *kind = "parallel";
#else
  const char *kind = "serial";
#endif
  return fmt::format("{}.{}.{} ({})", major, minor, release, kind);
}

} // namespace

std::map<std::string, std::string> build_info() {
  int major = 0, minor = 0;
  MPI_Get_version(&major, &minor);
  return {
      {"version", TAILRACE_VERSION},
      {"commit", TAILRACE_COMMIT},
      {"mpi", mpi_library()},
      {"mpi_standard", fmt::format("{}.{}", major, minor)},
      {"hdf5", hdf5_library()},
#if TAILRACE_HAVE_ADIOS2
      {"adios2", ADIOS2_VERSION_STR},
#else
      {"adios2", ""},
#endif
      {"fftw", fftw_version},
      {"simd", fmt::format("{} bits, {} doubles at a time", 8 * vector_bytes, lanes<double>)},
      {"compiler", __VERSION__},
      {"fortran", TAILRACE_FORTRAN_COMPILER},
      {"gpu", TAILRACE_GPU},
  };
}

} // namespace tailrace
