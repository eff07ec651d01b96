#!/usr/bin/env bash
# Build the documentation into build/docs/html, after tools/setup.sh. Warnings are errors. Arguments go to Sphinx.
# The tools have an environment of their own, .venv-docs, which also sees the packages of .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
log=build/docs/install.log
mkdir -p build/docs

fail() {
  echo "error: $*" >&2
  exit 1
}

if ! command -v doxygen >/dev/null; then
  [ -e /etc/debian_version ] && [ "$(id -u)" = 0 ] || fail "doxygen is missing. To fix this, install it (Debian: sudo apt-get install doxygen)"
  echo "system package: doxygen" >&2
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends doxygen; } >"$log" 2>&1 ||
    fail "the whole log is $PWD/$log"
fi

# A file in .venv-docs stores what was installed there.
extra=$(.venv/bin/python tools/requirements.py docs)
if [ "$(cat .venv-docs/tailrace-docs 2>/dev/null)" != "$extra" ]; then
  echo "Python packages of the documentation" >&2
  rm -rf .venv-docs
  .venv/bin/python -m venv .venv-docs
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$(.venv-docs/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tailrace.pth"
  mapfile -t packages <<<"$extra"
  .venv-docs/bin/python -m pip install --disable-pip-version-check "${packages[@]}" >"$log" 2>&1 ||
    fail "$(tail -n 3 "$log")
  the whole log is $PWD/$log"
  echo "$extra" >.venv-docs/tailrace-docs
fi

rm -rf docs/reference/generated
.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet -b html -d build/docs/doctrees "$@" docs build/docs/html
echo "open build/docs/html/index.html"
