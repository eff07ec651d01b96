#!/usr/bin/env bash
# Install the library into a temporary prefix. Then build and run the project in this folder twice: with
# find_package(Tailrace) and with pkg-config, and projects in C and in Fortran alone. Private headers must not be installed, and public headers must not need
# them: the project includes all public headers. This script needs the system packages that tools/setup.sh installs.
set -euo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quiet() { # command...: run it and show its output only if it fails
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    echo "error: failed: $*"
    exit 1
  } >&2
}

echo "consumer: install the library"
cd "$root"
# Without optimisation, which takes most of the time: the installation is tried here, and the tests try what is fast.
quiet cmake --preset release -DTAILRACE_UNITY=ON -DCMAKE_CXX_FLAGS_RELEASE=-O0
quiet cmake --build --preset release
quiet cmake --build --preset release --target all_verify_interface_header_sets
quiet cmake --install build/release --prefix "$work/prefix"

echo "consumer: installed headers"
include=$work/prefix/include
private=$(
  cd "$include"
  find tailrace/io -mindepth 2 -name '*.h*'
  grep -rnE '#include <(hdf5|adios2|nlohmann|fmt|xxhash)' tailrace
  true
)
if [ -n "$private" ]; then
  printf 'error: private headers, or headers that need private libraries, are installed:\n%s\n' "$private" >&2
  exit 1
fi
echo "$(find "$include" -name '*.h*' | wc -l) headers, none of them private"

echo "consumer: find_package(Tailrace)"
quiet cmake -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
quiet cmake --build "$work/consumer"
mpiexec -n 2 "$work/consumer/consumer"
mpiexec -n 2 "$work/consumer/consumer-c" "$work/c.h5"
[ ! -e "$work/consumer/consumer-fortran" ] || mpiexec -n 2 "$work/consumer/consumer-fortran" "$work/fortran.h5"

for language in c fortran; do
  if [ "$language" = fortran ] && [ ! -e "$work/consumer/consumer-fortran" ]; then
    continue
  fi
  echo "consumer: find_package(Tailrace) in a project of the language $language alone"
  quiet cmake -S "$here/$language" -B "$work/$language" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
  quiet cmake --build "$work/$language"
  mpiexec -n 2 "$work/$language/consumer" "$work/$language-alone.h5"
done

echo "consumer: pkg-config tailrace"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tailrace.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs tailrace)
quiet mpicxx "$here/main.cpp" -o "$work/consumer-pc" "${flags[@]}"
mpiexec -n 2 "$work/consumer-pc"

echo "consumer: pkg-config tailrace, in C"
read -ra flags < <(pkg-config --cflags --libs tailrace)
quiet mpicc "$here/main.c" -o "$work/consumer-c-pc" "${flags[@]}"
mpiexec -n 2 "$work/consumer-c-pc" "$work/c-pc.h5"

if pkg-config --exists tailrace-fortran; then
  echo "consumer: pkg-config tailrace-fortran"
  read -ra flags < <(pkg-config --cflags --libs tailrace-fortran)
  quiet mpifort "$here/main.f90" -o "$work/consumer-fortran-pc" "${flags[@]}"
  mpiexec -n 2 "$work/consumer-fortran-pc" "$work/fortran-pc.h5"
fi

echo "consumer: a processor by its name"
[ "$(uname -m)" = x86_64 ] && arch=x86-64-v2 || arch=armv8-a
configure() { # name of a processor: CMake with no more than it needs
  cmake -S "$root" -B "$work/arch" -G Ninja -DTAILRACE_WITH_ADIOS2=OFF -DTAILRACE_BUILD_TESTS=OFF -DTAILRACE_ARCH="$1"
}
quiet configure "$arch"
grep -q -- "-march=$arch" "$work/arch/compile_commands.json"
quiet configure generic
if grep -q -- -march= "$work/arch/compile_commands.json"; then
  echo "error: expected no -march for TAILRACE_ARCH=generic" >&2
  exit 1
fi
if configure no-processor >"$work/log" 2>&1 || ! grep -q "TAILRACE_ARCH is 'no-processor'" "$work/log"; then
  echo "error: expected that CMake refuses TAILRACE_ARCH=no-processor" >&2
  exit 1
fi
if [ "$(uname -m)" = x86_64 ] && ! grep -qw avx512f /proc/cpuinfo; then
  echo "consumer: a library that was compiled for another processor"
  quiet g++ -std=c++20 -O2 -mavx512f -shared -fPIC "$root/src/tailrace/support/processor.cpp" -o "$work/libother.so"
  echo "int main(void) { return 0; }" >"$work/program.c"
  quiet gcc "$work/program.c" -o "$work/program" -Wl,--no-as-needed "$work/libother.so"
  if "$work/program" 2>"$work/log" || ! grep -q "was compiled for other processors" "$work/log"; then
    echo "error: expected that a library for AVX-512 says what is missing" >&2
    exit 1
  fi
fi
