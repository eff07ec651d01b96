"""What paths and files tell about engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.io.engines import (
    DEFAULT,
    ENGINES,
    STORING,
    default_path,
    engine_by_extension,
    engine_of_remains,
    is_stream,
    stored_name,
)


def test_which_engines_keep_what_they_write() -> None:
    assert set(ENGINES) - set(STORING) == {"null", "sst"} and DEFAULT in STORING


@pytest.mark.parametrize(
    ("path", "engine", "stream"),
    [
        ("run.h5", "hdf5", False), ("run.vtkhdf", "hdf5", False), ("run.bp", "bp5", False), ("run.bp4", "bp4", False),
        ("deep.bp/run.sion", "sion", False), ("run", None, False), ("run.txt", None, False), ("hdf5:run", None, False),
        ("run.sst", "sst", True), ("sst:run", None, True), ("sst", None, False),
    ],
)  # fmt: skip
def test_what_a_path_says(path: str, engine: str | None, stream: bool) -> None:
    for form in (path, Path(path)):
        assert (engine_by_extension(form), is_stream(form)) == (engine, stream)


@pytest.mark.parametrize(
    ("engine", "path"),
    [("hdf5", "run.h5"), ("bp5", "run.bp"), ("sion", "run.sion"), ("raw", "run"), ("null", "run"), ("sst", "run"),
     ("unknown", "run")],
)  # fmt: skip
def test_the_usual_extension(engine: str, path: str) -> None:
    assert default_path("run", engine) == path


def test_the_names_of_xcompact3d_are_those_of_its_files() -> None:
    assert [stored_name("raw", name) for name in ("pressure", "vorticity", "q", "ux")] == ["pp", "vort", "critq", "ux"]
    assert stored_name("hdf5", "pressure") == "pressure"


@pytest.mark.parametrize(
    ("name", "files", "engine"),
    [
        ("run.bp4", ["data.0"], "bp4"),
        ("run.bp", ["data.0"], "bp5"),
        ("run", ["data.0"], "bp5"),
        ("run", ["series.xdmf"], "raw"),
        ("run", ["a.sion"], "sion"),
        ("run", ["series.xdmf", "a.sion"], "sion"),
        ("run.bp4", ["md.0", "a.sion"], "bp4"),
        ("run", ["notes.txt"], None),
        ("run", [], None),
    ],
)
def test_the_engine_of_what_is_left(tmp_path: Path, name: str, files: list[str], engine: str | None) -> None:
    (tmp_path / name).mkdir()
    for one in files:
        (tmp_path / name / one).touch()
    assert engine_of_remains(tmp_path / name) == engine


def test_a_file_is_no_directory_of_remains(tmp_path: Path) -> None:
    (tmp_path / "run.bp").touch()
    assert engine_of_remains(tmp_path / "run.bp") is engine_of_remains(tmp_path / "none") is None
