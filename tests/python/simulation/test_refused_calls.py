"""Calls of the system that fail in Python (a dead disk, too many open files): one IoError that names the file."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.core import InputError, IoError
from tailrace.files.whole import remove

BLOCK = '[[analysis]]\nscript = "enstrophy"\nevery = 2\n'
LIST = "listdir" if sys.version_info < (3, 13) else "scandir"  # what Path.iterdir calls
FAILING = {"stat": errno.EIO, "open": errno.EMFILE, LIST: errno.EIO, "mkdir": errno.EROFS}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run with a series, a table, results and checkpoints."""
    case = cases.write_case(tmp_path_factory.mktemp("done"), steps=2, every=1, outputs=("raw",), extra=BLOCK)
    assert cases.run(case).code == 0
    return case.parent


def refuse(patched: pytest.MonkeyPatch, name: str, ending: str) -> list[str]:
    """Let every call of a function for a path fail; returns the list of calls that have failed."""
    failed: list[str] = []
    call = getattr(os, name)

    def refused(path, *arguments, **options):
        if not isinstance(path, int) and str(os.fspath(path)).endswith(ending):
            failed.append(ending)
            raise OSError(FAILING[name], os.strerror(FAILING[name]), os.fspath(path))
        return call(path, *arguments, **options)

    patched.setattr(os, name, refused)
    return failed


def simulate(**options: bool) -> None:
    with tr.Simulation(tr.load_case("case.toml", ["time.steps=3"]), MPI.COMM_SELF, **options) as simulation:
        for _ in simulation.steps():
            pass


WAYS: dict[str, Callable[[], object]] = {
    "begin": lambda: simulate(),
    "overwrite": lambda: simulate(overwrite=True),
    "resume": lambda: simulate(resume=True),
    "read": lambda: tr.open("out").close(),
    "convert": lambda: tr.convert("out", "new.h5", comm=MPI.COMM_SELF),
}
NEVER = {("read", name) for name in FAILING if name != "stat"} | {("convert", LIST)}
PLACES = {
    "begin": ("time_series.csv", "analysis", "enstrophy.csv", "out", "checkpoints", ".earlier.json"),
    "overwrite": ("time_series.csv", "analysis", "enstrophy.csv", "out", "checkpoints", ".earlier.json"),
    "resume": ("time_series.csv", "analysis", "enstrophy.csv", "out", "checkpoints", "step-00000002"),
    "read": ("out",),
    "convert": ("out", "new.h5", "new.h5.partial"),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_fails_is_an_io_error(done: Path, tmp_path: Path, monkeypatch, way: str, name: str):
    refused = []
    for at, place in enumerate(PLACES[way]):
        folder = tmp_path / str(at)
        shutil.copytree(done, folder)
        for made in ("time_series.csv", "out", "analysis", "checkpoints") if way == "begin" else ():
            remove(folder / made)
        monkeypatch.chdir(folder)
        with monkeypatch.context() as patched:
            refused.append(refuse(patched, name, place))
            try:
                WAYS[way]()
            except (IoError, InputError) as error:
                assert place in str(error), error
    assert any(refused) or (way, name) in NEVER, "nothing was refused"
