"""VTK's XML files as VTK itself writes them: in all forms, in pieces, in collections; damaged ones are named."""

from __future__ import annotations

import base64
import random
import re
import zlib

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs import vtk_files
from helpers.inputs.vtk_files import FORMS, Form
from tailrace.formats.vtk import dataset_at

EXTENT = (0, 5, 0, 3, 0, 2)
WHOLE = (2, 7, 1, 5, -1, 1)  # of the pieces


@pytest.mark.parametrize("stretched", [False, True], ids=["image", "rectilinear"])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_gives_every_value(tmp_path, form, stretched):
    path = vtk_files.write(tmp_path / ("a.vtr" if stretched else "a.vti"), form=form, stretched=stretched)
    expected = vtk_files.values(EXTENT)
    with tr.open(path) as found:
        step = found[0]
        assert step.time == 0.5 and step.vectors == {"U": ("U_x", "U_y", "U_z")}
        assert {name: one.dtype for name, one in step.variables.items()} == {
            "p": "float64", "f": "float32", "n": "int16", "U_x": "float64", "U_y": "float64", "U_z": "float64",
            "c": "float64",
        }  # fmt: skip
        for name, factor in (("p", 1), ("U_x", 1), ("U_y", 2), ("U_z", -1)):
            np.testing.assert_array_equal(step.read(name), factor * expected)
        np.testing.assert_array_equal(step.read("f"), expected.astype("f4"))
        np.testing.assert_array_equal(step.read("n"), expected % 997)
        np.testing.assert_array_equal(step.read("c"), expected[:2, :3, :5])
        for name in ("p", "U_x"):
            part = step.read(name, tr.Box((1, 2, 1), (3, 1, 2)))
            np.testing.assert_array_equal(part, expected[1:, 2:3, 1:4])
        along = np.arange(6.0)
        places = along + 0.1 * along**2 if stretched else 1 + 0.5 * along
        np.testing.assert_allclose(found.grid.coordinates[0], places, rtol=1e-14)
        assert found.verify() == [] and found.notes == []


@pytest.mark.parametrize("stretched", [False, True], ids=["image", "rectilinear"])
def test_pieces_are_one_grid(tmp_path, stretched):
    path = vtk_files.write_pieces(tmp_path, stretched=stretched)
    expected = vtk_files.values(WHOLE)
    with tr.open(path) as found:
        np.testing.assert_array_equal(found[0].read("p"), expected)
        np.testing.assert_array_equal(found[0].read("U_y", tr.Box((1, 1, 0), (4, 3, 2))), 2 * expected[:2, 1:4, 1:5])
        np.testing.assert_array_equal(found[0].read("c"), expected[:2, :4, :5])
        x = np.arange(2.0, 8)
        np.testing.assert_allclose(found.grid.coordinates[0], x + 0.1 * x**2 if stretched else 1 + 0.5 * x)
        assert found.grid.origin[2] == pytest.approx(-0.9 if stretched else 3 - 0.125)


def test_an_array_that_some_pieces_lack_is_left_out_and_told(tmp_path):
    path = vtk_files.write_pieces(tmp_path)
    part = tmp_path / "part_1.vti"
    part.write_bytes(part.read_bytes().replace(b'Name="f"', b'Name="g"'))
    with tr.open(path) as found:
        assert "f" not in found[0].names and "g" not in found[0].names and "p" in found[0].names
        assert [note[:3] for note in found.notes] == ["'f'", "'g'"]


def test_pieces_that_are_no_grid_are_refused(tmp_path):
    path = vtk_files.write_pieces(tmp_path)
    text = path.read_text()
    path.write_text(re.sub(r"<Piece [^>]*part_1\.vti\"/>", "", text))
    with pytest.raises(tr.IoError, match=r"whole\.pvti: its 2 pieces are not one grid .*: some cells are in none"):
        dataset_at(path, {})
    path.write_text(text.replace("part_1", "part_2"))
    with pytest.raises(tr.IoError, match="some cells are in "):
        dataset_at(path, {})
    path.write_text(text.replace("part_1.vti", "../part_1.vti"))
    with pytest.raises(tr.IoError, match=r"names the file '\.\./part_1\.vti'; expected a \.vti in"):
        dataset_at(path, {})


