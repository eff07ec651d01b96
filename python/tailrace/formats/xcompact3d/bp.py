"""The BP directories that Xcompact3D writes through ADIOS2; they have no times."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core import IoError
from tailrace.formats.file_bytes import peek
from tailrace.formats.recognise import is_foreign_bp

from .arrays import known_aliases
from .checkpoint import INFO, read_info
from .run import Xcompact3dRun

if TYPE_CHECKING:
    from tailrace.formats.generic.bp import BpDataset

_MOST_BYTES = 1 << 16  # of a snapN.ini


def find_bp(directory: Path) -> list[Path]:
    """The BP directories of a run, those of snapshots first."""
    names = [f"{name}.{kind}" for name in ("data", "checkpoint", "statistics") for kind in ("bp4", "bp5", "bp")]
    return [directory / name for name in names if is_foreign_bp(directory / name)]


def bp_dataset(path: Path, run: Xcompact3dRun) -> BpDataset | None:
    """The steps of a BP directory, with the grid and the times of its run. Returns None for a series of Tailrace."""
    from tailrace.formats.generic import bp  # loads h5py

    found = bp.dataset_at(path)
    if found is None:
        return None
    shapes = {name: one.shape for name, one in found.variables(0).items()} if found.steps else {}
    fields = {shape for name, shape in shapes.items() if name != "pp" and shape in run.shapes(run.coarsening[0])}
    if not fields:
        found.notes.append(f"{run.source}: is of a run with other points: its grid is not taken")
        return found
    found.notes = [note for note in found.notes if "time" not in note] + run.notes()
    if path.name.startswith("checkpoint") and (path.parent / INFO).is_file():
        found.steps, run = read_info(path.parent / INFO, run, found.notes)
    else:
        found.steps = [_step(path.parent / "data" / f"snap{at}.ini", at, run) for at in range(len(found.steps))]
        found.aliases = known_aliases([shapes])
    found.grid = run.grid(fields.pop(), run.coarsening[0])
    found.attributes = {**found.attributes, **run.dataset_attributes()}
    found.files.append(str(run.source))
    return found


def _step(path: Path, at: int, run: Xcompact3dRun) -> tuple[int, float]:
    """Time step and time of a step, from its `snapN.ini`, or else from its position."""
    index, time = run.step(at + 1)
    text = peek(path, _MOST_BYTES)
    if not text:
        return index, time
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text.decode("latin-1"))
        index, time = parser.getint("time", "itime"), parser.getfloat("time", "t")
    except (configparser.Error, ValueError) as error:
        raise IoError(f"{path}: has no itime and t in [time]: {' '.join(str(error).split())[:200]}") from None
    # t has 4 digits after the point; dt of the input file has all.
    return index, index * run.dt if run.dt and abs(index * run.dt - time) <= 1e-4 else time
