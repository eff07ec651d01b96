"""The text of a case, loaded, and the problems that are found in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tailrace.case.case import Case, ConfigError, load_case

GOOD = """
[case]
reynolds = 1600
[grid]
points = [33, 48, 17]
lengths = ["pi", "2*pi", 1.5]
boundaries = ["free-slip", "periodic", "free-slip"]
[time]
dt = 0.01
steps = 100
"""
OUTPUT = """
[[output]]
name = "{name}"
fields = ["ux", "vorticity"]
engine = "{engine}"
{rest}
"""
FLOW = """
import numpy as np
AMPLITUDE = 2.0
def shear(x, y, z):
    return AMPLITUDE * np.sin(y) + 0 * x, 0 * (x + y), 0 * z
"""


def load(tmp_path: Path, text: str = GOOD, overrides: Sequence[str] = ()) -> Case:
    """The case in a file of its own."""
    path = tmp_path / "case.toml"
    path.write_text(text, encoding="utf-8")
    return load_case(path, overrides)


def problems(tmp_path: Path, text: str = GOOD, overrides: Sequence[str] = ()) -> dict[str, str]:
    """What is wrong with a case, by key; it must be something."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, overrides)
    return {problem.key: problem.reason for problem in caught.value.problems}


def output(rest: str = "every = 10", name: str = "a", engine: str = "hdf5") -> str:
    """An [[output]] for the end of a case."""
    return OUTPUT.format(name=name, engine=engine, rest=rest)
