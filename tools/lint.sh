#!/usr/bin/env bash
# Run all linters, after tools/setup.sh. With --fix, first fix everything that the tools can fix.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
status=0
tools/dev_packages.sh || exit 1

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
  # The headers of other libraries take nine tenths of the time, so that the sources of a folder are read together, as the
  # build does. That they include each other is then no fault.
  cmake -S . -B build/lint -G Ninja -DTAILRACE_BUILD_PYTHON=ON -DTAILRACE_BUILD_TESTS=OFF -DTAILRACE_UNITY=ON \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    "-D$(grep -m 1 '^ADIOS2_DIR:' build/python/CMakeCache.txt)" >/dev/null &&
    sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build/lint/compile_commands.json |
    grep -E "^$PWD/(build/lint/(src|bindings)/CMakeFiles/(tailrace|_core).dir/Unity|src/tailrace)/.*\.c(pp|xx)$" |
      xargs -n 1 -P "$(nproc)" $bin/clang-tidy -p build/lint --quiet --checks=-bugprone-suspicious-include
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
