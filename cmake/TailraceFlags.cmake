# tailrace_flags: the compiler options of all code in this repository: library, bindings and tests.
# TAILRACE_ARCH_FLAGS: options that programs with the installed library also need. Templates in public headers depend on
# the vector width. If widths differ, one process contains two different functions with the same name.
include(CheckCXXSourceCompiles)

set(TAILRACE_ARCH_FLAGS "")
add_library(tailrace_flags INTERFACE)
target_compile_options(tailrace_flags INTERFACE
  -Wall -Wextra
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow>"
  "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>"
  # These two options let the compiler vectorise square roots and conditional assignments. -ffast-math is not used:
  # it breaks checks for NaN and changes the order of sums.
  "$<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno;-fno-trapping-math>")

if(TAILRACE_WERROR)
  target_compile_options(tailrace_flags INTERFACE -Werror)
endif()

if(TAILRACE_NATIVE)
  list(APPEND TAILRACE_ARCH_FLAGS -march=native)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_REQUIRED_FLAGS -march=native)
    check_cxx_source_compiles("#ifndef __AVX512F__\n#error\n#endif\nint main() {}" TAILRACE_HAVE_AVX512)
    unset(CMAKE_REQUIRED_FLAGS)
    if(TAILRACE_HAVE_AVX512)
      list(APPEND TAILRACE_ARCH_FLAGS -mprefer-vector-width=512) # the default of GCC is 256 bits
    endif()
  endif()
endif()

if(TAILRACE_SANITIZE)
  target_compile_options(tailrace_flags INTERFACE
    # Not for Fortran: an absent optional argument that is passed to another procedure looks like a null pointer.
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${TAILRACE_SANITIZE};-fno-sanitize-recover=undefined;-fno-omit-frame-pointer>")
  target_link_options(tailrace_flags INTERFACE -fsanitize=${TAILRACE_SANITIZE})
endif()
