#!/usr/bin/env bash
# Install a wheel of tools/wheel.sh into a new environment, and compute, write, read and compile against it there. No
# library of this machine may be used but those of MPI and those that every Linux has. Without an argument, the wheel is
# made of the build of tools/setup.sh.
#
#   tests/install/wheel.sh [WHEEL]
set -euo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
wheel=${1:-$(TAILRACE_ARCH=native "$root/tools/wheel.sh")}
wheel=$(realpath "$wheel")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo "wheel: install $(basename "$wheel"), $(stat -c %s "$wheel") bytes"
"$(realpath "$root/.venv/bin/python")" -m venv env
start=$SECONDS
env/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"
echo "wheel: installed in $((SECONDS - start)) s"

echo "wheel: libraries"
env/bin/python - <<'EOF'
import re
import sys
from pathlib import Path

import tailrace.core

loaded = {Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
ours = {path.name for path in loaded if path.is_relative_to(Path(sys.prefix).resolve())}
for name in ("_core", "libtailrace", "libadios2_tailrace_core", "libhdf5", "libfftw3", "libfmt", "libxxhash"):
    assert any(one.startswith(name) for one in ours), f"{name} is not in the wheel, but of this machine"
foreign = {path.name for path in loaded if not path.is_relative_to(Path(sys.prefix).resolve())}
print(len(ours), "inside,", len(foreign), "of this machine")
assert not [name for name in foreign if re.match("lib(hdf5|fftw|adios2|curl|ssl|krb5|ldap|gfortran)", name)], foreign
EOF

echo "wheel: a run on two ranks, read and verified"
env/bin/tailrace new tgv >/dev/null
timeout 300 env/bin/tailrace run tgv.toml -n 2 --set time.steps=4 --set "grid.points=[24,16,12]" >run.log 2>&1 || {
  cat run.log
  exit 1
}
env/bin/tailrace verify snapshots.h5
for engine in bp5 raw; do
  timeout 300 env/bin/tailrace convert snapshots.h5 "copy.$engine" --engine "$engine" >/dev/null
  env/bin/tailrace verify "copy.$engine"
done

echo "wheel: programs in C and Fortran"
read -ra flags < <(env/bin/tailrace flags c)
mpicc "$here/main.c" -o in-c "${flags[@]}"
timeout 60 mpiexec -n 2 ./in-c c.h5
if compgen -G 'env/lib*/python3*/site-packages/tailrace/libtailrace_fortran.*' >/dev/null; then
  read -ra flags < <(env/bin/tailrace flags fortran)
  mpifort "$here/main.f90" -o in-fortran "${flags[@]}"
  timeout 60 mpiexec -n 2 ./in-fortran fortran.h5
fi
