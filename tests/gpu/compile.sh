#!/usr/bin/env bash
# Compile what runs on cards, which needs none: a kernel that spills registers, or keeps an array in memory, fails. Only
# those of lines of more than 544 points in double precision may spill up to 96 bytes. nvcc is that of PATH; without one,
# NVIDIA's packages of pip go into build/nvcc (700 MB). Some ten minutes on two cores for each kind of card.
#   tests/gpu/compile.sh                    # for A100 and H100: sm_80 and sm_90
#   tests/gpu/compile.sh sm_90
set -euo pipefail
cd "$(dirname "$0")/../.."
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

targets=()
for card in ${cards[*]}; do
  targets+=(-gencode "arch=compute_${card#sm_},code=$card")
done
includes=(-I src)
for path in $(mpicxx --showme:incdirs 2>/dev/null || mpicxx -show | grep -o -- '-I[^ ]*' | cut -c3-); do
  includes+=(-I "$path")
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() {
  local log="$work/$(basename "$1").log"
  "$nvcc" -x cu -std=c++20 -O3 --expt-relaxed-constexpr --expt-extended-lambda -Werror all-warnings -DOMPI_SKIP_MPICXX \
    "${targets[@]}" "${includes[@]}" -Xptxas -v -c "$1" -o "$log.o" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
  python3 tests/gpu/spills.py "$1" <"$log"
}
status=0
for source in tests/gpu/kernels.cu src/tailrace/device/stream.cpp src/tailrace/gpu/{transform,device_poisson,flow_on_device,derivatives,device_scalar,momentum,device_projection}.cpp; do
  compile "$source" || status=1
done
exit $status
