"""`tailrace flags`: what a compiler needs for programs in Fortran or C that use this installation."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from .common import fail, say

_PROGRAM = "use tailrace\ntype(tailrace_series) :: series\nend\n"
_LIMIT = 60.0  # seconds for a compiler; some ask a server for their licence first


def flags(
    language: Annotated[Literal["fortran", "c"], typer.Argument(help="The language of your program.")],
    cflags: Annotated[bool, typer.Option("--cflags", help="Only those to compile, for a Makefile.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Only those to link.")] = False,
    compiler: Annotated[
        str | None,
        typer.Option("--compiler", metavar="COMMAND", help="Your Fortran compiler, by default mpifort; it is tried."),
    ] = None,
) -> None:
    """Print what your compiler needs for a program in Fortran or C.

    `mpifort main.f90 -o main $(tailrace flags fortran)`, or `mpicc main.c -o main $(tailrace flags c)`.
    """
    if compiler is not None and language == "c":
        fail("--compiler names the compiler that reads the Fortran module; any C compiler will do, leave it out")
    folder = _compiled()
    include = folder / "include"
    if language == "fortran":
        include = include / "tailrace" / "fortran"
        _try_module(compiler, include)
    names = ["tailrace_fortran", "tailrace"] if language == "fortran" else ["tailrace"]
    words = [] if libs and not cflags else [f"-I{include}"]
    if libs or not cflags:
        words += [f"-L{folder}", f"-Wl,-rpath,{folder}", *(f"-l{name}" for name in names)]
    if shlex.join(words) != " ".join(words):
        say("note: the path of Tailrace has characters of the shell; write eval before the command, and quote $(...)")
    print(shlex.join(words))


def _compiled() -> Path:
    """The folder of the compiled parts, which an editable installation has apart from the Python sources."""
    spec = find_spec("tailrace._core")
    if spec is None or spec.origin is None:
        fail("the compiled library is not installed; tailrace doctor says what is missing", 1)
    return Path(spec.origin).parent


def _try_module(compiler: str | None, include: Path) -> None:
    """End the program where there is no module, or the compiler cannot read it: its own words would say no remedy."""
    if not (include / "tailrace.mod").exists():
        fail(
            "the Fortran module is not installed: there was no Fortran compiler when Tailrace was built. To fix this, "
            "install gfortran, or set FC to your compiler, and build again: make setup, or pip install",
            1,
        )
    command = shlex.split(compiler or "mpifort")
    if not command or shutil.which(command[0]) is None:
        if compiler is None:  # what the caller uses is not known
            return
        fail(f"--compiler {compiler}: there is no such command")
    said = _complaint(command, include)
    if said:
        from tailrace.core import build_info

        made = build_info()["fortran"]
        fail(
            f"{command[0]} cannot use the Fortran module: {said}\n"
            f"  It was compiled with {made}, and compilers read only modules that they wrote themselves. To fix this,\n"
            f"  compile with that one; or say --compiler COMMAND if yours is not {command[0]}; or build Tailrace with "
            "yours:\n  FC=COMMAND make setup",
            1,
        )


def _complaint(command: list[str], include: Path) -> str:
    """What the compiler says against a program that uses the module; nothing if it compiles it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "uses.f90").write_text(_PROGRAM)
        words = [*command, f"-I{include}", "-c", "uses.f90"]
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    if not done.returncode:
        return ""
    return next((line for line in lines if "error" in line.lower()), f"it ended with {done.returncode}")
