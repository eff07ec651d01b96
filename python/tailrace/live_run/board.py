"""The board of a run: the directory beside its table in which it tells what it does, and pages ask."""

from __future__ import annotations

import json
import os
import secrets
import time as clock
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from pydantic import ValidationError

from tailrace.files.regular import open_regular
from tailrace.files.whole import drafted

from .facts import MARK, Facts
from .part import BOX, PLANE, Part
from .wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

_FACTS, _ASKED, _ANSWER = "now.json", "asked-", ".npz"
_FORGET = 15.0  # seconds after which a question that is not renewed counts no more
_OLD = 3600.0  # seconds after which a question of a page that was killed is removed
_PAGES = 16  # that may ask at a time
_MOST = 8  # parts that a run makes at a time
_LARGEST = 1 << 20  # bytes of a file of facts or questions
_LARGEST_ANSWER = 4 * max(PLANE**2, BOX**3) + (1 << 17)


def board_of(table: Path) -> Path:
    """Where the board of the run is that writes a table."""
    return table.with_name(f".{table.name}.live")


class Board:
    """The side of the run, on its rank 0. All is local.

    :param control: whether a page may ask the run to stop.
    :raises OSError: it cannot be made, or something else is there.
    """

    def __init__(self, path: Path, *, control: bool) -> None:
        self.path, self._control = path.absolute(), control  # the program may go to another directory
        path = self.path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_symlink() or path.stat().st_uid != os.geteuid():
            raise FileExistsError(f"{path} is there already, and is no directory of yours; move it away")
        path.chmod(0o700)
        former = _facts(path)
        if former is None and any(not one.name.startswith(".") for one in path.iterdir()):
            raise FileExistsError(f"{path} is there already, and is no board of a run; move it away")
        self.former = former
        self._begun = clock.time()
        self._seen: dict[str, tuple[int, float]] = {}  # of each file of questions: its date, and when that was new
        self._answered: set[str] = set()
        for old in path.glob(f"*{_ANSWER}"):
            old.unlink(missing_ok=True)
        for old in path.glob(f"{_ASKED}*"):  # of pages that were killed
            if clock.time() - old.lstat().st_mtime > _OLD:
                old.unlink(missing_ok=True)

    def asked(self) -> list[Wanted]:
        """What pages want now, each part once."""
        found: dict[Wanted, None] = {}
        for path in self._alive():
            told = _read(path).get("parts", [])
            for one in told[:_MOST] if isinstance(told, list) else []:
                wanted = Wanted.read(one)
                if wanted is not None:
                    found[wanted] = None
        return list(found)[-_MOST:]

    def stop_asked(self) -> bool:
        """Whether a page asks the run to stop, which only a run with control heeds."""
        return self._control and any(_read(path).get("stop") == self._begun for path in self._alive())

    def _alive(self) -> Iterator[Path]:
        """The files of questions of pages that are open: they are written again and again."""
        now = clock.monotonic()
        found: list[tuple[int, Path]] = []
        for path in self.path.glob(f"{_ASKED}*"):
            with suppress(OSError):
                found.append((path.lstat().st_mtime_ns, path))
        for date, path in sorted(sorted(found)[-_PAGES:], key=lambda one: one[1]):
            former, since = self._seen.get(path.name, (0, now))
            if date != former:
                since = now
            self._seen[path.name] = (date, since)
            if now - since < _FORGET:
                yield path

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Write what is told. Raises OSError if the disk is full or gone."""
        told = {"tailrace": MARK, "begun": self._begun, "control": self._control, "told": clock.time(), **facts}
        _write(self.path / _FACTS, lambda file: file.write(json.dumps(told).encode()))

    def answer(self, wanted: Wanted, part: Part | str) -> None:
        """Write a part that was asked for, or why it cannot be made. Raises OSError if the disk is full or gone."""
        if isinstance(part, str):
            arrays: dict[str, Any] = {"problem": np.array(part)}
        else:
            x, y, z = part.places
            about = {name: np.array(getattr(part, name)) for name in ("node", "count", "step", "time")}
            arrays = {"values": part.values, "x": x, "y": y, "z": z, **about}
        _write(self.path / f"{wanted.name}{_ANSWER}", lambda file: np.savez(file, **arrays))
        self._answered.add(wanted.name)

    def keep(self, parts: list[Wanted]) -> None:
        """Remove the answers that nobody wants any more."""
        gone = self._answered - {one.name for one in parts}
        for name in gone:
            (self.path / f"{name}{_ANSWER}").unlink(missing_ok=True)
        self._answered -= gone


class BoardReader:
    """The side of a page. All is local."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._asked = path / f"{_ASKED}{secrets.token_hex(6)}.json"
        self._parts: dict[Wanted, float] = {}  # what viewers want, and when they have last said so
        self._stop: float | None = None
        self._lock = Lock()

    def facts(self) -> Facts | None:
        """What the run has told last; None if it has not."""
        return _facts(self.path)

    def date(self) -> float:
        """When the run has told something last, as the file system dates it; 0 if it has not."""
        try:
            return (self.path / _FACTS).stat().st_mtime
        except OSError:
            return 0.0

    def want(self, wanted: Wanted) -> None:
        """Ask for a part. Say it again as long as it is wanted."""
        with self._lock:
            is_new = wanted not in self._parts
            self._parts[wanted] = clock.monotonic()
        if is_new:
            self.renew()

    def renew(self) -> None:
        """Tell the run that somebody still looks. Call it every few seconds."""
        now = clock.monotonic()
        with self._lock:
            self._parts = {one: since for one, since in self._parts.items() if now - since < _FORGET / 2}
            told = {"parts": [json.loads(one.told()) for one in self._parts], "stop": self._stop}
        if not told["parts"] and self._stop is None:
            self.close()
            return
        _write(self._asked, lambda file: file.write(json.dumps(told).encode()))

    def stop(self) -> None:
        """Ask the run that tells its facts now to stop with a checkpoint. Raises OSError if that cannot be written."""
        facts = self.facts()
        self._stop = None if facts is None else facts.begun
        self.renew()

    def answer(self, wanted: Wanted) -> Part | str | None:
        """The last answer of the run: the part, or why it cannot be made; None until it has answered."""
        try:
            with open_regular(self.path / f"{wanted.name}{_ANSWER}", "rb") as file:
                return _read_answer(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, EOFError, BadZipFile) as error:
            return f"what the run has written cannot be read: {error}"

    def close(self) -> None:
        """Ask for nothing more."""
        with suppress(OSError):
            self._asked.unlink(missing_ok=True)


