"""Checkpoints: complete states of a run, from which it continues exactly.

One directory per checkpoint, `step-00001200`: a raw series (numbers as they are in memory, a JSON file with shapes and
checksums), and `SHA256SUMS` with the checksum of the JSON file. It is written as `step-00001200.partial`, flushed to
the disk, and renamed when it is complete; a name without `.partial` is therefore a complete checkpoint, unless the disk
damaged it later, which the checksums show.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace import _core
from tailrace.case.names import COMPONENTS
from tailrace.io import series
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

_NAME = re.compile(r"step-(\d+)")
_SIDECAR = "series.jsonl"
_SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class State:
    """The state of a run, besides its fields: step, time, and how its ranks shared the work."""

    step: int
    time: float
    rows: int
    cols: int
    transpose: str
    ranks: int


class CheckpointStore:
    """The checkpoints of one run, in one directory. Collective over `comm` throughout.

    A run owns the checkpoints that it wrote and those that led to the state it resumed from. Others in the directory,
    of an earlier run or of later steps than the one resumed from, are removed when the first own one is complete: they
    must never be taken for the newest.

    :param keep: how many complete ones stay; older ones are removed once a newer one is complete.
    """

    def __init__(self, path: str | Path, keep: int, comm: MPI.Comm) -> None:
        self.path = Path(path)
        self._keep = keep
        self._comm = comm
        self._own: set[Path] = set()  # known to rank 0 alone

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
        final = self.path / f"step-{state.step:08d}"
        partial = final.with_name(final.name + ".partial")
        on_root(self._comm, self._make_room)
        try:
            with series.open(
                partial, "w", comm=self._comm, engine="raw", parameters={"checksums": True, "sync": True}
            ) as out:
                for key, value in {**vars(state), **about}.items():
                    if key not in ("step", "time"):
                        out.set_attribute(key, value)
                out.write_step(state.time, fields, index=state.step, lists=lists)
                written = int(out.counters["bytes_written"])
        except (_core.Error, OSError, ValueError) as error:
            on_root(self._comm, lambda: shutil.rmtree(partial, ignore_errors=True))
            raise _core.IoError(f"checkpoint {final} was not written: {error}") from error
        on_root(self._comm, lambda: self._commit(partial, final))
        return written

    def _make_room(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for pattern in ("step-*.partial", "step-*.replaced"):
                for leftover in self.path.glob(pattern):
                    _remove(leftover)
        except OSError as error:
            raise _core.IoError(f"checkpoint directory {self.path}: {error.strerror or error}") from error

    def _commit(self, partial: Path, final: Path) -> None:
        try:
            (partial / _SUMS).write_text(f"{_sha256(partial / _SIDECAR)}  {_SIDECAR}\n", encoding="ascii")
            _sync_tree(partial)
            if final.exists():  # written before the run was resumed from an earlier step
                old = final.with_name(final.name + ".replaced")
                final.rename(old)
                partial.rename(final)
                _remove(old)
            else:
                partial.rename(final)
            _sync(self.path)
            self._own.add(final)
            self._prune()
        except OSError as error:
            raise _core.IoError(f"checkpoint {final} was not put in place: {error.strerror or error}") from error

    def _prune(self) -> None:
        kept = 0
        for _, path in self._complete():
            if path in self._own and kept < self._keep:
                kept += 1
            else:
                # Renamed first: a kill may leave half of it, which must not look complete.
                _remove(path.rename(path.with_name(path.name + ".partial")))
                self._own.discard(path)

    def _complete(self) -> list[tuple[int, Path]]:
        """Step and path of every checkpoint, newest first. Local."""
        if not self.path.is_dir():
            return []
        found = [(int(match[1]), entry) for entry in self.path.iterdir() if (match := _NAME.fullmatch(entry.name))]
        return sorted(found, reverse=True)

    def earlier(self) -> int | None:
        """The newest step in the directory, damaged or not; None where there is no checkpoint."""
        found = on_root(self._comm, self._complete)
        return found[0][0] if found else None

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
            raise _core.IoError(
                f"none of the {len(candidates)} checkpoints in {self.path} is undamaged; start again without --resume"
            )
        raise _core.IoError(f"there is no checkpoint in {self.path} to resume from; start without --resume")

    def _recoverable(self) -> list[tuple[int, Path]]:
        # A kill between the two renames of a replacement leaves the old one under its other name.
        if self.path.is_dir():
            for replaced in self.path.glob("step-*.replaced"):
                final = replaced.with_name(replaced.name.removesuffix(".replaced"))
                if not final.exists():
                    replaced.rename(final)
        return self._complete()

    def _damage(self, path: Path) -> str:
        try:
            on_root(self._comm, lambda: check_sidecar(path))
            with series.open(path, "r", comm=self._comm, engine="raw") as stored:
                if len(stored) != 1:
                    return f"it holds {len(stored)} steps instead of 1"
                missing = [name for name in COMPONENTS if name not in stored[0]]
                return f"it has no {', '.join(missing)}" if missing else "; ".join(stored.verify())
        except (_core.Error, OSError, ValueError) as error:
            return str(error)


def check_sidecar(path: Path) -> None:
    """Check the JSON file, which has the checksums of all other files, against `SHA256SUMS`. Local.

    :raises IoError: one of the two is missing, or they differ.
    """
    for name in (_SUMS, _SIDECAR):
        if not (path / name).is_file():
            raise _core.IoError(f"it has no {name}")
    if (path / _SUMS).read_bytes() != f"{_sha256(path / _SIDECAR)}  {_SIDECAR}\n".encode():
        raise _core.IoError(f"{_SIDECAR} differs from its checksum in {_SUMS}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class OpenCheckpoint:
    """A complete checkpoint, open to read. Collective."""

    def __init__(self, path: Path, comm: MPI.Comm) -> None:
        self.path = path
        self._series = series.open(path, "r", comm=comm, engine="raw")
        self._step = self._series[0]
        self.about = self._series.attributes
        told = self.about
        self.state = State(
            step=self._step.index,
            time=self._step.time,
            rows=int(told["rows"]),
            cols=int(told["cols"]),
            transpose=str(told["transpose"]),
            ranks=int(told["ranks"]),
        )

    def shape(self) -> tuple[int, int, int]:
        """Nodes in x, y, z."""
        return self._step.variables["ux"][1]

    def __contains__(self, name: str) -> bool:
        return name in self._step

    def read(self, name: str, box: tuple[Any, Any]) -> NDArray[Any]:
        """This rank's box (start, count in x, y, z) of a field, as (nz, ny, nx)."""
        return self._step.read(name, box)

    def read_list(self, name: str) -> NDArray[Any]:
        """All rows of a list, on every rank."""
        return self._step.read(name)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sync_tree(path: Path) -> None:
    for entry in _walk(path):
        _sync(entry)
    _sync(path)


def _walk(path: Path) -> Iterator[Path]:
    for entry in path.iterdir():
        if entry.is_dir():
            yield from _walk(entry)
        yield entry


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
