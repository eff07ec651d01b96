# FindFFTW3: the serial FFTW 3 library. Components: double (target FFTW3::fftw3) and float (FFTW3::fftw3f).
# Set FFTW3_ROOT to point to an installation; modules of clusters set FFTW_ROOT or FFTW_DIR.
set(_fftw3_hints HINTS ENV FFTW_ROOT ENV FFTW_DIR)
find_path(FFTW3_INCLUDE_DIR fftw3.h ${_fftw3_hints} PATH_SUFFIXES include)
find_library(FFTW3_double_LIBRARY fftw3 ${_fftw3_hints} PATH_SUFFIXES lib lib64)
find_library(FFTW3_float_LIBRARY fftw3f ${_fftw3_hints} PATH_SUFFIXES lib lib64)
mark_as_advanced(FFTW3_INCLUDE_DIR FFTW3_double_LIBRARY FFTW3_float_LIBRARY)

foreach(component IN ITEMS double float)
  if(FFTW3_INCLUDE_DIR AND FFTW3_${component}_LIBRARY)
    set(FFTW3_${component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW3 REQUIRED_VARS FFTW3_INCLUDE_DIR HANDLE_COMPONENTS)

function(_fftw3_target name component)
  if(FFTW3_${component}_FOUND AND NOT TARGET ${name})
    add_library(${name} UNKNOWN IMPORTED)
    set_target_properties(${name} PROPERTIES
      IMPORTED_LOCATION "${FFTW3_${component}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${FFTW3_INCLUDE_DIR}")
  endif()
endfunction()
_fftw3_target(FFTW3::fftw3 double)
_fftw3_target(FFTW3::fftw3f float)