def _read_answer(file: IO[bytes]) -> Part | str:
    """The answer in a file, which may hold anything.

    :raises ValueError, TypeError, KeyError, EOFError, BadZipFile: it is not an answer.
    """
    with ZipFile(file) as members:
        if sum(one.file_size for one in members.infolist()) > _LARGEST_ANSWER:
            raise ValueError("it is too large")
    file.seek(0)
    with np.load(file) as found:
        if "problem" in found:
            return str(found["problem"])
        values, *places = (found[name] for name in ("values", "x", "y", "z"))
        about = {name: int(found[name]) for name in ("node", "count", "step")}
        time = float(found["time"])
    x, y, z = (np.asarray(one, np.float64) for one in places)
    if any(one.ndim != 1 or not np.isfinite(one).all() for one in (x, y, z)):
        raise ValueError("its places are no numbers")
    if values.dtype != np.float32 or values.shape != (len(z), len(y), len(x)) or not values.size:
        raise ValueError("its values do not belong to its places")
    return Part(values, (x, y, z), time=time, **about)


def _facts(board: Path) -> Facts | None:
    try:
        return Facts.model_validate(_read(board / _FACTS))
    except ValidationError:
        return None


def _read(path: Path) -> dict[str, Any]:
    """A file of JSON; empty where it is missing or is something else."""
    try:
        with open_regular(path, "rb") as file:
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Replace a file as a whole. Nothing waits for the disk: the next one follows soon."""
    with drafted(path, durable=False) as draft, draft.open("xb") as file:
        write(file)
