"""Hold Python imports and C++ includes against tools/layers.toml; look for circles, missing headers and full folders.

Prints every violation as file:line, and the counts; ends with 1 if one of them is not 0. A folder with more than 24
files is a hall: its nouns want rooms. A class stands for one thing in the Python package, and so does the name of a
file in the C++ library.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_INCLUDE = re.compile(r'\s*#\s*include\s*[<"]tailrace/([^>"]+)[>"]')
_HEADER = re.compile(r"\btailrace/[\w/]+\.h(?:pp)?\b")
_COMPILED = re.compile(r"\s*from (tailrace)?\.* ?import _core\b|\s*from (tailrace)?\.*\._core import")
_DOOR = "core"  # the only file that imports the compiled module; below all rooms


class Arrow(NamedTuple):
    """One file uses another; files are paths below the tree, without their endings."""

    source: str
    target: str
    place: str  # file:line


def python_arrows() -> list[Arrow]:
    """The imports of python/tailrace, those in functions and for type checkers included."""
    import grimp

    tree = ROOT / "python"
    sys.path.insert(0, str(tree))
    graph = grimp.build_graph("tailrace", cache_dir=None)
    paths = {module: _path_of(tree, module) for module in graph.modules}
    arrows = []
    for source in graph.modules:
        for target in graph.find_modules_directly_imported_by(source):
            for found in graph.get_import_details(importer=source, imported=target):
                place = f"{paths[source].relative_to(ROOT)}:{found['line_number']}"
                node = "_core" if _COMPILED.match(found["line_contents"]) else _node(target)
                if _DOOR not in (_node(source), node):
                    arrows.append(Arrow(_node(source), node, place))
    return arrows


def _path_of(tree: Path, module: str) -> Path:
    path = tree / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _node(module: str) -> str:
    return "/".join(module.split(".")[1:])


def cpp_arrows() -> list[Arrow]:
    """The includes of src/tailrace; a header and the source of the same name are one node."""
    tree = ROOT / "src" / "tailrace"
    arrows = []
    for path in sorted(tree.rglob("*.[ch]pp")):
        source = str(path.relative_to(tree).with_suffix(""))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := _INCLUDE.match(line):
                target = str(Path(match[1]).with_suffix(""))
                if target != source:
                    arrows.append(Arrow(source, target, f"{path.relative_to(ROOT)}:{number}"))
    return arrows


def not_installed(listed: str, sources: Mapping[str, str]) -> Iterator[str]:
    """A line for every public header that includes a private one, which users of the installed library do not have.

    `listed` is the text of src/CMakeLists.txt, which names the public headers; `sources` is the text of each of them by
    its path below src/.
    """
    public = set(_HEADER.findall(listed))
    for name in sorted(public & sources.keys()):
        for number, line in enumerate(sources[name].splitlines(), 1):
            if (match := _INCLUDE.match(line)) and f"tailrace/{match[1]}" not in public:
                yield f"src/{name}:{number}: tailrace/{match[1]} is not among the public headers in src/CMakeLists.txt"


def room_of(node: str, rooms: Iterable[str]) -> str | None:
    """The room with the longest name that the path begins with; None where the table has none."""
    fits = [room for room in rooms if room == node or node.startswith(f"{room}/")]
    return max(fits, key=len, default=None)


def forbidden(arrows: Iterable[Arrow], table: Mapping[str, list[str]]) -> Iterator[str]:
    """A line for every arrow that the table does not allow."""
    for arrow in arrows:
        source, target = room_of(arrow.source, table), room_of(arrow.target, table)
        if source is None or target is None:
            missing = arrow.source if source is None else arrow.target
            yield f"{arrow.place}: {missing} is in no room of tools/layers.toml"
        elif source != target and not any(_allows(entry, target) for entry in table[source]):
            yield f"{arrow.place}: {source or 'tailrace'} may not include {target or 'tailrace'}"


def _allows(entry: str, room: str) -> bool:
    return entry in ("*", room) or (entry.endswith("/*") and room.startswith(entry[:-1]))


def circles(arrows: Iterable[Arrow]) -> list[list[str]]:
    """Sets of files that use each other in circles, of which every file can reach every other."""
    following: dict[str, set[str]] = {}
    for arrow in arrows:
        following.setdefault(arrow.source, set()).add(arrow.target)
        following.setdefault(arrow.target, set())
    reached = {node: _reachable(node, following) for node in following}
    found = {
        frozenset(other for other in reached[node] if node in reached[other])
        for node in following
        if node in reached[node]
    }
    return sorted(sorted(group) for group in found)


def _reachable(start: str, following: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(following[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += following[node]
    return seen


def with_engines(table: Mapping[str, list[str]], names: Iterable[str]) -> dict[str, list[str]]:
    """The table with a row for each engine that has none: what engines are made of."""
    rows = dict(table)
    usual = rows.pop("io/ENGINE")
    return {**{f"io/{name}": usual for name in names}, **rows}


def engine_names() -> list[str]:
    """The words in the table of engines."""
    text = (ROOT / "src/tailrace/io/engine/engines.cpp").read_text(encoding="utf-8")
    return re.findall(r"^\s*ENGINE\((\w+)\)", text, re.MULTILINE)


def check(language: str, arrows: list[Arrow], table: Mapping[str, list[str]]) -> bool:
    """Print what is wrong in one language; returns whether nothing is."""
    groups = circles(arrows)
    for group in groups:
        print(f"circle: {', '.join(node or 'tailrace' for node in group)}")
        for arrow in arrows:
            if arrow.source in group and arrow.target in group:
                print(f"  {arrow.place}: {arrow.source} uses {arrow.target}")
    lines = sorted(set(forbidden(arrows, table))) if table else []
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{language}: import circles: {len(groups)}, arrows against the table: {len(lines)}")
    return not groups and not lines


def check_headers() -> bool:
    """Print which public headers include private ones; returns whether none does."""
    tree = ROOT / "src"
    sources = {str(path.relative_to(tree)): path.read_text(encoding="utf-8") for path in tree.rglob("*.h*")}
    lines = list(not_installed((tree / "CMakeLists.txt").read_text(encoding="utf-8"), sources))
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"C++: private headers in public ones: {len(lines)}")
    return not lines


MOST_FILES = 24  # in a folder; a header and its source are one


def full_folders(files: Iterable[str]) -> Iterator[str]:
    """A line for each folder with too many files."""
    stems = {Path(name).with_suffix("") for name in files}
    counts = Counter(stem.parent for stem in stems)
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} files, expected at most {MOST_FILES}; give its nouns folders"


def twice(names: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A line for each name that stands in several places; names come with their places."""
    places: dict[str, list[str]] = {}
    for name, place in names:
        places.setdefault(name, []).append(place)
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"{name}: stands for several things, in {', '.join(found)}"


