#!/usr/bin/env bash
# All linters, after tools/setup.sh. With --fix, fix what can be fixed first.
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
clang_format() { # prints how many places in which files; `make format` corrects them
  local places
  places=$($bin/clang-format --dry-run -Werror "${cpp[@]}" 2>&1 | grep 'error:' | cut -d: -f1 | sort | uniq -c)
  [ -z "$places" ] || echo "$places"
  [ -z "$places" ]
}
clang_tidy() { # all sources of the library and the bindings, with the options of the build; .clang-tidy lists the checks
  find src bindings -name '*.cpp' -print0 | xargs -0 -n 1 -P "$(nproc)" $bin/clang-tidy -p build/python --quiet
}
check "ruff check" $bin/ruff check --quiet --output-format concise .
check "ruff format (make format fixes it)" $bin/ruff format --check --quiet --output-format concise .
check "clang-format (make format fixes it)" clang_format
check "clang-tidy" clang_tidy
# mypy looks for the extension module's types beside the sources; the build has written them.
cp build/python/bindings/_core.pyi python/tailrace/
check "mypy" $bin/mypy
check "layers" $bin/python tools/check_layers.py
exit $status
