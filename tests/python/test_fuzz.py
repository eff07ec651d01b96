"""The fuzzers run, and find nothing in a few cases; many cases are for a release."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from helpers.harness import mpi_run

FUZZ = Path(__file__).parents[1] / "fuzz"


def folders() -> set[Path]:
    """The directories of campaigns that are there now."""
    parents = [Path("/dev/shm"), Path(tempfile.gettempdir())]
    return {path for parent in parents if parent.is_dir() for path in parent.glob("tailrace-fuzz-*")}


@pytest.mark.parametrize(("program", "cases"), [("fuzz_series", 300), ("fuzz_texts", 300), ("threads", 4)])
def test_few_cases(program: str, cases: int):
    """Nothing is found, and nothing stays behind."""
    before = folders()
    command = [sys.executable, str(FUZZ / f"{program}.py"), "--cases", str(cases), "--workers", "2"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, env=mpi_run.environment())
    assert result.returncode == 0, result.stdout
    assert f"{cases} cases from seed 0: 0 findings" in result.stdout
    assert folders() == before


def test_few_faults():
    """The command of the campaign finds nothing in one engine; a setting on two ranks, some calls of each kind."""
    command = [sys.executable, FUZZ / "inject_faults.py", "--only", "sion-files", "--ranks", "2", "--stride", "150"]
    result = subprocess.run(command, env=mpi_run.environment(), capture_output=True, text=True, timeout=280)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ": 0 findings" in result.stdout


def test_a_finding_is_reported(tmp_path: Path):
    """A worker that crashes, hangs or fails is a finding each, and the other cases go on."""
    program = tmp_path / "fuzz_nothing.py"
    program.write_text(f"""
import os, sys, tempfile, time
sys.path.insert(0, {str(FUZZ)!r})
import campaign

def case(seed):
    tempfile.mkdtemp()
    if seed == 2:
        os.kill(os.getpid(), 11)
    if seed == 4:
        time.sleep(600)
    if seed == 6:
        raise AssertionError("wrong")
    return "well"

options = campaign.arguments("")
campaign.LIMIT = 5.0
if options.worker:
    campaign.work(case)
else:
    sys.exit(campaign.run(options))
""")
    command = [sys.executable, str(program), "--cases", "8", "--workers", "2"]
    before = folders()
    result = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert result.returncode == 1, result.stderr
    for said in ("case 2: the reader died: signal SIGSEGV", "case 4: no end", "case 6: AssertionError: wrong"):
        assert said in result.stdout, result.stdout
    assert "5 well" in " ".join(result.stdout.split())
    assert folders() == before


def test_seeds_of_the_native_fuzzers(tmp_path: Path):
    """Each program has inputs to begin with, except the one whose inputs are no files."""
    command = [sys.executable, str(FUZZ / "native" / "seeds.py"), str(tmp_path)]
    subprocess.run(command, check=True, timeout=240, env=mpi_run.environment())
    programs = {path.stem.removeprefix("fuzz_") for path in (FUZZ / "native").glob("fuzz_*.cpp")}
    assert {path.name for path in tmp_path.iterdir()} == programs - {"foreign_bp"}
    for folder in tmp_path.iterdir():
        sizes = [path.stat().st_size for path in folder.iterdir()]
        assert sizes and max(sizes) <= 65536, "longer ones are cut"


def test_the_energy_of_random_inputs_is_balanced(tmp_path: Path):
    """Of all flows, schemes and forces that inputs of Xcompact3D can have: what is left is below 0.1 %.

    Nothing is written where the command is started.
    """
    command = [sys.executable, str(FUZZ / "energy_budgets.py"), "--cases", "10"]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, env=mpi_run.environment()
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "10 inputs from seed 0: largest" in result.stdout and "0 above 0.001" in result.stdout
    assert not list(tmp_path.iterdir())
