#!/usr/bin/env bash
# Measure input and output on this machine in some minutes, compare with the measurement before, and show the report.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p bench-output
earlier=$(find bench-output -name 'io-*.jsonl' | sort | tail -n 1)
name=bench-output/io-$(date +%Y%m%d-%H%M%S)
status=0
.venv/bin/tailrace bench io --quick --directory bench-output -o "$name.jsonl" ${earlier:+--against "$earlier"} || status=$?
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
  xdg-open "$name.html"
else
  echo "open $name.html"
fi
exit $status
