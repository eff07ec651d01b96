# Finds the libraries that Tailrace links. If a library is missing, the error says how to install it.

# tailrace_require(NAME FOUND HINT): stops with an error if FOUND is false.
function(tailrace_require name found hint)
  if(NOT found)
    message(FATAL_ERROR "Tailrace needs ${name}, which CMake did not find. To fix this, ${hint}.")
  endif()
endfunction()

# Tailrace uses the C interface of MPI, because MPI 3 has removed the C++ bindings.
set(MPI_CXX_SKIP_MPICXX ON CACHE BOOL "Leave out the C++ bindings of MPI-2")
find_package(MPI 3.0 QUIET COMPONENTS C CXX)
tailrace_require("MPI" "${MPI_CXX_FOUND}" "install libopenmpi-dev and openmpi-bin, or put mpicxx on the PATH")

find_package(Threads REQUIRED)

# Our engine hdf5 writes in parallel with any HDF5. ADIOS2's needs a parallel one.
option(HDF5_PREFER_PARALLEL "Take a parallel HDF5 where there is also a serial one" ON)
find_package(HDF5 1.10 QUIET COMPONENTS C)
tailrace_require("HDF5" "${HDF5_FOUND}" "install libhdf5-openmpi-dev, or set HDF5_ROOT")
set(hdf5_kind serial)
if(HDF5_IS_PARALLEL)
  set(hdf5_kind parallel)
endif()

find_package(FFTW3 QUIET COMPONENTS double float)
tailrace_require("FFTW 3 in double and single precision" "${FFTW3_FOUND}" "install libfftw3-dev, or set FFTW3_ROOT")

find_package(fmt QUIET)
tailrace_require("{fmt}" "${fmt_FOUND}" "install libfmt-dev")
find_package(nlohmann_json 3 QUIET)
tailrace_require("nlohmann JSON" "${nlohmann_json_FOUND}" "install nlohmann-json3-dev")

find_package(PkgConfig QUIET)
tailrace_require("pkg-config" "${PKG_CONFIG_FOUND}" "install pkg-config")
pkg_check_modules(xxhash QUIET IMPORTED_TARGET libxxhash)
tailrace_require("xxHash" "${xxhash_FOUND}" "install libxxhash-dev")

# ADIOS2: the installation that the user names, or the one that tools/build_adios2.sh has built for this MPI and HDF5.
set(TAILRACE_HAVE_ADIOS2 0)
set(TAILRACE_ADIOS2_HAS_HDF5 0)
if(TAILRACE_WITH_ADIOS2)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "TAILRACE_HDF5=${hdf5_kind}"
      bash "${PROJECT_SOURCE_DIR}/tools/build_adios2.sh" --prefix
    OUTPUT_VARIABLE adios2_built OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT HDF5_IS_PARALLEL AND EXISTS "${adios2_built}/.complete" AND NOT ADIOS2_DIR AND NOT ADIOS2_ROOT AND NOT DEFINED ENV{ADIOS2_ROOT})
    set(ADIOS2_DIR "${adios2_built}/lib/cmake/adios2") # one in the system has a parallel HDF5
  endif()
  find_package(ADIOS2 2.10 QUIET CONFIG COMPONENTS CXX MPI)
  if(NOT ADIOS2_FOUND AND EXISTS "${adios2_built}/.complete")
    find_package(ADIOS2 2.10 QUIET CONFIG COMPONENTS CXX MPI PATHS "${adios2_built}" NO_DEFAULT_PATH)
  endif()
  if(ADIOS2_FOUND) # its configuration for CMake does not say whether it has HDF5
    find_file(adios2_header adios2/common/ADIOSConfig.h NO_CACHE REQUIRED
      HINTS "${ADIOS2_DIR}/../../../include" "${ADIOS2_DIR}/../../../../include") # of lib, of lib/x86_64-linux-gnu
    file(STRINGS "${adios2_header}" adios2_hdf5 REGEX "^#define ADIOS2_HAVE_HDF5$")
    if(adios2_hdf5)
      set(TAILRACE_ADIOS2_HAS_HDF5 1)
    endif()
  endif()
  if(TAILRACE_ADIOS2_HAS_HDF5 AND NOT HDF5_IS_PARALLEL)
    # One process would have two libraries HDF5 with the same names, and crash.
    set(ADIOS2_FOUND FALSE)
    set(adios2_refused "the ADIOS2 of ${ADIOS2_DIR} has a parallel HDF5, and the HDF5 that was found is serial")
    unset(ADIOS2_DIR CACHE) # so that another one is found when this runs again
    if(TAILRACE_WITH_ADIOS2 STREQUAL "ON")
      message(FATAL_ERROR "TAILRACE_WITH_ADIOS2=ON, but ${adios2_refused}: one program cannot have both. To fix this, build one "
        "without HDF5 by\n    TAILRACE_HDF5=serial tools/build_adios2.sh\nor set HDF5_ROOT to the parallel HDF5.")
    endif()
  endif()
  if(ADIOS2_FOUND)
    set(TAILRACE_HAVE_ADIOS2 1)
  elseif(TAILRACE_WITH_ADIOS2 STREQUAL "ON")
    message(FATAL_ERROR "TAILRACE_WITH_ADIOS2=ON, but CMake found no ADIOS2 (2.10 or later, built with MPI). To fix this, "
      "build it once with\n    tools/build_adios2.sh\n(about 5 minutes; it prints where, and CMake then finds it there), "
      "set ADIOS2_ROOT to one that you have, or configure with -DTAILRACE_WITH_ADIOS2=OFF.")
  endif()
endif()

message(STATUS "MPI ${MPI_CXX_VERSION} (${MPI_CXX_COMPILER})")
message(STATUS "HDF5 ${HDF5_VERSION}, ${hdf5_kind}")
if(TAILRACE_HAVE_ADIOS2)
  message(STATUS "ADIOS2 ${ADIOS2_VERSION} (${ADIOS2_DIR})")
else()
  if(NOT adios2_refused)
    set(adios2_refused
      "TAILRACE_WITH_ADIOS2=${TAILRACE_WITH_ADIOS2}; TAILRACE_HDF5=${hdf5_kind} tools/build_adios2.sh builds it")
  endif()
  message(STATUS "ADIOS2: not used (${adios2_refused})")
endif()
