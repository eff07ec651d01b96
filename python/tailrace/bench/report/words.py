"""Settings and variants in words. A line names the parts that vary in a file; the common parts are named once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from tailrace.text import counted

from ..records.records import Cell

# The parts of a setting, in the order in which users choose them, with titles.
TITLES = {
    "bench": "benchmark",
    "operation": "operation",
    "shape": "size",
    "ranks": "ranks",
    "nodes": "nodes",
    "decomposition": "decomposition",
    "cache": "cache",
    "directory": "directory",
    "variables": "variables",
    "steps": "steps",
    "precision": "precision",
    "halo": "halo",
    "source": "values",
}
_ALWAYS = ("operation", "shape", "ranks", "cache", "directory")  # named even if they do not vary
_COUNTED = {"ranks": "rank", "nodes": "node", "variables": "variable", "steps": "step"}
# Parts that mostly follow from other parts of a setting. If they do, they are not named.
_FOLLOWS = {"nodes": ("ranks",), "decomposition": ("ranks", "nodes", "shape")}


def said(setting: Cell, key: str) -> str:
    """A part of a setting in words, such as 64 x 64 x 64, 4 ranks, or synced; "" if it is empty."""
    value = getattr(setting, key)
    if key in _COUNTED:
        return counted(value, _COUNTED[key])
    if key == "halo":
        return f"halo {value}"
    if key == "decomposition":
        return f"{' x '.join(map(str, value))} parts" if value else ""
    return " x ".join(map(str, value)) if key == "shape" else str(value)


class Settings:
    """All settings of a file. `cells`: the cells of measurements and failures, in their order."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        members: dict[Cell, dict[Cell, None]] = defaultdict(dict)
        self._of: dict[Cell, Cell] = {}
        for cell in dict.fromkeys(cells):
            self._of[cell] = cell.setting
            members[self._of[cell]][cell] = None
        self.all = tuple(members)
        self.varying = tuple(key for key in TITLES if self._varies(key))
        self._ambiguous = {
            name for cells in members.values() for name in _twice(cell.name for cell in cells if cell.parameters)
        }

    def of(self, cell: Cell) -> Cell:
        """The setting of a cell."""
        return self._of[cell]

    def words(self, setting: Cell, without: Collection[str] = ()) -> str:
        """A setting in a line: write, 64 x 64 x 64, 4 ranks, synced, scratch."""
        keys = [key for key in TITLES if (key in _ALWAYS or key in self.varying) and key not in without]
        return ", ".join(text for text in (said(setting, key) for key in keys) if text)

    def choice(self, setting: Cell, without: Collection[str] = ()) -> dict[str, str]:
        """Title -> words, for the varying parts, from which users choose a setting."""
        return {TITLES[key]: said(setting, key) or "(none)" for key in self.varying if key not in without}

    def common(self) -> str:
        """The common parts of all settings, which no line names."""
        if not self.all:
            return ""
        keys = [key for key in TITLES if key not in (*_ALWAYS, *self.varying) and key not in _FOLLOWS]
        return ", ".join(text for text in (said(self.all[0], key) for key in keys) if text)

    def label(self, cell: Cell) -> str:
        """The name of a variant or limit; with its parameters if two variants have the same name."""
        name = cell.name or cell.engine or "(no name)"
        if cell.name not in self._ambiguous or not cell.parameters:
            return name
        return f"{name} ({', '.join(f'{key}={value}' for key, value in cell.parameters)})"

    def _varies(self, key: str) -> bool:
        if len({getattr(setting, key) for setting in self.all}) < 2:
            return False
        if key not in _FOLLOWS:
            return True
        found: dict[tuple[object, ...], object] = {}
        for setting in self.all:
            others = tuple(getattr(setting, other) for other in _FOLLOWS[key])
            if found.setdefault(others, getattr(setting, key)) != getattr(setting, key):
                return True
        return False


def _twice(names: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}  # type: ignore[func-returns-value]
