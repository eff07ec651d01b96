"""Runs the blocks of a page in order, in a directory of its own: Python in one process, as in one session."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from helpers.harness.mpi_run import environment
from helpers.harness.snippets import ROOT, Block, Page
from helpers.programs import snippet_session
from tailrace.case.case import Case, load_case
from tailrace.machine import MPI_FILES
from tailrace.steps.grid_file import read_grid_file

LIMIT = 100.0  # seconds for a block

_COMMAND = """#!/bin/sh
case "$1" in
run) exec {python} -m tailrace.cli "$@" $TAILRACE_SNIPPETS_SMALLER ;;
*) exec {python} -m tailrace.cli "$@" ;;
esac
"""


class Runner:
    """A session of Python that stays, and the command `tailrace` of this environment."""

    def __init__(self) -> None:
        self._bin = Path(tempfile.mkdtemp())
        for name, text in (("tailrace", _COMMAND), ("python", '#!/bin/sh\nexec {python} "$@"\n')):
            (self._bin / name).write_text(text.format(python=sys.executable))
            (self._bin / name).chmod(0o755)
        more = {
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "MPLBACKEND": "Agg",
            "PYTHONWARNINGS": "default",
        }
        self._environment = {**environment(), **more}
        self._environment.pop(MPI_FILES)  # several programs at a time have this environment
        self._session: subprocess.Popen[str] | None = None
        self._data: Path | None = None

    def close(self) -> None:
        """End the session and remove what it made."""
        if self._session is not None:
            self._session.kill()
            self._session.communicate()
        shutil.rmtree(self._bin)

    def page(self, page: Page, directory: Path) -> None:
        """Run a page; the first block that does not do what it should fails the test."""
        new, smaller = True, ""
        fortran = [block for block in page.blocks if block.language in ("fortran", "hidden declarations")]
        for block in page.blocks:
            language = block.language.removeprefix("hidden ")
            if block.why_not:
                continue
            if block.file:
                (directory / block.file).write_text(block.text)
            place = f"{page.path}:{block.line}"
            if language == "smaller":
                smaller = block.text
            elif language == "data":
                shutil.copytree(self.data(), directory, dirs_exist_ok=True)
            elif language == "python":
                failed, said = self.python(block, page, directory, new)
                self._expect(block, place, failed, said)
                new = False
            elif language == "sh":
                self._expect(block, place, *self.shell(block.text, directory, smaller))
            elif language == "toml":
                self._expect(block, place, *self.toml(block, directory))
        if fortran:
            compile_fortran(fortran, directory, page.name)

    def _expect(self, block: Block, place: str, failed: bool, said: str) -> None:
        if block.fails:
            assert failed, f"{place} was expected to fail, and did not:\n{said}"
            assert block.fails in said, f"{place} fails in another way than it says:\n{said}"
        else:
            assert not failed, f"{place} failed:\n{said}"

    def python(self, block: Block, page: Page, directory: Path, new: bool) -> tuple[bool, str]:
        """Run a block in the session, with new names for a new page."""
        if self._session is None or self._session.poll() is not None:
            self._session = subprocess.Popen(
                [sys.executable, snippet_session.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=self._environment,
            )
        assert self._session.stdin and self._session.stdout
        order = {
            "directory": str(directory),
            "new": new,
            "line": block.line,
            "file": str(page.path),
            "text": block.text,
        }
        print(json.dumps(order), file=self._session.stdin, flush=True)
        answer = self._session.stdout.readline()
        if not answer:
            return True, f"the session ended with {self._session.wait()}"
        result: dict[str, Any] = json.loads(answer)
        return result["failed"], result["text"]

    def shell(self, text: str, directory: Path, smaller: str = "") -> tuple[bool, str]:
        """Run a block of commands; the first that fails ends it."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=directory,
            env={**self._environment, "TAILRACE_SNIPPETS_SMALLER": smaller},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return done.returncode != 0, done.stdout

    def toml(self, block: Block, directory: Path) -> tuple[bool, str]:
        """Validate a part of a case, within the template, or a grid file."""
        path = directory / "block.toml"
        path.write_text(block.text)
        try:
            with contextlib.chdir(directory):
                validate(path)
        except Exception as error:
            return True, str(error)
        return False, ""

    def data(self) -> Path:
        """A directory with what a short run leaves: tgv.toml, snapshots.h5, time_series.csv, checkpoints."""
        if self._data is None:
            self._data = self._bin / "data"
            self._data.mkdir()
            values = "grid.points=[24,20,16] time.dt_max=0.05 time.end=2 output[0].interval=0.5 diagnostics.every=2"
            words = " ".join(f"--set {value}" for value in [*values.split(), "checkpoint.every=20", "analysis=[]"])
            failed, said = self.shell(f"tailrace new tgv\ntailrace run tgv.toml {words}", self._data)
            if failed:
                pytest.fail(f"the run for the pages failed:\n{said}")
        return self._data


