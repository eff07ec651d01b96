"""Files of Xcompact3D and of 2DECOMP&FFT: snapshots, XDMF, statistics, restart files, histories, probes.

The layouts are those of Xcompact3D since 2020. The files of fields have no header and no time: the input file of the
run, beside them or one directory above, has their points and times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError, IoError
from tailrace.formats.recognise import is_foreign_bp
from tailrace.io.dataset import Dataset

from .arrays import entries
from .bp import bp_dataset, find_bp
from .checkpoint import INFO, Xcompact3dCheckpoint, is_checkpoint
from .described import described_at
from .run import Xcompact3dRun, find_input, find_input_above, read_run
from .snapshots import NAME, STATISTIC, Xcompact3dSnapshots, Xcompact3dStatistics
from .tables import HISTORY, probes_in, table_at
from .toolbox import DIRECTORIES, ToolboxSnapshots, directories_in, input_above
from .xdmf import XdmfSnapshots, is_xdmf


def dataset_at(path: Path, parameters: Mapping[str, str]) -> Dataset | None:
    """The dataset of Xcompact3D at a path: a run, its `data`, its `statistics`, or one of its files.

    :returns: None for content of other programs.
    :raises InputError: parameters are given; the format has none.
    """
    found = _dataset_at(path)
    if found is not None and parameters:
        raise InputError(f"{path}: files of Xcompact3D are read without parameters; found {', '.join(parameters)}")
    return found


def _dataset_at(path: Path) -> Dataset | None:
    if path.is_dir():
        return _directory(path)
    return _file(path) if path.is_file() else None


def _toolbox(path: Path) -> Dataset | None:
    """One of the toolbox's directories, or the `data` that has them: fields, else the first of its planes."""
    source = input_above(path)
    found = [path] if path.name in DIRECTORIES and entries(path, NAME) else list(directories_in(path))
    if source is None or not found:
        return None
    dataset = ToolboxSnapshots(str(path), found[0], read_run(source))
    dataset.auxiliary = [str(one) for one in found[1:]]
    return dataset


def _directory(path: Path) -> Dataset | None:
    source = find_input(path)
    if source is None:
        above = find_input_above(path)
        if is_foreign_bp(path):
            return bp_dataset(path, read_run(above)) if above else None
        if above and entries(path, NAME):
            return Xcompact3dSnapshots(str(path), path, read_run(above))
        if above and entries(path, STATISTIC):
            return Xcompact3dStatistics(str(path), path, read_run(above))
        arranged = _toolbox(path)
        if arranged is not None:
            return arranged
        described = _described(path)
        return XdmfSnapshots(described, None) if described else None
    run = read_run(source)
    dataset: Dataset | None = None
    bp = find_bp(path)
    for directory in (path / "data", path):
        if dataset is None and entries(directory, NAME):
            dataset = Xcompact3dSnapshots(str(path), directory, run)
    toolbox = list(directories_in(path))
    if dataset is None and toolbox:
        dataset = ToolboxSnapshots(str(path), toolbox.pop(0), run)
    if dataset is None and bp:
        dataset = bp_dataset(bp.pop(0), run)
    if dataset is None and (path / INFO).is_file() and (path / "checkpoint").is_file():
        dataset = Xcompact3dCheckpoint(path / "checkpoint", run)
    if dataset is None and entries(path / "statistics", STATISTIC):
        dataset = Xcompact3dStatistics(str(path), path / "statistics", run)
    if dataset is None:
        raise IoError(
            f"{path}: has the input file {source.name} of Xcompact3D, but no data: expected data/NAME-NUMBER.bin, "
            "data/3d_snapshots/NAME-STEP.bin, data.bp4, checkpoint with restart.info, or statistics/NAME.datSTEP"
        )
    dataset.auxiliary = _auxiliary(path, dataset, [*toolbox, *bp])
    return dataset


def _auxiliary(path: Path, dataset: Dataset, others: list[Path]) -> list[str]:
    found = [*others, path / HISTORY, *probes_in(path)]
    if (path / INFO).is_file():
        found.append(path / "checkpoint")
    if entries(path / "statistics", STATISTIC):
        found.append(path / "statistics")
    taken = set(dataset.files)
    return [str(one) for one in found if one.exists() and str(one) not in taken]


def _described(path: Path) -> Path | None:
    if not entries(path, NAME):
        return None
    return min(path.glob("snapshot-*.xdmf"), key=lambda one: (len(one.name), one.name), default=None)


def _file(path: Path) -> Dataset | None:
    if is_xdmf(path):
        return XdmfSnapshots(path, _run_of(path))
    described = described_at(path, lambda: _run_of(path))
    if described is not None:
        return described
    if NAME.fullmatch(path.name) and path.parent.name in DIRECTORIES:
        source = input_above(path.parent)
        return ToolboxSnapshots(str(path), path.parent, read_run(source), only=path.name) if source else None
    if NAME.fullmatch(path.name):
        run = _run_of(path)
        if run is not None:
            return Xcompact3dSnapshots(str(path), path.parent, run, only=path.name)
    table = table_at(path, lambda: _run_of(path))
    if table is not None:
        return table
    if (path.parent / "restart.info").is_file() and is_checkpoint(path, _run_of(path)):
        return Xcompact3dCheckpoint(path, _run_of(path))
    return None


def _run_of(path: Path) -> Xcompact3dRun | None:
    """The run of a file, from the input file in its directory or in the one above."""

    source = find_input(path.parent) or find_input_above(path.parent)
    return read_run(source) if source else None