def classes() -> Iterator[tuple[str, str]]:
    """The classes of python/tailrace, and their files."""
    for path in sorted((ROOT / "python" / "tailrace").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, path.relative_to(ROOT).as_posix()


def check_names() -> bool:
    """Print full folders and names that stand twice; returns whether there are none."""
    trees = ("src", "bindings", "python", "tests/python", "tests/cpp")
    sources = [path for tree in trees for ending in ("*.py", "*.[ch]pp", "*.h") for path in (ROOT / tree).rglob(ending)]
    files = [path for path in sources if "__pycache__" not in path.parts]
    library = [(path.name, path.relative_to(ROOT).as_posix()) for path in files if path.is_relative_to(ROOT / "src")]
    lines = list(full_folders(path.relative_to(ROOT).as_posix() for path in files))
    lines += [*twice(library), *twice(classes())]
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"full folders, names that stand twice: {len(lines)}")
    return not lines


def main() -> int:
    """Check both languages, and what is installed."""
    table = tomllib.loads((ROOT / "tools" / "layers.toml").read_text(encoding="utf-8"))
    python = check("Python", python_arrows(), table["python"])
    cpp = check("C++", cpp_arrows(), with_engines(table["cpp"], engine_names()))
    headers, names = check_headers(), check_names()
    return 0 if headers and names and python and cpp else 1


if __name__ == "__main__":
    sys.exit(main())
