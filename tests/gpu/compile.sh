#!/usr/bin/env bash
# Compile what runs on cards, which needs none: a kernel that spills registers, or keeps an array in memory, fails. Only
# those of lines of more than 544 points in double precision may spill up to 96 bytes. nvcc is that of PATH; without one,
# NVIDIA's packages of pip go into build/nvcc (700 MB).
#   tests/gpu/compile.sh                    # for A100 and H100: sm_80 and sm_90; notes in compiled.txt what was compiled
#   tests/gpu/compile.sh sm_90
#   tests/gpu/compile.sh --if-changed       # not where compiled.txt says that these sources were
set -euo pipefail
cd "$(dirname "$0")/../.."
sources=( # the longest first
  src/tailrace/gpu/{momentum,derivatives,device_projection,device_scalar}.cpp tests/gpu/kernels.cu
  src/tailrace/gpu/{device_poisson,flow_on_device,transform}.cpp src/tailrace/device/stream.cpp)
flags="-x cu -std=c++20 -O3 --expt-relaxed-constexpr --expt-extended-lambda -Werror all-warnings -DOMPI_SKIP_MPICXX"
note=tests/gpu/compiled.txt

# All that a kernel is made of: what the sources include of this project, and how they are compiled and judged.
digest() {
  {
    ${CXX:-c++} -std=c++20 -D__CUDACC__ -I src -x c++ -MM -MG "${sources[@]}" | tr ' \\' '\n\n' | grep -E '^(src|tests)/' &&
      echo tests/gpu/spills.py
  } | LC_ALL=C sort -u | xargs sha256sum | { cat && echo "$flags"; } | sha256sum | cut -d ' ' -f 1
}
now=$(digest) # before compiling: a source may be changed meanwhile
if [ "${1:-}" = --if-changed ]; then
  shift
  if grep -qs "^$now " "$note"; then
    echo "the kernels are those that were compiled: $(cut -d ' ' -f 2- "$note")"
    exit 0
  fi
  echo "the kernels have changed since they were compiled, as $note says: compiling them"
fi
cards=("${@:-sm_80 sm_90}")

nvcc=$(command -v nvcc || true)
if [ -z "$nvcc" ]; then
  [ -d build/nvcc ] || python3 -m venv build/nvcc
  packages=(nvidia-cufft==12.0.*)
  for name in nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-cccl nvidia-cuda-runtime; do
    packages+=("$name==13.0.*")
  done
  build/nvcc/bin/python -m pip install -q --disable-pip-version-check "${packages[@]}"
  nvcc=$(ls build/nvcc/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  echo "$flags -Xptxas -v -I src"
  for card in ${cards[*]}; do
    echo "-gencode arch=compute_${card#sm_},code=$card"
  done
  for path in $(mpicxx --showme:incdirs 2>/dev/null || mpicxx -show | grep -o -- '-I[^ ]*' | cut -c3-); do
    echo "-I $path"
  done
} >"$work/options"

compile() {
  local log="$work/$(basename "$1").log"
  "$nvcc" --options-file "$work/options" -c "$1" -o "$log.o" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
  python3 tests/gpu/spills.py "$1" <"$log"
}
export nvcc work
export -f compile
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 1 bash -c 'compile "$1"' compile
if [ "${cards[*]}" = "sm_80 sm_90" ]; then
  echo "$now ${cards[*]} by nvcc $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')" >"$note"
fi
