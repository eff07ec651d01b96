#!/usr/bin/env bash
# Install the real ParaView of Debian or Ubuntu, let it open our files, and execute its pipelines in runs: tests that are
# skipped where it is not installed. ParaView needs a display, which Xvfb makes. This script needs .venv (make setup).
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
packages=(paraview python3-paraview xvfb libgl1-mesa-dri)

if ! { command -v pvbatch && command -v Xvfb; } >/dev/null; then
  sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" apt-get install -y --no-install-recommends "${packages[@]}"
fi
.venv/bin/python -m pytest tests/python/formats/test_paraview.py tests/python/catalyst "$@"
