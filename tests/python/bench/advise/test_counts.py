"""What the model of writing assumes of opens and descriptions, held against what the ranks of a program are counted."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES
from tailrace.bench.advise.load import Load
from tailrace.bench.advise.model import START_LOOKS, START_OPENS
from tailrace.bench.advise.pattern import ADIOS2_ROW, pattern_of
from tailrace.bench.advise.profile import load_profile
from tailrace.core import engine_traits

SCALE = Path(__file__).parents[3] / "scale"
RANKS, STEPS, VARIABLES = 8, 3, 3
LABELS = ["raw", "raw-dist", "hdf5", "bp4", "bp5", "sion", "sion-files"]
OF_RANK_0 = 20  # files that rank 0 opens in a step for all: lists, drawings, indices


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, Path]:
    spec = importlib.util.spec_from_file_location("grow_with_ranks", SCALE / "grow_with_ranks.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.compile_library(tmp_path_factory.mktemp("count"))


@pytest.mark.parametrize("label", LABELS)
def test_opens_and_descriptions_are_as_counted(counting, tmp_path, label):
    module, library = counting
    engine = next(one for one in ENGINES if one.label == label)
    command = [
        *mpi_run.mpiexec(RANKS), "env", f"LD_PRELOAD={library}", sys.executable, "-m", "mpi4py",
        SCALE / "ranks_program.py", tmp_path, engine.name, json.dumps(dict(engine.parameters)), engine.place, "write",
    ]  # fmt: skip
    done = mpi_run.finish(mpi_run.start(command, tmp_path), limit=60)
    assert done.code == 0, done.text
    (counts,) = [json.loads(line) for line in done.out.splitlines() if f'"{STEPS} steps"' in line]
    total, first = (dict(zip(module.NAMES, counts[key], strict=True)) for key in ("sum", "first"))

    load = Load(1e6, RANKS, variables=VARIABLES, steps=STEPS, nodes=1)
    pattern = pattern_of(engine.name, engine.parameters, load, load_profile("laptop"))
    opens = max(pattern.files, (pattern.openers or pattern.writers) * pattern.opened)
    if engine_traits(engine.name).one_file or engine_traits(engine.name).owns_directory:
        opens = 0  # its files stay open from step to step
    assert STEPS * opens <= total["opens"] <= STEPS * (opens + OF_RANK_0)

    rest = (total["received"] - first["received"]) / (RANKS - 1)  # of another rank: what all receive
    row = (first["received"] - rest) / (RANKS * STEPS * VARIABLES)
    if pattern.row < ADIOS2_ROW:
        assert row == pytest.approx(pattern.row, rel=0.1)
    else:  # its metadata depend on names and types
        assert row == pytest.approx(pattern.row, rel=0.4)


def test_the_start_of_a_rank_is_as_counted(counting, tmp_path):
    """MPI opens some files of the machine beside; versions of Python and its packages differ."""
    module, library = counting
    command = [
        *mpi_run.mpiexec(2), "env", f"LD_PRELOAD={library}", sys.executable, "-m", "mpi4py",
        SCALE / "ranks_program.py", tmp_path, "start",
    ]  # fmt: skip
    done = mpi_run.finish(mpi_run.start(command, tmp_path), limit=60)
    assert done.code == 0, done.text
    (counts,) = [json.loads(line) for line in done.out.splitlines() if '"start"' in line]
    total = dict(zip(module.NAMES, counts["sum"], strict=True))
    assert 0.9 * START_OPENS <= total["opens"] / 2 <= 1.4 * START_OPENS
    assert total["looks"] / 2 == pytest.approx(START_LOOKS, rel=0.4)
