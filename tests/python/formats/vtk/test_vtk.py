"""VTK's XML files: what is read, and what is said of files that are damaged, or of other kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from tailrace.formats.vtk import dataset_at

GRID = tr.StretchedGrid((5, 4, 3), (0.0, 1.0, 2.0), (0.5, 0.25, 0.125), ((), (1.0, 1.1, 1.3, 2.0), ()))


def field(step: int) -> np.ndarray:
    return np.arange(60.0).reshape(3, 4, 5) + 100 * step


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    with tr.open(tmp_path / "run", "w", engine="raw", grid=GRID) as out:
        for step in range(2):
            out.write_step(0.5 * step, index=10 * step, t=field(step))
    tr.convert(tmp_path / "run", tmp_path / "run.pvd")
    return tmp_path / "run.pvd"


def test_steps_times_and_places_come_back(collection: Path) -> None:
    with tr.open(collection) as found:
        assert [(step.index, step.time) for step in found] == [(0, 0.0), (10, 0.5)]
        np.testing.assert_array_equal(found.grid.coordinates[1], GRID.coordinates[1])
        np.testing.assert_array_equal(found[1].read("t", tr.Box((1, 0, 1), (3, 4, 2))), field(1)[1:, :, 1:4])
        assert found.verify() == []
    with tr.open(Path(f"{collection}.steps") / "step-000001.vtr") as found:
        assert [(step.index, step.time) for step in found] == [(10, 0.5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"RectilinearGrid", b"UnstructuredGrid"), "found type 'UnstructuredGrid'"),
        ((b'<Piece Extent="0 4 0 3 0 2">', b'<Piece Extent="0 4 0 3 0 -2">'), r"found \(5, 4, -1\) points"),
        ((b'<Piece Extent="0 4', b'<Piece Extent="0 5'), "expected 48 bytes .* found 5 numbers"),
        ((b"<CellData>", b"<CellData"), "expected XML without entities"),
        ((b"<AppendedData", b"<Appended"), "expected XML without entities"),
    ],
)
def test_other_kinds_and_damage_are_named(collection: Path, change: tuple[bytes, bytes], message: str) -> None:
    file = Path(f"{collection}.steps") / "step-000000.vtr"
    file.write_bytes(file.read_bytes().replace(*change))
    for path in (file, collection):
        with pytest.raises(tr.IoError, match=message) as error:
            dataset_at(path, {})
        assert str(file) in str(error.value)


def test_a_file_that_is_cut_off(collection: Path) -> None:
    file = Path(f"{collection}.steps") / "step-000001.vtr"
    file.write_bytes(file.read_bytes()[:-200])
    with tr.open(collection) as found:
        assert [line for line in found.verify() if "it is cut off" in line]
        with pytest.raises(tr.IoError, match=r"step-000001.vtr: ends at byte .* it is cut off"):
            found[1].read("t")


@pytest.mark.parametrize("name", ["/etc/passwd", "../other.vti", "", "run.txt"])
def test_a_collection_names_files_beside_it(collection: Path, name: str) -> None:
    collection.write_text(collection.read_text().replace("run.pvd.steps/step-000000.vtr", name))
    with pytest.raises(tr.IoError, match=r"expected a .vti or .vtr or .pvti or .pvtr in"):
        dataset_at(collection, {})


def test_what_vtk_cannot_hold_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with tr.open(tmp_path / "run.bp", "w", grid=tr.UniformGrid((5, 4, 3))) as out:
        out.write_step(0.0, t=field(0), other=np.ones((2, 2, 2)))
    with pytest.raises(tr.InputError, match=r"variable 'other': has \(2, 2, 2\) values; .* leave it out"):
        tr.convert(tmp_path / "run.bp", tmp_path / "run.pvd")
    assert not list(tmp_path.glob("run.pvd*"))
    assert tr.convert(tmp_path / "run.bp", tmp_path / "run.pvd", variables=["t"]).verified


def test_our_vectors_are_not_read_twice_and_lists_keep_their_columns(tmp_path: Path) -> None:
    with tr.open(tmp_path / "run", "w", engine="raw", grid=GRID) as out:
        rows = np.arange(12.0).reshape(4, 3)
        out.write_step(0.0, ux=field(0), uy=field(1), uz=field(2), lists={"particles": rows})
    assert tr.convert(tmp_path / "run", tmp_path / "run.pvd").verified
    with tr.open(tmp_path / "run.pvd") as found:
        assert sorted(found[0].variables) == ["particles", "ux", "uy", "uz"]
        np.testing.assert_array_equal(found[0].read("particles"), rows)
