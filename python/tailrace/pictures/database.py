"""A database of pictures in Cinema's layout D: a table of values with the file of each picture. All is local.

data.csv is what viewers of Cinema read; index.html shows the same pictures by sliders, from the disk, without a server.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core import InputError
from tailrace.files.marks import DATABASE, is_ours, why_foreign
from tailrace.files.regular import open_regular
from tailrace.files.whole import write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE = "FILE"
_TABLE, _SCRIPT, _PAGE = "data.csv", "data.js", "index.html"


class Database:
    """Adds pictures of steps. Close it at the end.

    :param path: the directory, NAME.cdb.
    :param names: the columns beside step and time.
    :param resumed: keep the pictures up to this step; None: begin anew.
    :raises InputError: a file there is not ours.
    """

    def __init__(self, path: Path, names: Sequence[str], resumed: int | None) -> None:
        self._path, self._columns = path, ["step", "time", *names, FILE]
        table = path / _TABLE
        if reason := why_foreign(table, DATABASE):
            raise InputError(reason)
        path.mkdir(parents=True, exist_ok=True)
        kept = [] if resumed is None else [row for row in rows_of(table) if float(row[0]) <= resumed]
        if kept and len(kept[0]) != len(self._columns):
            raise InputError(f"{table}: has other columns than {', '.join(self._columns)}; move it away to go on")
        write_text(table, "".join(f"{','.join(row)}\n" for row in (self._columns, *kept)), DATABASE)
        names_of_rows = f"const columns = {json.dumps(self._columns)}, rows = []\n"
        write_text(path / _SCRIPT, names_of_rows + "".join(map(_script_line, kept)))
        page = resources.files(__package__) / "database.html"
        write_text(path / _PAGE, page.read_text(encoding="utf-8"))
        self._table, self._script = ((path / name).open("a", encoding="utf-8") for name in (_TABLE, _SCRIPT))

    def add(self, step: int, time: float, pictures: Sequence[tuple[Mapping[str, float], NDArray[np.uint8]]]) -> None:
        """Add the pictures of a step, each with its values of the columns.

        :raises OSError: the disk is full or gone.
        """
        from PIL import Image

        folder = self._path / f"{step:06d}"
        folder.mkdir(exist_ok=True)
        rows = []
        for values, image in pictures:
            name = "-".join(f"{key}{value:.10g}" for key, value in values.items()) or "picture"
            Image.fromarray(image).save(folder / f"{name}.png")
            rows.append(
                [str(step), repr(time), *(f"{value:.10g}" for value in values.values()), f"{folder.name}/{name}.png"]
            )
        for row in rows:  # when all of them are there
            self._table.write(f"{','.join(row)}\n")
            self._script.write(_script_line(row))
        self._table.flush()
        self._script.flush()

    def sync(self) -> None:
        """Wait until the tables are on the disk."""
        for file in (self._table, self._script):
            os.fsync(file.fileno())

    def close(self) -> None:
        """Close it. Closing twice does nothing."""
        self._table.close()
        self._script.close()


def rows_of(table: Path) -> list[list[str]]:
    """The rows of a table that is ours, without one that a killed run has not completed; none of another."""
    if not table.is_file() or not is_ours(table, DATABASE):
        return []
    with open_regular(table, encoding="utf-8", errors="replace", newline="") as file:
        head, *rows = list(csv.reader(file)) or [[]]
    return [row for row in rows if len(row) == len(head) and row[-1].endswith(".png")]


def files_of(path: Path) -> list[Path]:
    """The files of a database of ours that are there."""
    rows = rows_of(path / _TABLE)
    names = [_TABLE, _SCRIPT, _PAGE, *(row[-1] for row in rows)] if rows else []
    return [path / name for name in names if (path / name).is_file()]


def _script_line(row: Sequence[str]) -> str:
    return f"rows.push([{', '.join(row[:-1])}, {json.dumps(row[-1])}])\n"
