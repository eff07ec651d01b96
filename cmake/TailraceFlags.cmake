# tailrace_flags: the compiler options of all code in this repository: library, bindings and tests.
# TAILRACE_ARCH_FLAGS: options that programs with the installed library also need. Templates in public headers depend on
# the vector width. If widths differ, one process contains two different functions with the same name.
include(CheckCXXSourceCompiles)

set(TAILRACE_ARCH_FLAGS "")
add_library(tailrace_flags INTERFACE)
target_compile_options(tailrace_flags INTERFACE
  "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-Wall;-Wextra>"
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow>"
  "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>"
  # These two options let the compiler vectorise square roots and conditional assignments. -ffast-math is not used:
  # it breaks checks for NaN and changes the order of sums. Intel's compiler would do the same by default.
  "$<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno;-fno-trapping-math>"
  "$<$<COMPILE_LANG_AND_ID:CXX,IntelLLVM>:-fp-model=precise>")

if(TAILRACE_WERROR)
  target_compile_options(tailrace_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>" "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-Werror>")
endif()

if(NOT TAILRACE_ARCH STREQUAL "generic")
  list(APPEND TAILRACE_ARCH_FLAGS -march=${TAILRACE_ARCH})
  # The answers are for this name, which may be another one in a build folder that is used again.
  string(MAKE_C_IDENTIFIER "TAILRACE_HAVE_${TAILRACE_ARCH}" known)
  set(CMAKE_REQUIRED_FLAGS -march=${TAILRACE_ARCH})
  check_cxx_source_compiles("int main() {}" ${known})
  if(NOT ${known})
    message(FATAL_ERROR "TAILRACE_ARCH is '${TAILRACE_ARCH}', and ${CMAKE_CXX_COMPILER} does not take "
      "-march=${TAILRACE_ARCH}. Give native, generic, or a name that it knows, such as x86-64-v3")
  endif()
  unset(CMAKE_REQUIRED_FLAGS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_REQUIRED_FLAGS -march=${TAILRACE_ARCH})
    check_cxx_source_compiles("#ifndef __AVX512F__\n#error\n#endif\nint main() {}" ${known}_AVX512)
    unset(CMAKE_REQUIRED_FLAGS)
    if(${known}_AVX512)
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
