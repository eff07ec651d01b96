"""Programs in which one call of the system fails: the library of tests/fuzz/native/faults.c is preloaded in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.harness import mpi_run

FUZZ = Path(__file__).resolve().parents[3] / "fuzz"
BEGIN = f"""
import sys
sys.path[:0] = [{str(FUZZ)!r}, {str(FUZZ.parent / "python")!r}]
import gc, os
from pathlib import Path
import numpy as np
import tailrace as tr
from faults import Fault, Injector
injector = Injector()
injector.watch(Path.cwd())
a = np.arange(120.0).reshape(4, 5, 6)
opened = tr.open
tr.open = lambda path, *words, **more: opened(os.path.abspath(path), *words, **more)  # the library knows whole paths

def steps(path):
    with tr.open(path) as stored:
        assert stored.verify() == [], stored.verify()
        return [(step.index, bool(np.array_equal(step.read("ux"), step.index * a))) for step in stored]

"""


def preloaded(folder: Path) -> Path:
    """The library to preload, compiled in this folder."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    sys.path.insert(0, str(FUZZ))
    from faults import compile_library

    return compile_library(folder)


def run(library: Path, folder: Path, program: str, ranks: int = 1, *words: str) -> str:
    """What a program prints; it must end well."""
    script = folder.parent / f"{folder.name}.py"
    script.write_text(BEGIN + program)
    command = [sys.executable, str(script), *words]
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks), "env", f"LD_PRELOAD={library}", *command]
    environment = mpi_run.environment() | ({"LD_PRELOAD": str(library)} if ranks == 1 else {})
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "without a prior Close" not in result.stderr
    return result.stdout
