#!/usr/bin/env bash
# Build ADIOS2 with MPI once in a cache folder, and print its prefix on the last line of standard output.
#
#   tools/build_adios2.sh [PYTHON]   PYTHON is an interpreter with pip; it only fetches the source distribution
#   tools/build_adios2.sh --prefix   only print the prefix (the build is complete if the prefix has a file .complete)
#
# The prefix depends on the ADIOS2 version, its options, our changes (patch_adios2.py), the compilers (CC and CXX), MPI
# and HDF5. If one of them changes, ADIOS2 is built again. TAILRACE_HDF5=serial builds it without HDF5: ADIOS2 needs a
# parallel one, and a program cannot have two.
# The cache folder is ~/.cache/tailrace, or TAILRACE_CACHE.
set -euo pipefail

version=2.12.1.1001 # the version number on PyPI of the source distribution of ADIOS2 2.12.1
python=${1:-python3}
patch=$(dirname "${BASH_SOURCE[0]}")/patch_adios2.py
cache=${TAILRACE_CACHE:-$HOME/.cache/tailrace}

options=(
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib
  # -O2 takes a third longer and writes no faster
  "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"
  -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=OFF -DADIOS2_BUILD_EXAMPLES=OFF
  -DADIOS2_INSTALL_GENERATE_CONFIG=OFF # a script that gives options of the compiler, which takes seconds to make
  # Use a different library suffix: the serial adios2 wheel has the same sonames and may be in the same Python process.
  -DADIOS2_LIBRARY_SUFFIX=_tailrace
  -DADIOS2_USE_MPI=ON -DADIOS2_USE_HDF5=ON -DADIOS2_USE_SST=ON
  -DADIOS2_USE_Python=OFF -DADIOS2_USE_Fortran=OFF -DADIOS2_USE_UCX=OFF -DADIOS2_USE_CURL=OFF
  -DADIOS2_USE_DataMan=OFF -DADIOS2_USE_Campaign=OFF -DADIOS2_USE_PNG=OFF -DADIOS2_USE_ZeroMQ=OFF
  -DADIOS2_USE_Blosc2=OFF -DADIOS2_USE_BZip2=OFF -DADIOS2_USE_ZFP=OFF -DADIOS2_USE_SZ=OFF
  -DADIOS2_USE_MGARD=OFF -DADIOS2_USE_CUDA=OFF -DADIOS2_USE_Kokkos=OFF -DADIOS2_USE_AWSSDK=OFF
  -DADIOS2_USE_XRootD=OFF -DADIOS2_USE_IME=OFF -DADIOS2_USE_DAOS=OFF -DADIOS2_USE_Sodium=OFF
  -DADIOS2_USE_OpenSSL=OFF -DADIOS2_USE_MHS=OFF
  -DHDF5_PREFER_PARALLEL=ON
)

has_parallel_hdf5() { # where CMake looks; without any wrapper of a compiler ADIOS2 finds out
  local folder
  for folder in ${HDF5_ROOT:+"$HDF5_ROOT"} $(tr ':;' '  ' <<<"${CMAKE_PREFIX_PATH:-}"); do
    [ ! -x "$folder/bin/h5pcc" ] || return 0
    [ ! -x "$folder/bin/h5cc" ] || return 1
  done
  command -v h5pcc >/dev/null || ! command -v h5cc >/dev/null
}
if [ "${TAILRACE_HDF5:-}" = serial ] || { [ -z "${TAILRACE_HDF5:-}" ] && ! has_parallel_hdf5; }; then
  options+=(-DADIOS2_USE_HDF5=OFF)
fi

compilers=$(${CC:-cc} --version 2>/dev/null | head -n 1; ${CXX:-c++} --version 2>/dev/null | head -n 1) || true
mpi=$(mpicxx --version 2>/dev/null | head -n 1; mpirun --version 2>/dev/null | head -n 1) || true
hdf5=$(h5pcc -showconfig 2>/dev/null | sed -n 's/.*HDF5 Version: *//p') || true
key=$(printf '%s\n' "$version" "${options[@]}" "$compilers" "$mpi" "$hdf5" "$(uname -m)" "$(sha256sum <"$patch")" | sha256sum | cut -c1-12)
prefix=$cache/adios2-$version-$key
if [ "${1:-}" = --prefix ] || [ -e "$prefix/.complete" ]; then
  echo "$prefix"
  exit 0
fi

work=$cache/build-adios2-$version-$key
log=$cache/adios2-$version-$key.log
mkdir -p "$cache"
exec 9>"$cache/adios2.lock"
flock 9 # two builds at the same time would use the same folder
if [ -e "$prefix/.complete" ]; then
  echo "$prefix"
  exit 0
fi
rm -rf "$work"
mkdir -p "$work"

step() { # name, command...: run the command with its output in the log; if it fails, name the log
  local name=$1
  shift
  echo "  adios2: $name" >&2
  if ! "$@" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "error: '$name' of ADIOS2 $version failed; the whole log is $log" >&2
    exit 1
  fi
}

: >"$log"
step "fetch the source distribution $version" \
  "$python" -m pip download --no-deps --no-binary adios2 --dest "$work" "adios2==$version"
mkdir -p "$work/source"
step "unpack" tar -xzf "$work/adios2-$version.tar.gz" -C "$work/source" --strip-components=1
step "change" "$python" "$patch" "$work/source"

step "configure" cmake -S "$work/source" -B "$work/build" -G Ninja -Wno-dev \
  -DCMAKE_INSTALL_PREFIX="$prefix" "${options[@]}"

total=$(ninja -C "$work/build" -n | sed -n 's/^\[1\/\([0-9]*\)\].*/\1/p' | head -n 1)
echo "  adios2: compile ${total:-} files (about 3 minutes of two cores; log: $log)" >&2
nice cmake --build "$work/build" 2>>"$log" | tee -a "$log" | awk '
  match($0, /^\[[0-9]+\/[0-9]+\]/) { split(substr($0, 2, RLENGTH - 2), n, "/"); p = int(20 * n[1] / n[2])
    if (p != last) { printf "  adios2: %d %%\n", 5 * p > "/dev/stderr"; last = p } }' ||
  { grep -n -m 5 -E 'error:|FAILED' "$log" >&2; echo "error: compiling ADIOS2 failed; the whole log is $log" >&2; exit 1; }
step "install" cmake --install "$work/build"
touch "$prefix/.complete"
echo "  adios2: done in $SECONDS s" >&2
rm -rf "$work"
echo "$prefix"
