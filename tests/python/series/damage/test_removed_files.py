"""Files of a series that another program removes or replaces while the series is written: an error, on all ranks."""

from __future__ import annotations

import pytest

from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES, Engine
from helpers.inputs import cases
from helpers.programs.series import io_programs

LISTS = ["raw", "raw-dist", "mpiio", "mpiio-small", "adios_hdf5", "sion-files"]
BY_LABEL = {engine.label: engine for engine in ENGINES}
# What is removed after a step; and in a step, after its arrays were written.
BETWEEN = [
    *(("bp4", name) for name in ("md.idx", "md.0", "data.0", "data.[2]")),
    *(("bp5", name) for name in ("md.idx", "md.0", "mmd.0", "data.0", "data.[2]")),
    *((label, "series.jsonl") for label in LISTS),
]
WITHIN = [
    ("bp4", "md.idx"), ("bp5", "md.idx"), ("raw", "ux-3.bin"), ("raw-dist", "ux-3.0002.bin"), ("mpiio", "ux-3.bin"),
    ("mpiio-small", "ux-3.bin"), ("sion-files", "step-00000003.sion"), ("sion-files", "step-00000003.sion.000001"),
    ("adios_hdf5", "step-00000003.h5"),
]  # fmt: skip


def errors(three, engine: Engine, folder, **more) -> list[str]:
    """The errors of rank 0; those of the others must be the same."""
    given = {"path": str(engine.path(folder)), "engine": engine.name}
    found = three.results(
        io_programs.remove_between, parameters={**engine.parameters, **more.pop("parameters", {})}, **given, **more
    )
    assert found[0] == found[1] == found[2]
    return found[0]


@pytest.mark.parametrize("when", ["before a step", "before close"])
@pytest.mark.parametrize("how", ["removed", "replaced", "cut"])
@pytest.mark.parametrize(("label", "name"), BETWEEN)
def test_between_steps(tmp_path, three, label, name, how, when):
    found = errors(three, BY_LABEL[label], tmp_path, name=name, how=how, when=when)
    assert found and name.replace("[2]", "2") in found[0], found
    assert f"it was {how} " in found[0], found


@pytest.mark.parametrize(("label", "name"), WITHIN)
def test_within_a_step(tmp_path, three, label, name):
    found = errors(three, BY_LABEL[label], tmp_path, name=name, how="removed", when="in a step")
    assert found and name in found[0], found


@pytest.mark.parametrize("label", ["bp4", "bp5", "raw"])
def test_in_the_background(tmp_path, three, label):
    name = "series.jsonl" if label == "raw" else "md.idx"  # engine: the record of each
    engine, more = BY_LABEL[label], {"name": name, "how": "removed", "when": "before a step"}
    found = errors(three, engine, tmp_path, parameters={"buffers": 2}, **more)
    assert found and name in found[0] and "step 3 could not be written in the background" in found[0], found


REMOVER = """
from pathlib import Path

def analyse(step):
    if step.index == 5 and step.comm.rank == 0:
        Path("{file}").unlink()
    return {{"zero": 0.0}}
"""


@pytest.mark.parametrize(
    ("engine", "file"), [("bp5", "out.bp/md.idx"), ("bp4", "out.bp4/data.1"), ("raw", "out/series.jsonl")]
)
def test_a_run_fails(tmp_path, engine, file):
    case = cases.write_case(tmp_path, steps=10, outputs=(engine,))
    (tmp_path / "remover.py").write_text(REMOVER.format(file=file))
    case.write_text(case.read_text() + '\n[[analysis]]\nscript = "remover.py"\nevery = 1\n')
    result: mpi_run.Result = cases.run(case, ranks=2)
    assert result.code == 1, result.text
    assert file in result.err and "it was removed" in result.err, result.text
