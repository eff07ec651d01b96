"""Small runs to analyse, made once, and scripts to analyse them with."""

from __future__ import annotations

from pathlib import Path

from helpers.harness.kept import Kept
from tailrace.io.time_series import read_time_series

BUDGET = ("kinetic_energy", "dissipation", "dissipation_laplacian", "enstrophy")

CASE = """
[case]
name = "small"
reynolds = 100.0
[grid]
points = [24, 20, 17]
lengths = ["2*pi", "2*pi", "pi"]
boundaries = ["periodic", "periodic", "free-slip"]
[time]
dt = 0.02
steps = 6
[diagnostics]
every = 2
"""


def output(name: str, engine: str, path: str, more: str = "") -> str:
    """An [[output]] of the velocity and the pressure at every second step."""
    return f"""
[[output]]
name = "{name}"
fields = ["ux", "uy", "uz", "pressure"]
every = 2
engine = "{engine}"
path = "{path}"
{more}
"""


def write_case(directory: Path, *blocks: str) -> Path:
    """Write case.toml; blocks are added to it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "case.toml"
    path.write_text(CASE + "\n".join(blocks))
    return path


def make_run(tailrace: Kept, directory: Path) -> Path:
    """A run with a time series and snapshots of several engines; returns its directory."""
    case = write_case(
        directory,
        output("h5", "hdf5", "run.h5"),
        output("bp", "bp5", "run.bp"),
        output("raw", "raw", "raw"),
        output("single", "hdf5", "single.h5", 'precision = "float32"'),
        output("plane", "hdf5", "plane.h5", "count = [0, 0, 1]"),
        output("coarse", "hdf5", "coarse.h5", "stride = [2, 2, 2]"),
    )
    tailrace(directory, "run", case)
    return directory


def script(directory: Path, text: str, name: str = "script.py") -> Path:
    """Write a script."""
    path = directory / name
    path.write_text(text)
    return path


def assert_close(found: Path, expected: Path, columns=BUDGET, tolerance: float = 1e-12) -> None:
    """Two time series have the same steps and times, and the same numbers up to rounding."""
    ours, theirs = read_time_series(found), read_time_series(expected)
    assert list(ours["step"]) == list(theirs["step"])
    assert len(ours["step"]) > 2
    for name in columns:
        assert abs(ours[name] / theirs[name] - 1).max() <= tolerance, name
