"""Damage series of every engine and read them: no crash, no hang, no memory without end, no wrong value unsaid.

    python tests/fuzz/fuzz_series.py --cases 100000

Every case copies one of the sound series, damages or removes one or two of its files, and then opens it, reads all and
verifies it. Either an error or `verify` says that something is wrong, or all values are as they were written.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import campaign
import numpy as np
from damages import damage

import tailrace as tr
from tailrace import core as _core
from tailrace.io import guard

SHAPE = (5, 4, 6)  # z, y, x
ALLOWED = (tr.Error, OSError, ValueError)
ENGINES = {
    "raw": ("run", "raw", {}),
    "raw-dist": ("run", "raw", {"strategy": "dist"}),
    "raw-collect": ("run", "raw", {"strategy": "collect"}),
    "mpiio": ("run", "mpiio", {"collect_bytes": 0}),
    "hdf5": ("run.h5", "hdf5", {}),
    "hdf5-gzip": ("run.h5", "hdf5", {"compression": "gzip", "chunk_bytes": 500}),
    "bp4": ("run.bp4", "bp4", {}),
    "bp5": ("run.bp", "bp5", {}),
    "adios_hdf5": ("run.adios_hdf5", "adios_hdf5", {}),
    "sion": ("run.sion", "sion", {}),
    "sion-files": ("run.sion", "sion", {"chunk_bytes": 600}),
}
RARE = {"adios_hdf5": 0.01}  # no checksum protects its metadata: a child process reads it, which takes long


def values(index: int, name: str) -> np.ndarray:
    """The values of a variable; no two alike."""
    start = 1000.0 * index + {"f": 0.25, "g": 0.5}[name]
    return start + np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE)


def write(folder: Path, engine: str) -> None:
    """A sound series of three steps: two variables, a list, scalars, attributes."""
    place, name, parameters = ENGINES[engine]
    with tr.open(folder / place, "w", engine=name, parameters=parameters) as out:
        out.set_attribute("title", "a sound series")
        for index in range(3):
            out.begin_step(index, 0.5 * index)
            out.write("f", values(index, "f"))
            out.write("g", values(index, "g"))
            out.write_list("rows", np.arange(7.0) + index)
            out.write_scalar("energy", 0.125 * index)
            out.end_step()


def read(path: Path) -> str:
    """Read everything; the answer says how it ended. AssertionError: something wrong was not noticed."""
    unchecked = path.suffix in (".bp", ".bp4") and not (path / "tailrace.json").exists()
    try:
        checked = guard.vouched(path, _core.engine_at(str(path)))  # as `tailrace info` and `verify` read it
        with tr.open(path, guard=not checked) as stored:
            damage = stored.verify()
            wrong = [] if damage or stored.notes or unchecked else _differences(stored)
    except ALLOWED as error:
        assert str(error), "an error without a message"
        return f"error: {type(error).__name__}"
    assert not wrong, f"silently wrong: {wrong}"
    return "damage found" if damage else "sound or noted"


def _differences(stored: tr.Series) -> list[str]:
    wrong = []
    if [step.index for step in stored] != [0, 1, 2]:
        return [f"steps {[step.index for step in stored]}"]
    if stored.attributes.get("title") != "a sound series":
        wrong.append(f"attributes {stored.attributes}")
    for step in stored:
        if step.time != 0.5 * step.index or step.scalars != {"energy": 0.125 * step.index}:
            wrong.append(f"step {step.index}: {step.time}, {step.scalars}")
        if step.unchecked:
            continue
        for name in ("f", "g"):
            if name not in step or not np.array_equal(step[name], values(step.index, name)):
                wrong.append(f"step {step.index}: {name}")
        if not np.array_equal(step["rows"], np.arange(7.0) + step.index):
            wrong.append(f"step {step.index}: rows")
    return wrong


class Cases:
    """The sound series, and one case after the other."""

    def __init__(self, only: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-fuzz-"))
        self._names = [name for name in ENGINES if not only or only in name]
        for name in self._names:
            (self._folder / name).mkdir()
            write(self._folder / name, name)

    def run(self, seed: int) -> str:
        """One case; what it is follows from the seed alone."""
        dice = random.Random(seed)
        name = dice.choice(self._names)
        if dice.random() >= RARE.get(name, 1.0) and len(self._names) > 1:
            name = "hdf5" if "hdf5" in self._names else self._names[0]
        folder = self._folder / f"case-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._folder / name, folder)
        try:
            told = [self._damage(folder, dice) for _ in range(dice.choice((1, 1, 1, 2)))]
            try:
                return f"{name}: {read(folder / ENGINES[name][0])}"
            except AssertionError as error:
                raise AssertionError(f"{name}, {', '.join(told)}: {error}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _damage(self, folder: Path, dice: random.Random) -> str:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if not files:
            return "nothing left"
        # Descriptions are small and matter more than their share of the bytes.
        file = dice.choice(files)
        if dice.random() < 0.03:
            file.unlink()
            return f"removed {file.name}"
        before = file.read_bytes()
        file.write_bytes(damage(before, dice))
        return f"damaged {file.name}"

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    memory = Path("/dev/shm")
    sys.exit(campaign.main(__doc__ or "", Cases, memory if memory.is_dir() else None))
