"""Small runs to analyse, made once, and scripts to analyse them with."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.harness import mpi_run
from helpers.harness.as_click import as_click
from helpers.harness.workers import Workers
from tailrace.io.time_series import read_time_series

if TYPE_CHECKING:
    from mpi4py import MPI

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


def make_run(tailrace: Ranks, directory: Path) -> Path:
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


class Ranks:
    """The command `tailrace`, on ranks that are kept: a start of MPI takes longer than most of these tests."""

    def __init__(self) -> None:
        self._sizes: dict[int, Workers] = {}

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        for workers in self._sizes.values():
            workers.stop()

    def __call__(self, directory: Path, *words: object, ranks: int = 1, code: int = 0) -> mpi_run.Result:
        """`tailrace WORDS` in a directory; it must end with `code`.

        What is started again there replaces its results, unless it goes on with them.
        """
        if words[0] in ("run", "analyse") and "--resume" not in words and "--overwrite" not in words:
            words = (*words, "--overwrite")
        result = self.result(directory, *words, ranks=ranks)
        assert result.code == code, result.text
        return result

    def result(self, directory: Path, *words: object, ranks: int = 1, limit: float = 60) -> mpi_run.Result:
        """The same with these words only, and with any exit code, which is that of every rank."""
        found = self._workers(ranks).results(
            "command", limit, directory=str(directory), words=[str(word) for word in words]
        )
        codes, outs, errs = zip(*found, strict=True)
        assert len(set(codes)) == 1, found
        return mpi_run.Result(codes[0], "".join(outs), "".join(errs))

    def script(self, text: str, *arguments: object, cwd: Path, ranks: int = 1, limit: float = 120) -> mpi_run.Result:
        """Run a Python program in a directory; it must succeed."""
        (cwd / "program.py").write_text(text)
        words = ["program.py", *map(str, arguments)]
        outs = self._workers(ranks).results("program", limit, directory=str(cwd), words=words)
        return mpi_run.Result(0, "".join(outs), "")

    def _workers(self, ranks: int) -> Workers:
        return self._sizes.setdefault(ranks, Workers(ranks, __name__))


KEPT = Ranks()  # until the tests end


def command(world: MPI.Comm, directory: str, words: list[str]) -> tuple[int, str, str]:
    """On the ranks: the exit code, and what this rank prints."""
    from tailrace.cli import common, main

    common._FIRST_WORD = 0.0  # these ranks do not end
    os.chdir(directory)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = as_click(main.app)(words, standalone_mode=False)
    return code or 0, out.getvalue(), err.getvalue()


def program(world: MPI.Comm, directory: str, words: list[str]) -> str:
    """On the ranks: run a file with its arguments; what this rank prints."""
    os.chdir(directory)
    out = io.StringIO()
    before, sys.argv = sys.argv, words
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv = before
    return out.getvalue()


def assert_close(found: Path, expected: Path, columns=BUDGET, tolerance: float = 1e-12) -> None:
    """Two time series have the same steps and times, and the same numbers up to rounding."""
    ours, theirs = read_time_series(found), read_time_series(expected)
    assert list(ours["step"]) == list(theirs["step"])
    assert len(ours["step"]) > 2
    for name in columns:
        assert abs(ours[name] / theirs[name] - 1).max() <= tolerance, name
