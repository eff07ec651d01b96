"""Damage files of other programs and read them: no crash, no hang, no memory without end, no error without a name.

    TAILRACE_SAMPLES=... python tests/fuzz/fuzz_formats.py --cases 100000

Every case copies one of the samples, damages or removes one or two of its files, opens what is there and reads all.
These formats have no checksums, so wrong values cannot be noticed; what is asked for is an error with a text that names
the file, or a result. HDF5 and BP files are read as `tailrace info` does, in a child process, and come less often.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import campaign
from damages import damage

import tailrace as tr
from tailrace import core as _core

ALLOWED = (tr.Error, OSError, ValueError)
MEMORY = 768 << 20  # bytes that a reader may take: the samples have a few MiB
RARE = 0.02  # of cases with a child process, which takes long


@dataclass(frozen=True)
class Sample:
    """A directory to copy, what of it, and what of the copy is opened."""

    folder: str
    opened: tuple[str, ...]
    only: tuple[str, ...] = ("**/*",)
    library: bool = False


SAMPLES = {
    "xcompact3d": Sample("xcompact3d/tgv33", (".", "checkpoint", "data/snapshot-2.xdmf", "data/ux-2.bin")),
    "xcompact3d-bp4": Sample("xcompact3d/bp4_33", (".", "data.bp4"), library=True),
    "pencil-dist": Sample(
        "pencil/dist", (".", "data/proc1/VAR1", "data/proc0/zaverages.dat", "data/proc0/slice_bb1.xy")
    ),
    "pencil-collect": Sample(
        "pencil/collect", (".", "data/allprocs/VAR1", "data/xyaverages.dat", "data/time_series.dat")
    ),
    "pencil-collect_xy": Sample("pencil/collect_xy", (".", "data/proc2/VAR1", "data/proc1/slice_bb1.yz")),
    "pencil-mpi2": Sample("pencil/mpi2", (".", "data/allprocs/zaverages.dat", "data/allprocs/slice_bb1.xy")),
    "pencil-hdf5": Sample(
        "pencil/hdf5",
        (".", "data/allprocs/VAR1.h5", "data/averages/z.h5", "data/slices/bb1_xy.h5", "data/time_series.h5"),
        library=True,
    ),
    "nektar-xml": Sample("nektar", ("TriQuad.fld", "chan3DH1D.fld", "interptest.fld"), ("*.fld",)),
    "nektar-directory": Sample("nektar", ("chan_interpfield_nparts.fld",), ("chan_interpfield_nparts.fld/*",)),
    "nektar-hdf5": Sample(
        "nektar", ("interptest_hdf5.fld", "TriQuadChannelHdf5.rst"), ("*hdf5.fld", "*Hdf5.rst"), library=True
    ),
    "sion": Sample("sion", ("one.sion", "twofiles.sion", "multiblock.sion")),
}


def read(path: Path, guard: bool) -> str:
    """Read everything; the answer says how it ended. AssertionError: an error that does not say what it is about."""
    try:
        with tr.open(path, guard=guard) as stored:
            for step in stored:
                _ = step.scalars, step.names, step.attributes
            damage = stored.verify()
    except ALLOWED as error:
        assert str(error), "an error without a message"
        assert type(error) in (tr.InputError, tr.IoError, tr.Error) or isinstance(error, tr.Error), repr(error)
        return "error"
    return "damage found" if damage else "read"


class Cases:
    """The samples, and one case after the other."""

    def __init__(self, only: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-fuzz-"))
        self._names = [name for name in SAMPLES if not only or only in name]
        for name in self._names:
            one = SAMPLES[name]
            source = Path(os.environ["TAILRACE_SAMPLES"]) / one.folder
            for file in {file for pattern in one.only for file in source.glob(pattern) if file.is_file()}:
                there = self._folder / name / file.relative_to(source)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, there)
                there.chmod(0o644)

    def run(self, seed: int) -> str:
        """One case; what it is follows from the seed alone."""
        dice = random.Random(seed)
        name = dice.choice(self._names)
        quick = [each for each in self._names if not SAMPLES[each].library]
        if SAMPLES[name].library and quick and dice.random() >= RARE:
            name = dice.choice(quick)
        sample = SAMPLES[name]
        folder = self._folder / f"case-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._folder / name, folder)
        opened = folder / dice.choice(sample.opened)
        try:
            told = [self._damage(opened, folder, dice) for _ in range(dice.choice((1, 1, 1, 2)))]
            try:
                return f"{name}: {read(opened, sample.library)}"
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                raise AssertionError(f"{name}, {opened.relative_to(folder)}, {', '.join(told)}: {what}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _damage(self, opened: Path, folder: Path, dice: random.Random) -> str:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if opened.is_file() and dice.random() < 0.6:
            files = [opened]
        if not files:
            return "nothing left"
        file = dice.choice(files)
        told = str(file.relative_to(folder))
        if dice.random() < 0.03:
            file.unlink()
            return f"removed {told}"
        before = file.read_bytes()
        small = dice.random() < 0.5  # headers matter more than their share of the bytes
        head = damage(before[:2048], dice) + before[2048:] if small else damage(before, dice)
        file.write_bytes(head)
        return f"damaged {told}"

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    campaign.MEMORY = MEMORY
    assert _core is not None  # its memory is taken before the limit is set
    sys.exit(campaign.main(__doc__, Cases))
