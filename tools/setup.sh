#!/usr/bin/env bash
# Install all that `make test` and `make demo` need: system packages, a virtual environment, ADIOS2, this package.
# tools/docs.sh installs what only `make docs` needs, tools/dev_packages.sh what `make lint` and `make wheel` need.
# Each step first checks whether it is already done, so a second run does nothing.
#
#   tools/setup.sh              copies the Python sources into the environment, as for any user
#   tools/setup.sh --editable   uses the Python sources in place; only changes in C++ need another run
#
# Environment: PYTHON (interpreter for a new environment), CC, CXX, FC (compilers), ADIOS2_ROOT (use this ADIOS2 with MPI
# and do not build one), TAILRACE_PACKAGES (no: on Debian too, use what is found and ask for no system package),
# TAILRACE_CACHE (folder for the ADIOS2 build; ~/.cache/tailrace), TAILRACE_ARCH (native, generic, or a processor by its
# name of -march), TAILRACE_WERROR (ON: compiler warnings are errors).
set -euo pipefail
cd "$(dirname "$0")/.."

editable=() unity=ON
[ "${1:-}" != --editable ] || editable=(--editable) unity=OFF
log=build/setup.log
packages=(
  build-essential gfortran cmake ninja-build git pkg-config python3-dev python3-venv
  libopenmpi-dev openmpi-bin libhdf5-openmpi-dev libfftw3-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libgtest-dev
  libegl1 libgl1-mesa-dri # to draw pictures without a display
)

fail() {
  echo "error: $*" >&2
  exit 1
}

# On a terminal, show the seconds and the last [n/m] of the compiler. This process must not run longer than the script.
tick() { # name
  local start=$SECONDS
  while sleep 1; do
    printf '\r\033[K%s ... %d s %s' "$1" $((SECONDS - start)) "$(tail -n 5 "$log" | grep -oE '\[[0-9]+/[0-9]+\]' | tail -n 1)" >&2
  done
}
ticker=
stop_ticker() {
  [ -z "$ticker" ] || kill "$ticker" 2>/dev/null || true
  ticker=
}
stop_all() {
  stop_ticker
  [ -z "${packages_process:-}" ] || kill "$packages_process" 2>/dev/null || true
}
trap stop_all EXIT

run() { # name, command...: run the command with its output in the log, and print the time that it took
  local name=$1 start=$SECONDS status=0
  shift
  : >"$log"
  if [ -t 2 ]; then
    tick "$name" &
    ticker=$!
  fi
  printf '%s ... ' "$name" >&2
  "$@" >>"$log" 2>&1 || status=$?
  stop_ticker
  [ ! -t 2 ] || printf '\r\033[K%s ... ' "$name" >&2
  if [ $status != 0 ]; then
    echo "failed after $((SECONDS - start)) s" >&2
    grep -m 1 -A 6 -E 'error:|Error:|ERROR|CMake Error' "$log" >&2 || tail -n 15 "$log" >&2
    fail "the whole log is $PWD/$log"
  fi
  echo "$((SECONDS - start)) s" >&2
}
mkdir -p build

# ---- system packages -------------------------------------------------------------------------------------------------
default_python=python3
werror=OFF
if [ "${TAILRACE_PACKAGES:-yes}" != no ] && [ -e /etc/debian_version ] && command -v dpkg-query >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" = 0 ] || fail "system packages are missing. To fix this, run: sudo apt-get install ${missing[*]}
  If you have what they contain from elsewhere (modules, Spack, conda), set TAILRACE_PACKAGES=no"
    export DEBIAN_FRONTEND=noninteractive
    run "package lists" apt-get update
    run "system packages: ${missing[*]}" apt-get install -y --no-install-recommends "${missing[@]}"
  fi
  default_python=/usr/bin/python3
  ! grep -q '^12\.' /etc/debian_version || werror=ON # the project is tested with this compiler; newer ones warn of more
else
  missing=()
  tools=(cmake ninja git pkg-config "${PYTHON:-python3}")
  # A compiler that the user names may have options, and may find MPI by itself, as those of a Cray do.
  if [ -z "${CXX:-}" ]; then
    tools+=(c++ mpicxx)
  elif ! command -v "$CXX" >/dev/null; then
    tools+=("${CXX%% *}")
  fi
  for tool in "${tools[@]}"; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} = 0 ] || fail "not found: ${missing[*]}. System packages are installed on Debian only. To fix this, install
  a C++20 compiler, CMake 3.25, Ninja, git, pkg-config, Python 3.11 with headers and venv, MPI with its compiler wrappers,
  HDF5, FFTW 3 (double and single), {fmt}, nlohmann JSON, xxHash, GoogleTest, and EGL for pictures"
fi
werror=${TAILRACE_WERROR:-$werror}

# ---- virtual environment ---------------------------------------------------------------------------------------------
python=.venv/bin/python
if ! "$python" -m pip --version >/dev/null 2>&1; then
  rm -rf .venv build/python
  run "virtual environment .venv" "${PYTHON:-$default_python}" -m venv .venv
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail ".venv has $("$python" --version); Tailrace needs 3.11 or newer. To fix this, remove .venv and set PYTHON"
export PIP_DISABLE_PIP_VERSION_CHECK=1

