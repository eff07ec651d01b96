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


IMAGE = (
    '<?xml version="1.0"?>\n<VTKFile type="ImageData" byte_order="LittleEndian"><ImageData WholeExtent="0 1 0 1 0 1" '
    'Origin="0 0.5 0" Spacing="1 1 2"><FieldData><DataArray type="Float64" Name="rows" NumberOfTuples="2" '
    'NumberOfComponents="2" format="ascii">1 2 3 4</DataArray></FieldData><Piece Extent="0 1 0 1 0 1"><PointData>'
    '<DataArray type="Float64" Name="p" NumberOfComponents="1" format="ascii">0 1 2 3 4 5 6 7</DataArray></PointData>'
    "</Piece></ImageData></VTKFile>\n"
)
ALONG = "".join(f'<DataArray type="Float64" Name="{d}" format="ascii">0 1</DataArray>' for d in "xyz")
STRETCHED = (
    IMAGE.replace("ImageData", "RectilinearGrid")
    .replace(' Origin="0 0.5 0" Spacing="1 1 2"', "")
    .replace("<PointData>", f"<Coordinates>{ALONG}</Coordinates><PointData>")
)


def test_small_files_of_text(tmp_path: Path) -> None:
    for name, text in (("a.vti", IMAGE), ("a.vtr", STRETCHED)):
        (tmp_path / name).write_text(text)
        with tr.open(tmp_path / name) as found:
            np.testing.assert_array_equal(found[0].read("p"), np.arange(8.0).reshape(2, 2, 2))
            np.testing.assert_array_equal(found[0].read("rows"), [[1, 2], [3, 4]])
            assert not any("left out" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (IMAGE, '<Piece Extent="0 1 0 1 0 1">', '<Pieces Extent="0 1 0 1 0 1">', "mismatched tag"),
        (IMAGE, "Piece", "Part", "found no <Piece>"),
        (IMAGE, '<Piece Extent="0 1 0 1 0 1">', '<Piece Extent="0 1 0 1 0">', "found Extent '0 1 0 1 0'"),
        (IMAGE, '<Piece Extent="0 1 0 1 0 1">', '<Piece Extent="0 1 0 1 0 x">', "found Extent '0 1 0 1 0 x'"),
        (IMAGE, 'Origin="0 0.5 0"', 'Origin="0 0.5"', "found '0 0.5' instead of three numbers"),
        (IMAGE, 'Spacing="1 1 2"', 'Spacing="1 1 wide"', "found '1 1 wide' instead of numbers"),
        (IMAGE, 'Spacing="1 1 2"', 'Spacing="1 1 2" Direction="0 1 0 1 0 0 0 0 1"', "found axes turned by Direction"),
        (IMAGE, "<VTKFile", '<VTKFile compressor="vtkOdd"', "found values packed by 'vtkOdd'"),
        (IMAGE, '<?xml version="1.0"?>', '<?xml version="1.0" encoding="odd"?>', "unknown encoding"),
        (IMAGE, "<PointData>", "<a>" * 70 + "</a>" * 70 + "<PointData>", "found too many tags"),
        (IMAGE, "</ImageData>", '</ImageData><AppendedData encoding="raw">x', "found no '_' at the beginning"),
        (STRETCHED, 'Name="z"', 'Name="z"/><DataArray', "found 4 arrays of coordinates instead of 3"),
        (STRETCHED, 'type="Float64" Name="z"', 'type="String" Name="z"', "found coordinates that are no numbers"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, text: str, old: str, new: str, message: str) -> None:
    assert old in text
    (tmp_path / "a.vtk.vti").write_text(text.replace(old, new))
    with pytest.raises(tr.IoError, match=rf"a\.vtk\.vti: .*{message}"):
        dataset_at(tmp_path / "a.vtk.vti", {})


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('type="Float64" Name="p"', 'type="String" Name="p"', "'p' is of type 'String': it is left out"),
        ('NumberOfComponents="1"', 'NumberOfComponents="0"', "'p' has '0' components: it is left out"),
        ('NumberOfComponents="1" format="ascii"', 'format="odd"', "'p' is of format 'odd': it is left out"),
        ('NumberOfComponents="1" format="ascii"', 'format="appended" offset="0"', "'p' is appended, and there are no"),
        ('NumberOfTuples="2"', 'NumberOfTuples="some"', "the field data 'rows' are left out"),
        ('NumberOfTuples="2"', 'NumberOfTuples="0"', None),
    ],
)
def test_arrays_that_cannot_be_read_are_left_out_and_told(tmp_path: Path, old: str, new: str, why: str | None) -> None:
    assert old in IMAGE
    (tmp_path / "a.vti").write_text(IMAGE.replace(old, new))
    found = dataset_at(tmp_path / "a.vti", {})
    assert found is not None
    assert list(found.variables(0)) == (["rows"] if "'p'" in str(why) else ["p"])
    assert [note for note in found.notes if "left out" in note or "appended" in note] == found.notes[: why is not None]
    assert why is None or found.notes[0].startswith(why)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('Origin="0 0.5 0"', 'Origin="0 0 0"', "its pieces have different origins or spacings"),
        ('Spacing="1 1 2"', 'Spacing="1 1 1"', "its pieces have different origins or spacings"),
        ('Piece Extent="1 2', 'Piece Extent="2 3', "some cells are in none of them"),
        ('Piece Extent="1 2', 'Piece Extent="0 1', "some cells are in several of them"),
    ],
)
def test_pieces_that_are_not_one_grid(tmp_path: Path, old: str, new: str, message: str) -> None:
    second = IMAGE.replace('Piece Extent="0 1', 'Piece Extent="1 2')
    (tmp_path / "0.vti").write_text(IMAGE)
    (tmp_path / "1.vti").write_text(second)
    pieces = "".join(f'<Piece Source="{n}.vti"/>' for n in range(2))
    whole = '<VTKFile type="PImageData"><PImageData WholeExtent="0 2 0 1 0 1">{}</PImageData></VTKFile>'
    (tmp_path / "a.pvti").write_text(whole.format(pieces))
    found = dataset_at(tmp_path / "a.pvti", {})
    assert found is not None and found.grid == tr.UniformGrid((3, 2, 2), (0.0, 0.5, 0.0), (1.0, 1.0, 2.0))
    assert old in second
    (tmp_path / "1.vti").write_text(second.replace(old, new))
    with pytest.raises(tr.IoError, match=message):
        dataset_at(tmp_path / "a.pvti", {})
    (tmp_path / "a.pvti").write_text(whole.format(""))
    with pytest.raises(tr.IoError, match=r"a\.pvti: expected a <PImageData> with <Piece>, found none"):
        dataset_at(tmp_path / "a.pvti", {})


def test_a_time_of_a_collection_that_is_no_number(collection: Path) -> None:
    collection.write_text(collection.read_text().replace('timestep="0.5"', 'timestep="noon"'))
    with pytest.raises(tr.IoError, match="a <DataSet> has timestep='noon'; expected a number"):
        dataset_at(collection, {})


def test_it_has_no_parameters(collection: Path) -> None:
    with pytest.raises(tr.core.InputError, match="the format vtk has no parameter 'speed'"):
        dataset_at(collection, {"speed": "1"})
