"""The docstrings of the names that users need most have examples, and these give what they show."""

from __future__ import annotations

import doctest
import inspect
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr

NAMES = """
    open Series Series.write_step Series.steps Series.at Step Step.vector convert
    Block Box Region UniformGrid StretchedGrid
    Field Vector Operators
    ddx derivative grad div curl laplacian strain rotation interpolate filter q_criterion lambda2
    mean mean_square integral sum min max
    spectrum spectrum_1d correlation histogram joint_histogram
    plane line Probes spread Statistics
    Case load_case run Simulation Simulation.run Simulation.every Simulation.at Simulation.advance
    Model RandomVelocity live
""".split()  # noqa: SIM905 # a line for each subject


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples import neither NumPy nor Tailrace: `np` and `tr` are there, as in the pages of docs/."""
    text = attrgetter(name)(tr).__doc__
    example = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), {"np": np, "tr": tr}, f"tr.{name}", None, 0)
    assert any(one.want for one in example.examples), f"the docstring of tr.{name} has no example with a result"
    said: list[str] = []
    monkeypatch.chdir(tmp_path)
    with np.printoptions(precision=6, suppress=True):
        failed, _ = doctest.DocTestRunner().run(example, out=said.append)
    assert not failed, "".join(said)
