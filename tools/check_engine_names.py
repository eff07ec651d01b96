"""Look for comparisons of an engine's name: what an engine is, its traits tell (io/engine_traits.hpp, io/engines.py).

Prints each place as file:line, and their number; ends with 1 if there are any. A comparison is ==, !=, `in` or `case`
with the name of an engine as a text. It may stand in the folder of the engine and in the table of engines. Tests may
expect a name (in an assertion); what holds for one engine alone says why, in a comment "engine: ..." on the same line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "src" / "tailrace" / "io" / "engine" / "engines.cpp"
PYTHON = ("python/tailrace", "benchmarks", "examples", "tests")
# Cells of results, which tests make up, are named by variants such as "raw"; keys of the build are names of libraries.
OTHER_NAMES = ("tests/python/bench/", "tests/python/helpers/inputs/benchmarks.py", "python/tailrace/cli/doctor.py")
# What several engines share; the other engines have a folder of their name.
SHARED = ("adios2", "engine")


def names() -> set[str]:
    """The names in the table of engines."""
    return set(re.findall(r"^\s*ENGINE\((\w+)\)", TABLE.read_text(encoding="utf-8"), re.MULTILINE))


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts that a node consists of: itself, or the entries of a tuple, list or set."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for entry in node.elts:
            yield from _texts(entry)


def python_comparisons(text: str, engines: set[str]) -> Iterator[int]:
    """The lines of a Python file that compare an engine's name."""
    tree = ast.parse(text)
    expected = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Assert) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in expected:
            continue
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            # `"raw" in text` looks for letters in a text, if the text is on the right.
            if any(isinstance(one, ast.In | ast.NotIn) for one in node.ops):
                sides = node.comparators
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        else:
            continue
        if any(text in engines for side in sides for text in _texts(side)):
            yield node.lineno if isinstance(node, ast.Compare) else node.value.lineno


def cpp_comparisons(text: str, engines: set[str]) -> Iterator[int]:
    """The lines of a C++ file that compare an engine's name."""
    name = "|".join(sorted(engines))
    form = re.compile(rf'[=!]=\s*"({name})"|"({name})"\s*[=!]=')
    for number, line in enumerate(text.splitlines(), 1):
        if form.search(line) and not re.search(r"\b(EXPECT|ASSERT)_", line):
            yield number


def found() -> Iterator[str]:
    """Each comparison outside of its room."""
    engines = names()
    own = tuple(f"{tree}/io/{folder}/" for tree in ("src/tailrace", "tests/cpp") for folder in (*engines, *SHARED))
    files = [path for folder in PYTHON for path in (ROOT / folder).rglob("*.py")]
    files += [path for folder in ("src", "bindings", "tests/cpp") for path in (ROOT / folder).rglob("*.[ch]pp")]
    for path in sorted(files):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        look = python_comparisons if path.suffix == ".py" else cpp_comparisons
        for line in look(text, engines) if not name.startswith(own + OTHER_NAMES) else ():
            if "engine:" not in text.splitlines()[line - 1].partition("#" if path.suffix == ".py" else "//")[2]:
                yield f"{name}:{line}: compares the name of an engine; ask its traits instead"


def main() -> int:
    """Check the whole tree."""
    lines = list(found())
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"comparisons of engine names outside their rooms: {len(lines)}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
