#!/usr/bin/env bash
# Install Debian's or Ubuntu's Chromium, and let it open the live page: tests that are skipped where it is not installed.
# This script needs .venv (make setup).
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if ! command -v chromium >/dev/null; then
  sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" apt-get install -y --no-install-recommends chromium
fi
.venv/bin/python -m pytest tests/python/live_page "$@"
