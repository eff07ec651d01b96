#!/usr/bin/env bash
# Run all linters, after tools/setup.sh. With --fix, first fix everything that the tools can fix.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
status=0

mapfile -t cpp < <(find src bindings tests examples \( -name '*.[ch]pp' -o -name '*.h' \) 2>/dev/null | sort)
if [ "${1:-}" = --fix ]; then
  $bin/ruff check --quiet --fix-only .
  $bin/ruff format --quiet .
  $bin/clang-format -i "${cpp[@]}"
fi

check() { # name, command...
  local name=$1
  shift
  if "$@"; then
    echo "$name: ok"
  else
    echo "$name: failed"
    status=1
  fi
}
clang_format() { # prints the number of places and the files; `make format` fixes them
  local places
  places=$($bin/clang-format --dry-run -Werror "${cpp[@]}" 2>&1 | grep 'error:' | cut -d: -f1 | sort | uniq -c)
  [ -z "$places" ] || echo "$places"
  [ -z "$places" ]
}
clang_tidy() { # checks all sources of library and bindings with the options of the build; .clang-tidy lists the checks
  # with a folder of its own: the build of tools/setup.sh compiles several sources at once
  cmake -S . -B build/lint -G Ninja -DTAILRACE_BUILD_PYTHON=ON -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    "-D$(grep -m 1 '^ADIOS2_DIR:' build/python/CMakeCache.txt)" >/dev/null &&
    find src bindings -name '*.cpp' -print0 | xargs -0 -n 1 -P "$(nproc)" $bin/clang-tidy -p build/lint --quiet
}
check "ruff check" $bin/ruff check --quiet --output-format concise .
check "ruff format (make format fixes it)" $bin/ruff format --check --quiet --output-format concise .
check "clang-format (make format fixes it)" clang_format
check "clang-tidy" clang_tidy
# mypy expects the types of the extension module beside the sources. The build has written them.
cp build/python/bindings/_core.pyi python/tailrace/
check "mypy" $bin/mypy
check "layers" $bin/python tools/check_layers.py
check "names of engines" $bin/python tools/check_engine_names.py
exit $status
