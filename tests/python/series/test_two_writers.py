"""A series has one writer: the second is refused with who the first is, and harms nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import KINDS
from helpers.programs.series import second_writer

SHAPE = (4, 3, 5)


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_second_writer_is_refused(tmp_path: Path, mode: str):
    """Of every engine, all at once: each second writer waits some seconds for the first."""
    paths = {engine.name: engine.path(tmp_path / engine.name) for engine in KINDS}
    with contextlib.ExitStack() as stack:
        outs, seconds = {}, {}
        for engine in KINDS:
            path = paths[engine.name]
            path.parent.mkdir()
            out = stack.enter_context(tr.open(path, "w", engine=engine.name, parameters=engine.parameters))
            for index in range(2):
                out.write_step(float(index), index=index, f=np.full(SHAPE, float(index)))
            outs[engine.name] = out
            seconds[engine.name] = mpi_run.start_module(second_writer, path, mode, engine.name, cwd=tmp_path)
        for name, second in seconds.items():
            result = mpi_run.finish(second, 60)
            assert result.code == second_writer.REFUSED, (name, result.text)
            assert "process" in result.out and str(paths[name]) in result.out, (name, result.text)
            outs[name].write_step(2.0, index=2, f=np.full(SHAPE, 2.0))
    for name, path in paths.items():
        with tr.open(path) as stored:
            assert [step.index for step in stored] == [0, 1, 2], name
            assert [float(step["f"].max()) for step in stored] == [0.0, 1.0, 2.0], name
            assert stored.verify() == [], name
        assert not Path(f"{path}.lock").exists(), name


def test_the_same_program_is_refused_too_until_it_closes(tmp_path: Path):
    first = tr.open(tmp_path / "run", "w")
    with pytest.raises(tr.IoError, match="is writing it"):
        tr.open(tmp_path / "run", "w")
    first.close()
    tr.open(tmp_path / "run", "w").close()


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_an_error_that_is_kept_keeps_no_writer(tmp_path: Path, engine):
    """The functions that it went through have the series, as long as a program has the error."""
    path = engine.path(tmp_path)
    wrong = np.full(SHAPE, None)
    with (
        pytest.raises(tr.InputError, match="expected an array of numbers") as kept,
        tr.open(path, "w", engine=engine.name, parameters=engine.parameters) as out,
    ):
        out.write_step(0.0, f=wrong)
    with tr.open(path, "w", engine=engine.name, parameters=engine.parameters) as out:
        out.write_step(0.0, f=np.ones(SHAPE))
    assert not path.with_name(f"{path.name}.lock").exists()
    assert kept.value is not None