def test_collections_have_times_and_parts(tmp_path):
    lines = ""
    for number, time in enumerate((0.25, 0.5)):
        for part, extent in enumerate(((0, 2, 0, 3, 0, 2), (2, 5, 0, 3, 0, 2))):
            name = vtk_files.write(tmp_path / f"s{number}_{part}.vti", extent, salt=1000 * number).name
            lines += f'<DataSet timestep="{time}" part="{part}" file="{name}"/>'
    (tmp_path / "run.pvd").write_text(f'<VTKFile type="Collection"><Collection>{lines}</Collection></VTKFile>')
    with tr.open(tmp_path / "run.pvd") as found:
        assert list(found.times) == [0.25, 0.5]
        for step, salt in zip(found, (0, 1000), strict=True):
            np.testing.assert_array_equal(step.read("p"), vtk_files.values(EXTENT, salt))
    with tr.open(tmp_path / "s?_0.vti") as found:  # their own times
        assert list(found.times) == [0.5, 1000.5]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_damage_is_an_error_that_names_the_file(tmp_path, form):
    whole = vtk_files.write(tmp_path / "a.vti", form=form).read_bytes()
    dice = random.Random(1)
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        if dice.random() < 0.5:
            del damaged[dice.randrange(len(whole) // 3, len(whole)) :]
        else:
            damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        (tmp_path / "a.vti").write_bytes(damaged)
        try:
            with tr.open(tmp_path / "a.vti") as found:
                for name in found[0].names:
                    assert found[0].read(name).size > 0
        except (tr.IoError, tr.InputError) as error:
            assert "a.vti" in str(error)
            refused += 1
    assert refused > 20


def test_a_block_is_not_unpacked_beyond_its_size(tmp_path):
    path = vtk_files.write(tmp_path / "a.vti", form=Form("Binary", True, "ZLib", False))
    text = path.read_bytes()
    bomb = zlib.compress(bytes(1 << 24))
    count = 6 * 4 * 3 * 8
    header = np.array([1, count, 0, len(bomb)], "<u4").tobytes()
    begin = text.index(b'Name="p"')
    begin = text.index(b">", begin) + 1
    end = text.index(b"<", begin)
    path.write_bytes(text[:begin] + base64.b64encode(header) + base64.b64encode(bomb) + text[end:])
    with tr.open(path) as found, pytest.raises(tr.IoError, match=rf"'p': .* found {count + 1} bytes in block 0"):
        found[0].read("p")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b'Extent="0 5 0 3 0 2"', b'Extent="0 5 0 3 0 999999"'), "in [0-9]+ bytes: it is damaged"),
        ((b'Extent="0 5 0 3 0 2"', b'Extent="0 99999999 0 0 0 0"'), "points"),
        ((b'NumberOfTuples="1"', b'NumberOfTuples="99999999999"'), "in [0-9]+ bytes: it is damaged"),
        ((b'offset="0"', b'offset="99999999999999999"'), "'TimeValue': .* behind the end of"),
        (
            (b"vtkZLibDataCompressor", b"vtkLZ4DataCompressor"),
            "values packed by 'vtkLZ4DataCompressor'; write them with",
        ),
        ((b'Direction="1 0 0', b'Direction="0 1 0'), "axes turned by Direction"),
        ((b'type="ImageData"', b'type="HyperTreeGrid"'), "found type 'HyperTreeGrid'"),
        ((b'<?xml version="1.0"?>', b"<!DOCTYPE a [<!ENTITY b 'c'>]>"), "without entities"),
    ],
)
def test_what_is_not_read_and_what_no_memory_holds_is_named(tmp_path, change, message):
    path = vtk_files.write(tmp_path / "a.vti")
    text = path.read_bytes()
    assert change[0] in text
    path.write_bytes(text.replace(*change))
    with pytest.raises(tr.IoError, match=rf"a\.vti: .*{message}"), tr.open(path) as found:
        for name in found[0].names:
            found[0].read(name)


def test_a_packed_length_that_no_memory_holds_is_damage(tmp_path):
    path = vtk_files.write(tmp_path / "a.vti", form=Form("Appended", False, "ZLib", True))
    raw = bytearray(path.read_bytes())
    begin = raw.index(b"_", raw.index(b"<AppendedData")) + 1
    raw[begin + 24 : begin + 32] = (1 << 40).to_bytes(8, "little")
    path.write_bytes(raw)
    with pytest.raises(tr.IoError, match=rf"'TimeValue': .* found a length of {1 << 40} in [0-9]+ bytes"):
        dataset_at(path, {})


def test_arrays_of_one_name_on_points_and_cells_are_both_there(tmp_path):
    path = vtk_files.write(tmp_path / "a.vti")
    text = path.read_bytes()
    assert text.count(b'Name="c"') == 1
    path.write_bytes(text.replace(b'Name="c"', b'Name="U"'))
    with tr.open(path) as found:
        assert found[0].variables["U_x"].shape == (6, 4, 3)
        np.testing.assert_array_equal(found[0].read("U_cells"), vtk_files.values(EXTENT)[:2, :3, :5])


def test_a_component_does_not_replace_an_array_of_its_name(tmp_path):
    path = vtk_files.write(tmp_path / "a.vti")
    path.write_bytes(path.read_bytes().replace(b'Name="p"', b'Name="U_x"'))
    with tr.open(path) as found:
        np.testing.assert_array_equal(found[0].read("U_x"), vtk_files.values(EXTENT))
        np.testing.assert_array_equal(found[0].read("U_2_y"), 2 * vtk_files.values(EXTENT))
        assert found[0].vectors == {"U_2": ("U_2_x", "U_2_y", "U_2_z")}
