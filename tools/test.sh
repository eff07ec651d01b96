#!/usr/bin/env bash
# Run all tests, after tools/setup.sh; with --quick, those of tests/python/quick.txt. The script passes its other arguments
# to pytest: tools/test.sh -k transpose
set -uo pipefail
cd "$(dirname "$0")/.."
# For Open MPI of Debian: allow more ranks than cores, do not bind ranks, and let waiting ranks yield the processor.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Between ranks of one machine Open MPI chooses ob1, after it has asked all fast networks, 0.2 s in each start of MPI.
export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}
failed=()

# When the last MPI program ends, Open MPI removes the session directory. A program that starts at this moment then
# fails. A file in the directory prevents the removal.
OMPI_MCA_orte_tmpdir_base=$(mktemp -d)
export OMPI_MCA_orte_tmpdir_base
trap 'rm -rf "$OMPI_MCA_orte_tmpdir_base"' EXIT
mpiexec -n 1 sh -c '[ -z "${OMPI_MCA_orte_top_session_dir:-}" ] || mkdir "$OMPI_MCA_orte_top_session_dir/kept"'

start=$SECONDS
log=build/tests.log
if [ "${1:-}" = --quick ]; then
  set -- @tests/python/quick.txt "${@:2}"
else
  echo "C++ tests: compile"
  if cmake --build build/python >"$log" 2>&1; then
    ctest --test-dir build/python --output-on-failure --parallel "$(nproc)" --no-tests=error || failed+=("C++")
  else
    grep -m 5 -A 5 -E 'error:|CMake Error' "$log" || tail -n 15 "$log"
    echo "error: the whole log is $PWD/$log"
    failed+=("C++ (compile)")
  fi
fi
cpp=$((SECONDS - start))

start=$SECONDS
echo "Python tests"
# Many tests wait, so that more run at once than there are cores. Those of one file stay in one process, because they use
# the same ranks.
.venv/bin/python -m pytest --numprocesses $((($(nproc) * 3 + 1) / 2)) --dist loadfile "$@" || failed+=("Python")
python=$((SECONDS - start))

echo "C++ tests $cpp s, Python tests $python s, together $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
