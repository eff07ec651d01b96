"""A package that one user has installed works for the others: nothing of it lies in a home."""

import os
import subprocess
import sys
from pathlib import Path

import tailrace
from helpers.harness import mpi_run


def libraries():
    """The libraries of the compiled module, as the system finds them with no variable that names folders."""
    from tailrace import _core

    module = Path(_core.__file__)
    plain = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    told = subprocess.run(["ldd", module], capture_output=True, text=True, check=True, env=plain).stdout
    pairs = (line.split("=>") for line in told.splitlines() if "=>" in line)
    return module, {name.strip(): place.split("(")[0].strip() for name, place in pairs}


def test_the_libraries_that_were_built_for_it_are_in_the_package():
    module, found = libraries()
    ours = {name: place for name, place in found.items() if "_tailrace" in name or name.startswith("libtailrace")}
    assert "libtailrace.so" in ours
    for name, place in ours.items():
        assert Path(place).resolve().is_relative_to(module.parent.resolve()), f"{name} is at {place}"
    assert not any(place == "not found" for place in found.values()), found


def test_another_user_can_import_it(tmp_path):
    """As root only, and where that user may read Python and the package."""
    module, _ = libraries()
    program = "from tailrace import core; print(core.build_info()['version'])"
    if os.geteuid() == 0 and _is_for_all(module) and _is_for_all(Path(sys.executable).resolve()):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", program]
    else:
        command = [sys.executable, "-c", program]
    result = subprocess.run(
        command, cwd="/", env=mpi_run.environment() | {"HOME": "/nonexistent"}, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert result.stdout.strip() == tailrace.__version__, result.stderr


def _is_for_all(path: Path) -> bool:
    return path.stat().st_mode & 0o004 != 0 and all(one.stat().st_mode & 0o001 for one in path.parents)