def validate(path: Path) -> None:
    """Read a part of a case, within the template, or a grid file."""
    given = tomllib.loads(path.read_text())
    if not set(given) <= set(Case.model_fields) or {"variables"} & set(given):
        read_grid_file(path)
        return
    whole = tomllib.loads((resources.files("tailrace.case.templates") / "tgv.toml").read_text())
    whole = {name: table for name, table in whole.items() if name not in ("output", "analysis")}
    merged = {**whole, **given}
    for name in given:
        if isinstance(given[name], dict) and isinstance(whole.get(name), dict):
            groups = ({"steps", "end"}, {"flow", "from"}, {"dt", "cfl"})
            clashes = [group for group in groups if group & set(given[name])]
            kept = {key: value for key, value in whole[name].items() if not any(key in group for group in clashes)}
            merged[name] = {**kept, **given[name]}
    case = path.with_suffix(".case.toml")
    case.write_text(tomlkit.dumps(merged))
    load_case(case)
    case.unlink()


def compile_fortran(blocks: list[Block], directory: Path, page: str) -> None:
    """Compile the blocks of a page, each as a subroutine of its own, with the declarations of its comment.

    A block with the name of a file is a whole program, which the page compiles itself.
    """
    declared = "\n".join(block.text for block in blocks if block.language != "fortran")
    text = ""
    for block in blocks:
        if block.language != "fortran" or block.why_not or block.file:
            continue
        uses = re.findall(r"(?m)^ *use .*$", block.text)
        types = re.findall(r"(?m)^ *type\(.*$", block.text)
        rest = re.sub(r"(?m)^ *(use|type\().*$", "", block.text)
        own = declared
        for line in types:
            name = line.partition("::")[2].split("!")[0].strip()
            own = re.sub(rf"(?m)^.*:: {name}$", "", own)
        parts = [f"subroutine line_{block.line}", "use mpi", *(uses or ["use tailrace"]), "implicit none"]
        text += "\n".join([*parts, *types, own, rest, "end subroutine\n"])
    (directory / "snippets.f90").write_text(text)
    templates = ROOT / "src" / "tailrace" / "c_api" / "fortran"
    script = directory / "module.cmake"
    script.write_text(
        f"cmake_minimum_required(VERSION 3.25)\ninclude({ROOT}/cmake/FortranModule.cmake)\n"
        f"set(PROJECT_SOURCE_DIR {ROOT})\ntailrace_fortran_module({templates} {directory}/tailrace.f90)\n"
    )
    for command in (
        ["cmake", "-P", str(script)],
        ["mpifort", "-fsyntax-only", "tailrace.f90"],
        ["mpifort", "-fsyntax-only", "-ffree-line-length-none", "snippets.f90"],
    ):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=LIMIT)
        assert not done.returncode, f"{page}: {' '.join(command)}\n{done.stdout}{done.stderr}"