# ---- Python packages -------------------------------------------------------------------------------------------------
# A file in .venv stores the hash of what declares them. They are installed while ADIOS2 is configured and compiled, of
# which the first part keeps one processor busy only.
declared=$(sha256sum <pyproject.toml)
packages_log=build/packages.log
packages_process=
start_packages() {
  local requirements
  mapfile -t requirements < <("$python" tools/requirements.py)
  "$python" -m pip install "${requirements[@]}" >"$packages_log" 2>&1 &
  packages_process=$!
}
finish_packages() {
  local status=0
  wait "$packages_process" || status=$?
  packages_process=
  cat "$packages_log"
  return $status
}
[ "$(cat .venv/tailrace-dependencies 2>/dev/null)" = "$declared" ] || start_packages

# ---- ADIOS2 ----------------------------------------------------------------------------------------------------------
# If the user names an ADIOS2, CMake finds it later. Otherwise this script builds ADIOS2 once.
have_adios2() {
  local prefix prefixes
  [ -z "${ADIOS2_ROOT:-}${ADIOS2_DIR:-}" ] || return 0
  IFS=: read -ra prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}" /usr/local /usr; do
    ! compgen -G "$prefix/lib*/cmake/adios2/adios2-config.cmake" >/dev/null || return 0
  done
  return 1
}
adios2=()
if ! have_adios2; then
  ADIOS2_ROOT=$(tools/build_adios2.sh "$python" | tail -n 1)
  export ADIOS2_ROOT
  # Named, because a build folder remembers the ADIOS2 that it found first.
  adios2=(--config-settings=cmake.define.ADIOS2_DIR="$ADIOS2_ROOT/lib/cmake/adios2")
fi

if [ -n "$packages_process" ]; then
  run "Python packages" finish_packages
  echo "$declared" >.venv/tailrace-dependencies
fi

# ---- this package ----------------------------------------------------------------------------------------------------
# A file in .venv stores the hash of all files from which the installed package was built.
sources=(CMakeLists.txt cmake src bindings)
[ ${#editable[@]} -gt 0 ] || sources+=(python)
arch=${TAILRACE_ARCH:-native}
fortran=${FC:-gfortran}
fortran=$(command -v "${fortran%% *}") || [ -z "${FC:-}" ] || fail "FC is '$FC', and there is no such command. To fix this, set it
  to your Fortran compiler, or unset it"
# CMake keeps the compilers and the MPI that it has found first; with others the build begins anew.
compilers=$(
  for compiler in "${CC:-cc}" "${CXX:-c++}" mpicxx "$fortran"; do
    found=$(command -v "${compiler%% *}") || continue
    echo "$compiler $(realpath "$found") $("${compiler%% *}" --version 2>/dev/null | head -n 1)"
  done
  mpicxx -show 2>/dev/null || true
)
if [ -d build/python ] && [ "$(cat .venv/tailrace-compilers 2>/dev/null)" != "$compilers" ]; then
  rm -rf build/python
fi
echo "$compilers" >.venv/tailrace-compilers
settings="${editable[*]} $compilers ${ADIOS2_ROOT:-} ${ADIOS2_DIR:-} ${CMAKE_PREFIX_PATH:-} $werror $arch"
state=$({
  echo "$declared $settings"
  find "${sources[@]}" -type f ! -path '*/__pycache__/*' ! -name _core.pyi -print0 | sort -z | xargs -0 sha256sum
} | sha256sum)

if [ "$(cat .venv/tailrace-sources 2>/dev/null)" != "$state" ]; then
  # Library, extension module and C++ tests use the same build folder. `make test` compiles the tests there.
  run "tailrace: compile and install" "$python" -m pip install --verbose --no-build-isolation --no-deps \
    --config-settings=build-dir=build/python \
    --config-settings=cmake.define.TAILRACE_BUILD_TESTS=ON \
    --config-settings=cmake.define.TAILRACE_WERROR="$werror" \
    --config-settings=cmake.define.TAILRACE_UNITY="$unity" \
    --config-settings=cmake.define.TAILRACE_ARCH="$arch" \
    "${adios2[@]}" \
    "${editable[@]}" .
  echo "$state" >.venv/tailrace-sources
  found=$("$python" -P -c 'import tailrace.core as core; print(core.build_info()["adios2"] or "none")') || found=
  [ "$found" != none ] ||
    echo "note: Tailrace is built without ADIOS2, so there are no BP files and no streams: the ADIOS2 that was found does not
  fit, as $PWD/$log says. All else works. To have them, hide that ADIOS2, remove build/python, and run this again" >&2
fi
# mpi4py from PyPI takes the first MPI that it finds. Where that is another one than ours, mpi4py is built for ours.
same_mpi() {
  "$python" -P - <<'EOF' 2>/dev/null
import mpi4py, sys
mpi4py.rc.initialize = False
from mpi4py import MPI
from tailrace.core import build_info
sys.exit(("Open MPI" in build_info()["mpi"]) != ("Open MPI" in MPI.Get_library_version()))
EOF
}
if [ "$(cat .venv/tailrace-mpi4py 2>/dev/null)" != "$compilers" ]; then
  if ! same_mpi; then # a package that pip has built before may be for another MPI
    run "mpi4py for this MPI" "$python" -m pip install --no-cache-dir --no-binary mpi4py --force-reinstall --no-deps 'mpi4py>=4.1'
    same_mpi || fail "mpi4py has another MPI than the solver. To fix this, have MPICC name the mpicc of the MPI of ${CXX:-mpicxx}"
  fi
  echo "$compilers" >.venv/tailrace-mpi4py
fi
if ! compgen -G '.venv/lib*/python3*/site-packages/tailrace/libtailrace_fortran.*' >/dev/null; then
  echo "note: no Fortran compiler was found, so the Fortran module is not built. All else works. To have it, install
  gfortran, or set FC to your compiler, and run this again" >&2
fi
