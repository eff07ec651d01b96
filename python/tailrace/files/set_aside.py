"""Set earlier results aside while new ones begin. A kill at any moment leaves the old or the new results whole.

Each is renamed to its name with `.earlier`. A record beside them lists them from before the first renaming until the
last removal, so that the next program can finish the work of a killed one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from tailrace.core import FileLock, InputError, IoError, check_only_bp

from . import locks
from .marks import EARLIER_RECORD, why_foreign
from .paths import EARLIER
from .regular import is_there, open_regular
from .whole import remove, write_text


def record_of(path: str | Path) -> Path:
    """The record for results whose first file is `path`."""
    return Path(f"{path}{EARLIER}.json")


class SetAside:
    """The results that are set aside under one record; a context manager. One program at a time may use a record.

    Entering finishes the work of a killed program: it puts the old results back, or removes them if new ones exist.
    Leaving puts back everything that `remove` has not removed.

    :param places: the files and directories of the results. A record that lists other places counts as damaged.
    :raises IoError: another program has set results aside, or the record cannot be read.
    """

    def __init__(self, record: Path, places: Iterable[str | Path]) -> None:
        self._record = record
        self._places = [Path(os.path.realpath(place)) for place in places]
        self._paths: list[Path] = []
        self._lock: FileLock | None = None  # held from `claim` on, or from before the first renaming
        self._removing = False  # from then on nothing is put back
        self.returned = False  # whether results of a killed program were put back
        if record.exists():
            self._lock = locks.take(record)
            try:
                self.returned = self._finish()
            finally:
                self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Put back what was not removed, and release the record. A second call does nothing."""
        try:
            if self._paths and self._lock is not None and not self._removing:  # otherwise the record is not ours
                self._put_back()
        finally:
            self._release()

    def claim(self) -> None:
        """Keep other programs from claiming these places or setting anything aside there, until `remove` or `close`.

        :raises IoError: another program has done so, or the record of a killed one cannot be read.
        """
        if self._lock is None:
            self._record.parent.mkdir(parents=True, exist_ok=True)
            self._lock = locks.take(self._record)
            try:
                self._finish()  # a program was killed since this one looked: its record must not be replaced
            except BaseException:
                self._release()
                raise

    def set_aside(self, paths: Iterable[Path]) -> None:
        """Rename files and directories. Links stay; their targets are renamed.

        :raises InputError: something else has one of the new names.
        :raises IoError: one cannot be renamed (all are put back), or another program is doing the same.
        """
        given = {Path(os.path.realpath(path)): path for path in paths}
        wanted = list(given)
        for path in wanted:
            if is_there(_aside(path)):
                raise InputError(f"{_aside(path)} is there already; move it away, so that {path} can have its name")
        self.claim()
        self._paths = wanted
        try:
            self._write("aside")
        except BaseException:  # nothing was renamed, and an existing record is not ours to remove
            self._paths = []
            self._release()
            raise
        try:
            for path in wanted:
                leads_here = path.is_dir() and given[path].is_symlink()
                path.rename(_aside(path))
                if leads_here:  # the link must lead somewhere
                    path.mkdir()
        except FileNotFoundError as error:
            self._put_back()
            raise IoError(
                f"{error.filename} went away while earlier results were being set aside: another program is writing "
                "there. Nothing was replaced; start again when it has ended"
            ) from error
        except OSError as error:
            self._put_back()
            raise IoError(f"cannot set {error.filename} aside: {error.strerror}") from error

    def remove(self) -> None:
        """Remove the results that are set aside, and release the record. Call it when the new results exist.

        :raises IoError: something cannot be removed.
        """
        try:
            if self._paths:
                self._write("remove")
                self._removing = True
                self._remove()
        except OSError as error:
            raise IoError(f"cannot remove the earlier results: {error.filename}: {error.strerror}") from error
        self._release()

    def _write(self, state: str) -> None:
        text = json.dumps({"tailrace": "earlier results", "state": state, "paths": [str(path) for path in self._paths]})
        write_text(self._record, text, EARLIER_RECORD, ".tmp")

    def _finish(self) -> bool:
        if not self._record.exists():
            return False
        if reason := why_foreign(self._record, EARLIER_RECORD):
            raise InputError(reason)
        with open_regular(self._record, encoding="utf-8") as file:
            found = self._parsed(file.read())
        self._paths = [Path(path) for path in found["paths"]]
        if found["state"] == "remove":
            self._remove()
            return False
        self._put_back()
        return True

    def _parsed(self, text: str) -> dict[str, Any]:
        if not text.strip("\0"):  # a power failure, before anything was renamed
            return {"paths": [], "state": "aside"}
        try:
            found = json.loads(text)
            whole = found["state"] in ("aside", "remove") and all(self._is_inside(Path(one)) for one in found["paths"])
        except (ValueError, TypeError, KeyError, RecursionError):
            whole = False
        if not whole:
            raise IoError(
                f"{self._record} is damaged: it lists results of an earlier run, which lie beside their places, with "
                f"{EARLIER} behind their names. To fix this, rename those as you want to have them, and remove it"
            )
        return dict(found)

    def _is_inside(self, path: Path) -> bool:
        """Whether a path is a place, lies in one, or lies beside one with a longer name (a journal, a picture)."""
        beside = any(
            path.parent == place.parent and path.name.startswith((f"{place.name}.", f"{place.name}-"))
            for place in self._places
        )
        inside = any(place in (path, *path.parents) for place in self._places)
        return (beside or inside) and ".." not in path.parts

    def _remove(self) -> None:
        for path in self._paths:
            remove(_aside(path))
        self._forget()

    def _put_back(self) -> None:
        for path in self._paths:
            if is_there(_aside(path)):
                if path.is_dir() and not path.is_symlink():
                    check_only_bp(str(path))  # an unfinished series, or empty
                remove(path)
                _aside(path).rename(path)
        self._forget()

    def _forget(self) -> None:
        self._record.unlink(missing_ok=True)
        self._paths = []


def _aside(path: Path) -> Path:
    return path.with_name(path.name + EARLIER)
