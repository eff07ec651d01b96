"""Consumers take steps wherever they come from: from a running simulation, and from the files that it wrote."""

import gc
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis.results import ResultSink
from tailrace.analysis.script import load
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.case.case import case_from_document
from tailrace.case.document import ConfigError
from tailrace.case.sections.output_section import OutputSection
from tailrace.consumers.analysis import Analysis
from tailrace.consumers.analysis import _load as load_script
from tailrace.consumers.consumer import Consumer
from tailrace.consumers.output import Output
from tailrace.io.time_series import read_time_series

DOCUMENT = {
    "case": {"flow": "taylor-green", "reynolds": 100.0},
    "grid": {"points": [16, 12, 10], "lengths": [6.0, 5.0, 4.0], "boundaries": ["periodic", "free-slip", "periodic"]},
    "time": {"dt": 0.01, "steps": 6},
    "output": [{"name": "snapshots", "fields": ["ux", "q"], "every": 2, "engine": "hdf5"}],
    "analysis": [{"script": "enstrophy", "every": 2}],
}


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = case_from_document(DOCUMENT, source="test", directory=Path())
    assert tr.Simulation(case, MPI.COMM_SELF).run() == 0
    return case


def drive(consumer: Consumer, series: tr.Series) -> None:
    for step in series:
        if consumer.wants(step.index, step.time):
            consumer.take(step)
    consumer.flush()
    consumer.close()


def test_an_output_takes_steps_of_files(case):
    """What it writes again is what the run wrote, of the steps that it wants, with another engine."""
    section = OutputSection(name="copy", fields=["ux", "q"], every=4, engine="raw", path="copy")
    with tr.open("snapshots.h5") as stored:
        attributes = {name: value for name, value in stored.attributes.items() if "/" not in name}
        copy = Output(section, case.time, stored.grid, MPI.COMM_SELF, attributes=attributes, resume_step=None)
        drive(copy, stored)
        again = tr.open("copy")
        assert [step.index for step in again] == [0, 4]
        for step in again:
            for name in ("ux", "q"):
                np.testing.assert_array_equal(step.read(name), stored[step.index // 2].read(name))


def test_an_analysis_takes_steps_of_files(case):
    """It returns what it returned inside the run, where `q` and the velocity came from the solver."""
    with tr.open("snapshots.h5") as stored:
        script = load("q2.py", Path(write_script()), "after")
        sink = ResultSink(
            Path("again"), "after", MPI.COMM_SELF, stored[0].operators,
            engine="hdf5", attributes=stored.attributes, provenance={}, resume_step=None,
        )  # fmt: skip
        drive(Analysis(ScriptRunner(script, MPI.COMM_SELF), sink, "stop", print), stored)
        rows = read_time_series("again/after.csv")
        assert rows["step"].tolist() == [0, 2, 4, 6]
        inside = np.ones(12)
        inside[[0, -1]] = 0.5  # planes of symmetry belong to the box by half
        means = [np.average((step.read("q") ** 2).mean(axis=(0, 2)), weights=inside) for step in stored]
        np.testing.assert_allclose(rows["q2"], means, rtol=1e-12)


def test_results_are_let_go_of_with_the_last_that_uses_them(case):
    """They keep files open, which must not wait for the garbage collector."""
    with tr.open("snapshots.h5") as stored:
        sink = ResultSink(
            Path("kept"), "after", MPI.COMM_SELF, stored[0].operators,
            engine="hdf5", attributes={}, provenance={}, resume_step=None,
        )  # fmt: skip
    runner = ScriptRunner(load("q2.py", Path(write_script()), "after"), MPI.COMM_SELF)
    analysis = Analysis(runner, sink, "stop", print)
    alive = [weakref.ref(one) for one in (sink, analysis)]
    sink.close()
    runner.close()
    gc.disable()
    try:
        del sink, analysis
        assert [one() for one in alive] == [None, None]
    finally:
        gc.enable()


def write_script() -> str:
    Path("q2.py").write_text(
        "import tailrace as tr\n\n\ndef analyse(step):\n    return {'q2': tr.mean(step['q'] ** 2)}\n"
    )
    return "."


@pytest.mark.parametrize(
    ("text", "parameters", "said"),
    [
        ("def analyse(step, level): pass", {}, "parameter 'level' has no default and no value; give one"),
        ("def analyse(step, level): pass", {"levels": 1}, "has no parameter 'levels'"),
        ("def analyse(step, level=1): pass", {"level": "high"}, "level"),
        (None, {}, "no file"),
    ],
)
def test_what_is_wrong_with_a_script_names_its_block(tmp_path, text, parameters, said):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    section = SimpleNamespace(script="mine.py", name="own", parameters=parameters)
    with pytest.raises(ConfigError, match=rf"the case: .*analysis 'own'.*{said}"):
        load_script(section, tmp_path)


def test_a_script_gets_the_parameters_of_its_block(tmp_path):
    (tmp_path / "mine.py").write_text("def analyse(step, level, count=1): return {'sum': level + count}")
    script = load_script(SimpleNamespace(script="mine.py", name="own", parameters={"level": 3, "count": 4}), tmp_path)
    assert script.values == {"level": 3, "count": 4}
