"""Mode "x" replaces nothing, and `files` tells all that a series consists of."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from tailrace.io.engines import ENGINES as ENGINE_TRAITS

ENGINES = ("raw", "mpiio", "hdf5", "bp4", "bp5", "sion", "adios_hdf5")
VALUES = np.arange(60.0).reshape(3, 4, 5)


def write(path: Path, mode: str, engine: str, value: float) -> None:
    grid = tr.StretchedGrid((5, 4, 3), coordinates=([0.0, 1.0, 2.0, 4.0, 8.0], (), ()))
    with tr.open(path, mode, engine=engine, grid=grid) as out:
        assert "writing" in repr(out)
        out.write_step(0.5, u=VALUES + value, lists={"p": VALUES[0]})
        out.write_step(1.5, u=VALUES + value)


@pytest.mark.parametrize("engine", ENGINES)
def test_exclusive(tmp_path: Path, engine: str):
    path = tmp_path / "series"
    if not ENGINE_TRAITS[engine].one_file:
        path.mkdir()  # an empty directory is nothing
    write(path, "x", engine, 0)
    with pytest.raises(tr.IoError, match=r"it is there already, and the mode is \"x\". To fix this, write elsewhere"):
        write(path, "x", engine, 1)
    with tr.open(path) as stored:
        assert np.array_equal(stored[1]["u"], VALUES)
        assert stored.verify() == []
    write(path, "w", engine, 1)
    with tr.open(path) as stored:
        assert np.array_equal(stored[0]["u"], VALUES + 1)


@pytest.mark.parametrize("what", ["file", "link", "directory"])
def test_anything_there_is_an_error(tmp_path: Path, what: str):
    path = tmp_path / "series.h5"
    if what == "file":
        path.touch()
    elif what == "link":
        path.symlink_to("nowhere")
    else:
        path.mkdir()
        (path / "mine").touch()
    with pytest.raises(tr.IoError, match="there already" if what != "directory" else "keeps a series in a file|there"):
        write(path, "x", "hdf5", 0)
    assert path.is_symlink() or path.exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_files(tmp_path: Path, engine: str):
    """They are all there is; strangers' files are not among them."""
    path = tmp_path / "series"
    write(path, "w", engine, 0)
    traits = ENGINE_TRAITS[engine]
    shares = not (traits.one_file or traits.owns_directory)  # its directory with other files
    if shares:
        (path / "notes.txt").write_text("mine")
    with tr.open(path) as stored:
        files = [Path(file) for file in stored.files]
    assert len(set(files)) == len(files)
    for file in files:
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    left = [file.name for file in tmp_path.rglob("*") if file.is_file()]
    assert left == (["notes.txt"] if shares else [])


def test_a_stream_has_no_files(tmp_path: Path):
    with tr.open(tmp_path / "out.h5", "w") as out, pytest.raises(tr.InputError, match="not for reading"):
        out.files  # noqa: B018
