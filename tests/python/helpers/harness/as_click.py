"""The command `tailrace` in this process. Typer makes it anew for each call, which takes longer than most calls."""

from __future__ import annotations

import contextlib
import functools
import io
from dataclasses import dataclass
from typing import Any

import typer


@functools.cache
def as_click(app: typer.Typer) -> Any:
    """What Typer makes of an app."""
    return typer.main.get_command(app)


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def invoke(*words: object) -> Result:
    """`tailrace WORDS`. Exceptions that it does not report itself are raised."""
    from tailrace.cli.main import app

    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            as_click(app)([str(word) for word in words], prog_name="tailrace")
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Result(code, out.getvalue(), err.getvalue())
