#!/usr/bin/env bash
# Install the linters and what makes wheels into .venv, after tools/setup.sh; if they are there, do nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
declared=$(.venv/bin/python tools/requirements.py dev)
[ "$(cat .venv/tailrace-dev 2>/dev/null)" != "$declared" ] || exit 0
echo "linters, and what makes wheels" >&2
mapfile -t packages <<<"$declared"
.venv/bin/python -m pip install --quiet --disable-pip-version-check "${packages[@]}"
echo "$declared" >.venv/tailrace-dev
