# TAILRACE_HAVE_FORTRAN: whether to build the Fortran module. Any Fortran 2008 compiler can build it. It does not need
# the Fortran interface of MPI.
include(CheckLanguage)

set(TAILRACE_HAVE_FORTRAN 0)
if(TAILRACE_FORTRAN)
  if(NOT CMAKE_Fortran_COMPILER)
    unset(CMAKE_Fortran_COMPILER CACHE) # a compiler may have been installed since this build folder was made
  endif()
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    set(TAILRACE_HAVE_FORTRAN 1)
  elseif(TAILRACE_FORTRAN STREQUAL "ON")
    message(FATAL_ERROR "TAILRACE_FORTRAN=ON, but CMake found no Fortran compiler. To fix this, install gfortran, set FC to the "
      "compiler that you have, or configure with -DTAILRACE_FORTRAN=OFF.")
  endif()
endif()
