"""Checkpoints: complete states of a run, from which it continues exactly.

One directory per checkpoint, `step-00001200`: a raw series (numbers as they are in memory, a JSON file with shapes and
checksums), and `SHA256SUMS` with the checksum of the JSON file. It is written as `step-00001200.partial`, flushed to
the disk, and renamed when it is complete; a name without `.partial` is therefore a complete checkpoint, unless the disk
damaged it later, which the checksums show. `SHA256SUMS` is also the mark by which checkpoints are known: the first file
that is written, and the last that is removed. A directory without it is never removed, whatever its name.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.core import Error, FileLock, Grid, IoError
from tailrace.files import locks
from tailrace.files.regular import open_regular
from tailrace.files.whole import sync
from tailrace.io import series
from tailrace.io.names import COMPONENTS
from tailrace.parallel import agree, on_root
from tailrace.text import visible

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

_NAME = re.compile(r"step-(\d{8,})")
_UNDER_WAY = re.compile(rf"{_NAME.pattern}\.(partial|replaced)")
_LOCK = re.compile(rf"{_NAME.pattern}\.partial\.lock")
ENGINE = "raw"
SHARED_BY = 256  # ranks; where more write, one of each node writes for all of them: opening takes a file system long
_SIDECAR = "series.jsonl"
_SUMS = "SHA256SUMS"


class Packed(NamedTuple):
    """States of others than the flow, in the form in which a checkpoint stores them."""

    blocks: dict[str, series.Block]
    lists: dict[str, NDArray[Any]]  # of which each rank has its own rows
    about: dict[str, str]


@dataclass(frozen=True)
class State:
    """The state of a run, besides its fields: step, time, how its ranks shared the work, and the nominal time step.

    Checkpoints of earlier versions do not tell the time step.
    """

    step: int
    time: float
    rows: int
    cols: int
    transpose: str
    ranks: int
    dt: float | None = None


class CheckpointStore:
    """The checkpoints of one run, in one directory. Collective over `comm` throughout.

    A run owns the checkpoints that it wrote and those that led to the state it resumed from. Others in the directory,
    of an earlier run or of later steps than the one resumed from, are removed when the first own one is complete: they
    must never be taken for the newest. What is no checkpoint stays, under another name where its own is needed.

    :param keep: how many complete ones stay; older ones are removed once a newer one is complete.
    """

    def __init__(self, path: str | Path, keep: int, comm: MPI.Comm) -> None:
        self.path = Path(path)
        self._keep = keep
        self._comm = comm
        self._own: set[Path] = set()  # known to rank 0 alone
        self._claimed = False

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Keep other programs from writing checkpoints to this directory. May be nested.

        :raises IoError: another program does so already; the message says which.
        """
        if self._claimed:
            yield
            return
        lock = agree(self._comm, lambda: self._lock() if self._comm.rank == 0 else None)
        self._claimed = True
        try:
            yield
        finally:
            self._claimed = False
            if lock:
                lock.release()

    def _lock(self) -> FileLock:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IoError(f"checkpoint directory {self.path}: {error.strerror or error}") from error
        return locks.take(self.path)

    def write(
        self,
        state: State,
        fields: dict[str, series.Block],
        about: dict[str, Any],
        lists: dict[str, NDArray[Any]] | None = None,
    ) -> int:
        """Store a state; when this returns, the checkpoint is complete.

        :param lists: arrays that are not fields, of which each rank has its own rows.
        :returns: the bytes written by this rank.
        :raises IoError: the disk is full or gone; earlier checkpoints are untouched.
        """
        with self.claim():
            return self._write(state, fields, about, lists)

    def _write(
        self,
        state: State,
        fields: dict[str, series.Block],
        about: dict[str, Any],
        lists: dict[str, NDArray[Any]] | None,
    ) -> int:
        final = self.path / f"step-{state.step:08d}"
        partial = final.with_name(final.name + ".partial")
        on_root(self._comm, self._make_room)
        try:
            on_root(self._comm, lambda: _begin(partial))
            with series.open(
                partial, "w", comm=self._comm, engine=ENGINE, grid=_grid_of(fields, about),
                parameters={"checksums": True, "sync": True, **_layout(self._comm.size)},
            ) as out:  # fmt: skip
                for key, value in {**vars(state), **about}.items():
                    if key not in ("step", "time") and value is not None:
                        out.set_attribute(key, value)
                out.write_step(state.time, fields, index=state.step, lists=lists)
                written = int(out.counters["bytes_written"])
        except (Error, OSError, ValueError) as error:
            on_root(self._comm, lambda: _try_to_remove(partial))
            raise IoError(f"checkpoint {final} was not written: {error}") from error
        on_root(self._comm, lambda: self._commit(partial, final))
        return written

    def _make_room(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for leftover in self._entries(_UNDER_WAY):
                _remove(leftover)
            for lock in self._entries(_LOCK):  # of a series that a kill left
                with suppress(IoError):  # a file of something else, which stays
                    FileLock(str(lock.with_suffix(""))).release()
        except OSError as error:
            raise IoError(f"checkpoint directory {self.path}: {error.strerror or error}") from error

    def _commit(self, partial: Path, final: Path) -> None:
        try:
            _mark(partial, _sha256(partial / _SIDECAR))
            for entry in (*partial.rglob("*"), partial):
                sync(entry)
            if not _is_ours(final):
                _set_aside(final)
            old = final.with_name(final.name + ".replaced")
            if final.exists():  # written before the run was resumed from an earlier step
                _rename(final, old)
            partial.rename(final)
            sync(self.path)
            _remove(old)
            self._own.add(final)
            self._prune()
        except OSError as error:
            raise IoError(f"checkpoint {final} was not put in place: {error.strerror or error}") from error

    def _prune(self) -> None:
        kept = 0
        for _, path in self._complete():
            if path in self._own and kept < self._keep:
                kept += 1
            elif _is_ours(path):
                # Renamed first: a kill may leave half of it, which must not look complete.
                _remove(_rename(path, path.with_name(path.name + ".partial")))
                self._own.discard(path)

    def _complete(self) -> list[tuple[int, Path]]:
        return complete(self.path)

    def _entries(self, form: re.Pattern[str]) -> list[Path]:
        return _entries(self.path, form)

    def present(self) -> list[Path]:
        """The checkpoints in the directory, newest first, damaged or not. Local."""
        return [path for _, path in self._complete() if _is_ours(path)]

    def newest(self, say: Callable[[str], None]) -> OpenCheckpoint:
        """Open the newest checkpoint without damage.

        :param say: gets a line for every damaged one that is skipped.
        :raises IoError: there is none.
        """
        candidates = on_root(self._comm, self._recoverable)
        for at, (_, path) in enumerate(candidates):
            damage = self._damage(path)
            if not damage:
                self._own = {older for _, older in candidates[at:]}
                return OpenCheckpoint(path, self._comm)
            say(f"checkpoint {path} is damaged and skipped: {damage}")
        if candidates:
            raise IoError(
                f"none of the {len(candidates)} checkpoints in {self.path} is undamaged; start again without --resume"
            )
        raise IoError(f"there is no checkpoint in {self.path} to resume from; start without --resume")

    def _recoverable(self) -> list[tuple[int, Path]]:
        # A kill between the two renames of a replacement leaves the old one under its other name.
        for replaced in self._entries(_UNDER_WAY):
            final = replaced.with_suffix("")
            if replaced.suffix == ".replaced" and _is_ours(replaced) and not final.exists():
                replaced.rename(final)
        return self._complete()

    def _damage(self, path: Path) -> str:
        try:
            on_root(self._comm, lambda: check_sidecar(path))
            with series.open(path, "r", comm=self._comm, engine=ENGINE) as stored:
                lacking = on_root(self._comm, lambda: _lacking(stored))
                return lacking or "; ".join(stored.verify())
        except (Error, OSError, ValueError) as error:
            return str(error)


def _lacking(stored: series.ArraySeries) -> str:
    """What a checkpoint has not, whose parts are all undamaged. Local."""
    if len(stored) != 1:
        return f"it holds {len(stored)} steps instead of 1"
    missing = [name for name in COMPONENTS if name not in stored[0]]
    return f"it has no {', '.join(missing)}" if missing else ""


def complete(directory: Path) -> list[tuple[int, Path]]:
    """Step and path of every checkpoint in a directory, newest first. Local."""
    return sorted(((int(path.name[5:]), path) for path in _entries(directory, _NAME)), reverse=True)


def _entries(directory: Path, form: re.Pattern[str]) -> list[Path]:
    return [path for path in directory.iterdir() if form.fullmatch(path.name)] if directory.is_dir() else []


def check_sidecar(path: Path) -> None:
    """Check the JSON file, which has the checksums of all other files, against `SHA256SUMS`. Local.

    :raises IoError: one of the two is missing, or they differ.
    """
    for name in (_SUMS, _SIDECAR):
        if not (path / name).is_file():
            raise IoError(f"it has no {name}")
    if _bytes(path / _SUMS) != f"{_sha256(path / _SIDECAR)}  {_SIDECAR}\n".encode():
        raise IoError(f"{_SIDECAR} differs from its checksum in {_SUMS}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(_bytes(path)).hexdigest()


def _bytes(path: Path) -> bytes:
    with open_regular(path, "rb") as file:
        return bytes(file.read())


class OpenCheckpoint:
    """A complete checkpoint, open to read. Collective."""

    def __init__(self, path: Path, comm: MPI.Comm) -> None:
        self.path = path
        self._series = series.open(path, "r", comm=comm, engine=ENGINE)
        self._step = self._series[0]
        self.about, self.state, self._shape = agree(comm, self._told)

    def _told(self) -> tuple[dict[str, Any], State, tuple[int, int, int]]:
        """What each rank reads by itself. Local."""
        told = self._series.attributes
        state = State(
            step=self._step.index,
            time=self._step.time,
            rows=int(told["rows"]),
            cols=int(told["cols"]),
            transpose=str(told["transpose"]),
            ranks=int(told["ranks"]),
            dt=float(told["dt"]) if "dt" in told else None,
        )
        return told, state, self._step.variables["ux"][1]

    def shape(self) -> tuple[int, int, int]:
        """Nodes in x, y, z."""
        return self._shape

    def read(self, name: str, box: tuple[Any, Any]) -> NDArray[Any]:
        """This rank's box (start, count in x, y, z) of a field, as (nz, ny, nx)."""
        return self._step.read(name, box)

    def read_list(self, name: str) -> NDArray[Any]:
        """All rows of a list, on every rank."""
        return self._step.read(name)


def _layout(ranks: int) -> dict[str, str]:
    """Which ranks write into which files; what TAILRACE_PARAMETERS says of it has priority."""
    given = os.environ.get("TAILRACE_PARAMETERS", "")
    if ranks <= SHARED_BY or any(
        f"{name}=" in given.replace(" ", "") for name in ("strategy", "aggregators", "layout")
    ):
        return {}
    return {"strategy": "node"}


def _grid_of(fields: dict[str, series.Block], about: dict[str, Any]) -> series.UniformGrid | None:
    """The places of the nodes, by which others than this run know which arrays are on them, and ParaView draws them."""
    if "ux" not in fields or "lengths" not in about:
        return None
    law = about.get("stretching", ""), about.get("beta", 0.0)
    return series.UniformGrid.of(Grid(fields["ux"].shape, about["lengths"], about["boundaries"].split(","), *law))


def _begin(partial: Path) -> None:
    _set_aside(partial)
    partial.mkdir()
    _mark(partial, "incomplete")


def _mark(partial: Path, checksum: str) -> None:
    with open_regular(partial / _SUMS, "w", encoding="ascii") as file:
        file.write(f"{checksum}  {_SIDECAR}\n")


def _is_ours(path: Path) -> bool:
    """Whether this is a checkpoint, a part of one, or empty, as a kill at its first moment leaves it. Local."""
    if path.is_symlink() or not path.is_dir():
        return False
    try:
        sums = _bytes(path / _SUMS)
    except FileNotFoundError:
        return not any(path.iterdir())
    except OSError:  # a directory or a named pipe in its place, or a file that may not be read
        return False
    return not sums or sums.endswith(f"  {_SIDECAR}\n".encode())


def _remove(path: Path) -> None:
    """Remove a checkpoint, its mark last, so that a part of it is still known after a kill; nothing else. Local."""
    if _is_ours(path):
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _SUMS:
                entry.unlink()
        shutil.rmtree(path)


def _try_to_remove(path: Path) -> None:
    with suppress(OSError):
        _remove(path)


def _rename(path: Path, new: Path) -> Path:
    _set_aside(new)
    return path.rename(new)


def _set_aside(path: Path) -> None:
    """Give what is no checkpoint another name, where a checkpoint needs its own. Local."""
    if path.exists() or path.is_symlink():
        names = (path.with_name(f"{path.name}.set-aside{number or ''}") for number in itertools.count())
        place = next(name for name in names if not (name.exists() or name.is_symlink()))
        path.rename(place)
        print(visible(f"note: {path} is no checkpoint; it is now {place}"), flush=True)
