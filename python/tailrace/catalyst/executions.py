"""What a pipeline has made: a file with a line of JSON for each execution. All is local, on one rank."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.core import InputError
from tailrace.files.marks import EXECUTIONS, is_ours, why_foreign
from tailrace.files.paths import EARLIER
from tailrace.files.regular import open_regular
from tailrace.files.whole import write_text

_HEAD = {"tailrace": "executions of a pipeline", "lines": "step, time, and the files that are new in the directory"}


class Executions:
    """Notes each execution with the files that it has made in a directory, so that no others are ever removed.

    :param resumed: continue after this step; None: begin anew.
    :raises InputError: the record is not ours, or the directory has files that no earlier run of ours has made.
    """

    def __init__(self, path: Path, directory: Path, resumed: int | None) -> None:
        self._directory = directory
        if reason := why_foreign(path, EXECUTIONS):
            raise InputError(reason)
        path.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(parents=True, exist_ok=True)
        lines = [] if resumed is None else list(_lines(path))
        self.last = max((line["step"] for line in lines if line["step"] <= (resumed or 0)), default=None)
        self._known = {name for line in lines for name in line["files"]}
        self._check_known()
        write_text(path, "".join(json.dumps(line) + "\n" for line in (_HEAD, *lines)), EXECUTIONS)
        self._file = path.open("a", encoding="utf-8")

    def _check_known(self) -> None:
        if foreign := sorted(set(_files(self._directory)) - self._known):
            raise InputError(
                f"{self._directory} has files that no run of this case has made: {', '.join(foreign[:4])}. To fix "
                "this, move them away, or give the block another name or out"
            )

    def note(self, step: int, time: float) -> None:
        """Note an execution. Raises OSError: the disk is full or gone."""
        new = sorted(set(_files(self._directory)) - self._known)
        self._known.update(new)
        self._file.write(json.dumps({"step": step, "time": time, "files": new}) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Wait until all is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close it. Closing twice does nothing."""
        self._file.close()


def made_by(path: Path, directory: Path) -> list[Path]:
    """The files that a record says were made and that are there; none where there is no record of ours."""
    if not path.is_file() or not is_ours(path, EXECUTIONS):
        return []
    named = {name for line in _lines(path) for name in line["files"]}
    return [directory / name for name in sorted(named) if (directory / name).is_file()]


def _files(directory: Path) -> Iterator[str]:
    """All files below a directory but those that are set aside."""
    for path in directory.rglob("*"):
        if path.is_file() and not path.name.endswith(EARLIER):
            yield str(path.relative_to(directory))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The executions; a line that a killed run has not completed is left out."""
    if not path.is_file():
        return
    with open_regular(path, encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and {"step", "time", "files"} <= line.keys():
                yield line
