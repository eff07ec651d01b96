#!/usr/bin/env bash
# Run the demonstration of `make demo`, after tools/setup.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/python -m tailrace.cli.demo "$@"
