#!/usr/bin/env bash
# Compile the code for lanes (src/tailrace/ops/lanes) for cards, which needs none: a kernel that spills registers, or keeps
# an array in memory, fails. nvcc is that of PATH; without one, NVIDIA's packages of pip go into build/nvcc (300 MB).
#   tests/gpu/compile.sh                    # for A100 and H100: sm_80 and sm_90
#   tests/gpu/compile.sh sm_90
set -euo pipefail
cd "$(dirname "$0")/../.."
cards=("${@:-sm_80 sm_90}")

nvcc=$(command -v nvcc || true)
if [ -z "$nvcc" ]; then
  [ -d build/nvcc ] || python3 -m venv build/nvcc
  packages=()
  for name in nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-cccl nvidia-cuda-runtime; do
    packages+=("$name==13.0.*")
  done
  build/nvcc/bin/python -m pip install -q --disable-pip-version-check "${packages[@]}"
  nvcc=$(ls build/nvcc/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
fi

targets=()
for card in ${cards[*]}; do
  targets+=(-gencode "arch=compute_${card#sm_},code=$card")
done
includes=(-I src)
for path in $(mpicxx --showme:incdirs 2>/dev/null || mpicxx -show | grep -o -- '-I[^ ]*' | cut -c3-); do
  includes+=(-I "$path")
done
log=$(mktemp)
trap 'rm -f "$log" "$log.o"' EXIT
"$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr --expt-extended-lambda -Werror all-warnings -DOMPI_SKIP_MPICXX \
  "${targets[@]}" "${includes[@]}" --threads 2 -Xptxas -v -c tests/gpu/kernels.cu -o "$log.o" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
kernels=$(grep -c 'Compiling entry function' "$log")
clean=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$log" || true)
echo "$kernels kernels for ${cards[*]}, of which $clean keep all of their values in registers"
[ "$kernels" -gt 0 ] && [ "$kernels" = "$clean" ]
