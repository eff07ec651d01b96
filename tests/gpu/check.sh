#!/usr/bin/env bash
# Everything that needs a card, in one call of a few minutes: the flows of the device against those of the processor, the
# tools that look for wrong accesses and races, and the times. Build first, which needs no card:
#   cmake -B build/cuda -G Ninja -DTAILRACE_GPU=CUDA -DCMAKE_CUDA_ARCHITECTURES=90 -DTAILRACE_WITH_ADIOS2=OFF
#   ninja -C build/cuda test_gpu_flow_on_device test_gpu_state_on_device device_steps
#   tests/gpu/check.sh [build/cuda]
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/cuda}
tests="$build/tests/cpp/test_gpu_flow_on_device $build/tests/cpp/test_gpu_state_on_device" steps=$build/benchmarks/device_steps
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failed=0
run() {
  echo "== $*"
  "$@" || failed=1
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || failed=1
for test in $tests; do
  run timeout 120 "$test"
done
for ranks in 2 3; do # on one card; what they exchange goes through the memory of the host
  for test in $tests; do
    run timeout 120 mpiexec --oversubscribe -n $ranks "$test"
  done
done
for points in "512 512 512" "256 256 256" "128 128 128"; do
  run timeout 60 "$steps" double $points periodic 20
done
run timeout 60 "$steps" double 512 512 512 periodic 20 outputs
run timeout 60 "$steps" float 512 512 512 periodic 20
run timeout 60 "$steps" double 256 257 168 channel 20
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    for test in $tests; do
      run timeout 100 compute-sanitizer --error-exitcode 1 --tool "$tool" "$test" \
        --gtest_filter='*TakesForces:*KeepsAFlowRate:*CarriesScalars:*AveragesAreThoseOfTheProcessor'
    done
  done
else
  echo "compute-sanitizer is not in the PATH: no check for wrong accesses and races" && failed=1
fi
exit $failed
