"""The file with the program and its Python: what starts from it opens nothing of where it was installed."""

import os
import shutil
import stat
import subprocess
import sys
import tarfile
from importlib import metadata
from importlib.metadata import PackagePath
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tailrace.batch.pack import PackError, _base, pack
from tailrace.cli.main import app
from tailrace.core import InputError

IN_PLACE = not Path(sys.modules["tailrace"].__file__).is_relative_to(sys.prefix)
# Prints what a process has loaded that is neither in the folder of the pack nor of the system.
FOREIGN = """
import os, sys, tailrace as tr, tailrace.core, h5py, matplotlib, mpi4py.MPI, numpy, xarray
here, old = sys.prefix, sys.argv[1]
files = [one.__file__ for one in sys.modules.values() if getattr(one, "__file__", None)]
files += [line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "/" in line]
print(len(files), *{name for name in files + sys.path if name.startswith(old)})
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    if IN_PLACE:
        pytest.skip("the package is installed in place, from its sources")
    folder = tmp_path_factory.mktemp("pack")
    done = CliRunner().invoke(app, ["pack", str(folder / "tailrace.tar"), "--bare", "--also", "xxhash"])
    assert done.exit_code == 0 and "/dev/shm/tailrace/settle" in done.output, done.output
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def unpacked(place):
    folder = place / "a node's memory"
    folder.mkdir()
    subprocess.run(["tar", "-xf", place / "tailrace.tar", "-C", folder], check=True)
    subprocess.run([folder / "settle"], cwd="/", check=True)
    return folder


def test_it_opens_nothing_of_where_it_was_installed(unpacked):
    done = subprocess.run(
        [unpacked / "bin" / "python", "-c", FOREIGN, sys.prefix], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    count, *foreign = done.stdout.split()
    assert int(count) > 500 and not foreign


def test_a_run_on_two_ranks_starts_from_it(unpacked, tmp_path):
    command = unpacked / "bin" / "tailrace"
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PATH": os.defpath}
    for words in (["new", "tgv"], ["run", "tgv.toml", "-n", "2", "--set=time.steps=2", "--set=grid.points=[16,12,8]"]):
        done = subprocess.run(
            [command, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "time_series.csv").exists()


def test_it_may_be_moved_and_settled_again(unpacked, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(unpacked, moved, symlinks=True)
    subprocess.run([moved / "settle"], check=True)
    text = "import sys, tailrace.core; print(sys.prefix, sys.base_prefix, tailrace.core.__file__)"
    said = subprocess.run([moved / "bin" / "python", "-c", text], capture_output=True, text=True, check=True).stdout
    assert said.split() == [
        str(moved),
        str(moved / "base"),
        str(next(moved.glob("lib/*/site-packages/tailrace/core.py"))),
    ]


def test_the_library_of_python_is_where_that_looks_for_it(monkeypatch):
    """That of Red Hat, Fedora and SUSE looks in lib64."""
    monkeypatch.setattr(sys, "platlibdir", "lib64")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert any(str(name) == f"base/lib64/{version}/os.py" for name, _ in _base())


def test_nothing_of_who_packed_it_is_inside(place):
    with tarfile.open(place / "tailrace.tar") as tar:
        members = tar.getmembers()
    assert len({one.name for one in members}) == len(members)
    assert all(one.uid == 0 and one.uname == "" and one.mode & stat.S_IROTH for one in members)
    assert not any(".." in one.name.split("/") or one.name.startswith("/") for one in members)


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "mine.tar").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        pack(tmp_path / "mine.tar")
    assert (tmp_path / "mine.tar").read_text() == "mine"


@pytest.mark.skipif(IN_PLACE, reason="the package is installed in place, from its sources")
def test_a_package_that_is_not_there(tmp_path):
    with pytest.raises(PackError, match="no package 'no-such-package'"):
        pack(tmp_path / "x.tar", ["no-such-package"])
    assert list(tmp_path.iterdir()) == []


def test_a_package_in_place_is_not_packed(tmp_path, monkeypatch):
    """Its list of files has links to the sources only.

    The class of what `distribution` returns is another one where the package importlib_metadata was imported.
    """
    linked = SimpleNamespace(requires=[], files=[PackagePath("_tailrace_editable.py")])
    monkeypatch.setattr(metadata, "distribution", lambda name: linked)
    with pytest.raises(PackError, match="installed in place"):
        pack(tmp_path / "x.tar")
    assert list(tmp_path.iterdir()) == []
