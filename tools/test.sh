#!/usr/bin/env bash
# All tests, after tools/setup.sh. Arguments go to pytest: tools/test.sh -k transpose
set -uo pipefail
cd "$(dirname "$0")/.."
# More ranks than cores, on Debian's Open MPI: allowed, not bound, and giving way while they wait.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
failed=()

# A program that starts at the moment the last one of others ends finds that Open MPI removes the directory of its
# sessions, and gives up. Something in it keeps it.
OMPI_MCA_orte_tmpdir_base=$(mktemp -d)
export OMPI_MCA_orte_tmpdir_base
trap 'rm -rf "$OMPI_MCA_orte_tmpdir_base"' EXIT
mpiexec -n 1 sh -c '[ -z "${OMPI_MCA_orte_top_session_dir:-}" ] || mkdir "$OMPI_MCA_orte_top_session_dir/kept"'

start=$SECONDS
log=build/tests.log
echo "C++ tests: compile"
if cmake --build build/python >"$log" 2>&1; then
  ctest --test-dir build/python --output-on-failure --parallel "$(nproc)" --no-tests=error || failed+=("C++")
else
  grep -m 5 -A 5 -E 'error:|CMake Error' "$log" || tail -n 15 "$log"
  echo "error: the whole log is $PWD/$log"
  failed+=("C++ (compile)")
fi
cpp=$((SECONDS - start))

start=$SECONDS
echo "Python tests"
# Many tests wait for something. A file's tests stay together: they share the ranks that they start.
.venv/bin/python -m pytest --numprocesses "$(nproc)" --dist loadfile "$@" || failed+=("Python")
python=$((SECONDS - start))

echo "C++ tests $cpp s, Python tests $python s, together $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
