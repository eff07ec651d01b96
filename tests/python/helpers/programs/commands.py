"""The command `tailrace`, and programs, on ranks that are kept."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from typing import TYPE_CHECKING

from helpers.harness.as_click import as_click

if TYPE_CHECKING:
    from mpi4py import MPI


class Kept(io.StringIO):
    """Errors of the command, which the program prints too: they tell why MPI was aborted."""

    def write(self, text: str) -> int:
        assert sys.__stderr__
        sys.__stderr__.write(text)
        sys.__stderr__.flush()
        return super().write(text)


def command(world: MPI.Comm, directory: str, words: list[str]) -> tuple[int, str, str]:
    """The exit code, and what this rank prints."""
    from tailrace.analysis import calls
    from tailrace.cli import common, main
    from tailrace.cli.ranks import launch

    common._FIRST_WORD = 0.0  # these ranks do not end
    calls.PATIENCE = launch.PATIENCE = 200.0  # of a machine that is busy
    os.chdir(directory)
    out, err = io.StringIO(), Kept()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = as_click(main.app)(words, standalone_mode=False)
    return code or 0, out.getvalue(), err.getvalue()


def program(world: MPI.Comm, directory: str, words: list[str]) -> str:
    """Run a file with its arguments; what this rank prints."""
    os.chdir(directory)
    out = io.StringIO()
    before, sys.argv = sys.argv, words
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv = before
    return out.getvalue()
