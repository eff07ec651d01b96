#!/usr/bin/env bash
# Build a wheel, after tools/setup.sh: a machine that has only Python and the runtime of the same MPI installs it without a
# compiler. ADIOS2, HDF5, FFTW and all that they need are inside; MPI, and what every Linux has, are not.
#
# Environment: TAILRACE_ARCH (x86-64-v3, or generic on other machines; if setup.sh has built for the same, from its build),
# TAILRACE_WERROR, as for tools/setup.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/dev_packages.sh
python=$PWD/.venv/bin/python
[ "$(uname -m)" = x86_64 ] && usual=x86-64-v3 || usual=generic
arch=${TAILRACE_ARCH:-$usual}
build=build/wheel/$arch
settings=(TAILRACE_UNITY=ON "TAILRACE_WERROR=${TAILRACE_WERROR:-OFF}")
if [ "$arch" = "$(sed -n 's/^TAILRACE_ARCH:STRING=//p' build/python/CMakeCache.txt)" ]; then
  build=build/python settings=() # where it is compiled already
fi
mkdir -p build/wheel
log=build/wheel/log

step() { # command...: run it with its output in the log
  "$@" >>"$log" 2>&1 || {
    grep -m 1 -A 6 -E 'error:|Error:|ERROR|CMake Error' "$log" >&2 || tail -n 15 "$log" >&2
    echo "error: the whole log is $PWD/$log" >&2
    exit 1
  }
}
: >"$log"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
adios2=$(sed -n 's/^ADIOS2_DIR:[A-Z]*=//p' build/python/CMakeCache.txt)
echo "wheel: compile for $arch" >&2
step "$python" -m pip wheel . --verbose --no-build-isolation --no-deps --wheel-dir "$work/bare" \
  --config-settings=build-dir="$build" \
  --config-settings=cmake.define.ADIOS2_DIR="$adios2" \
  --config-settings=cmake.define.TAILRACE_ARCH="$arch" \
  "${settings[@]/#/--config-settings=cmake.define.}"

# The libraries of Open MPI and of MPICH by their names; what those need is left out with them.
echo "wheel: put the libraries inside" >&2
PATH=$PWD/.venv/bin:$PATH step "$python" -m auditwheel repair --wheel-dir "$work/whole" \
  --exclude 'libmpi*.so.*' --exclude 'libopen-*.so.*' "$work"/bare/*.whl

mpi=$("$python" -c 'from tailrace.core import build_info; print(build_info()["mpi"])')
case $mpi in
  *Open\ MPI*) mpi=openmpi ;;
  *MPICH*) mpi=mpich ;;
  *) mpi=mpi ;;
esac
# Wheels for two kinds of MPI have one name, so that each has a folder.
folder=build/wheel/$mpi-$arch
rm -rf "$folder"
mkdir -p "$folder"
mv "$work"/whole/*.whl "$folder"
ls "$PWD/$folder"/*.whl
