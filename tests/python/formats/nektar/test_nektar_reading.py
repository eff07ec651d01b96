"""Checkpoints of Nektar++ are read as what they hold, in all shapes and formats, and damaged ones give clear errors."""

import gc
import os
import pickle
import random
import tracemalloc
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.nektar_files import COUNTS, METADATA, hdf5, row, shape_text, xml
from tailrace.core import IoError
from tailrace.formats.nektar import dataset_at
from tailrace.formats.nektar.definition import coefficients
from tailrace.io.placement import Box

SAMPLES = os.environ.get("TAILRACE_SAMPLES")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="TAILRACE_SAMPLES is not set")


def everything(path):
    data = pickle.loads(pickle.dumps(dataset_at(Path(path))))
    return data, everything_of(data)


def everything_of(data):
    found = {}
    for name, stored in data.variables(0).items():
        found[name] = np.empty(stored.shape[::-1], stored.dtype)
        data.read(0, name, Box((0, 0, 0), stored.shape), found[name])
    return {name: values[0].reshape(-1) for name, values in found.items()}


SETS = {
    "all_shapes": [
        row("Segment", (5,), [3, 1], 1),
        row("Triangle", (3, 5), [7, 9, 8], 2),
        row("Quadrilateral", (3, 4), [20], 3),
        row("Tetrahedron", (2, 4, 5), [30, 4000000000], 4),
        row("Pyramid", (4, 3, 5), [40], 5, basis=["Modified_A", "Modified_A", "ModifiedPyr_C"]),
        row("Prism", (3, 2, 4), [50, 51], 6),
        row("Hexahedron", (2, 3, 4), [60], 7, fields="rho,T"),
    ],
    "mixed": [row("Triangle", [(2, 3), (4, 4), (1, 2)], [5, 2, 9], 8), row("Segment", [(3,), (6,)], [0, 1], 9)],
    "planes": [row("Quadrilateral", (2, 3, 4), [1, 2], 10, homogeneous=1, lengths=[1.5], z=[0, 1, 2, 3])],
    "lines": [row("Segment", (4, 2, 3), [6, 7, 5], 11, homogeneous=2, lengths=[0.5, 2.0], y=[0, 1, 2, 3], z=[0, 1])],
    "strips": [row("Triangle", (2, 3, 2), [6], 12, homogeneous=1, lengths=[3.0], z=[0, 1], s=[4, 5], strips=True)],
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["xml", "hdf5"])
def test_all_that_is_there_is_read(tmp_path, name, kind):
    rows, path = SETS[name], tmp_path / "a.fld"
    if kind == "xml":
        path.write_text(xml(rows, tail=b"behind the stream"))
    else:
        hdf5(path, rows)
    data, found = everything(path)
    assert data.steps == [(25, 0.25)]
    for k, one in enumerate(rows):
        end = f".{k}" if len(rows) > 1 else ""
        assert found[f"elements{end}"].tolist() == one["ids"]
        for field, values in zip(one["fields"].split(","), one["values"], strict=True):
            assert np.array_equal(found[field + end], values)
        if isinstance(one["modes"], list):
            assert found[f"orders{end}"].tolist() == [n for modes in one["modes"] for n in modes]
        for letter in "yzs":
            assert found.get(f"planes_{letter}{end}", np.empty(0)).tolist() == one.get(letter, [])
        said = data.scalars(0)
        assert said[f"shape{end}"] == one["shape"] and said[f"basis{end}"] == ",".join(one["basis"])
    assert data.check(0) == []


@pytest.mark.parametrize("shape", COUNTS)
def test_coefficients_are_those_that_are_counted(shape):
    dims = COUNTS[shape].__code__.co_argcount
    for modes in [(2, 3, 5), (3, 4, 4), (1, 1, 6), (4, 4, 7)]:
        assert coefficients(shape, modes[:dims]) == COUNTS[shape](*modes[:dims])


def test_rows_of_several_ranks_follow_each_other(tmp_path):
    a, b, c = (row("Triangle", (2, 3), [10 * k, 10 * k + 1], k) for k in range(3))
    other = row("Quadrilateral", (2, 2), [99], 5)
    hdf5(tmp_path / "a.chk", [a, other, b, None, c, None])
    _, found = everything(tmp_path / "a.chk")
    assert found["elements.0"].tolist() == [0, 1, 10, 11, 20, 21]
    assert np.array_equal(found["v.0"], np.concatenate([one["values"][1] for one in (a, b, c)]))
    part = np.empty((1, 7, 1), np.float32)
    dataset_at(tmp_path / "a.chk").read(0, "v.0", Box((0, 7, 0), (1, 7, 1)), part)
    assert np.array_equal(part[0, :, 0], found["v.0"][7:14].astype(np.float32))


@pytest.mark.parametrize("homogeneous", [True, False])
def test_files_without_a_version_can_show_that_they_are_old(tmp_path, homogeneous):
    path = tmp_path / "a.fld"
    extra = {"homogeneous": 1, "lengths": [1.0], "z": [0, 1]} if homogeneous else {}
    hdf5(path, [row("Segment", (3, 2) if homogeneous else (3,), [1], 1, **extra)])
    with h5py.File(path, "r+") as file:
        del file["NEKTAR/Metadata/Provenance"].attrs["NektarVersion"]
        (name,) = [one for one in file["NEKTAR"] if one.isdigit()]
        file[f"NEKTAR/{name}"].attrs["BASIS"] = np.array([4, 7] if homogeneous else [7], np.int32)
    dataset = dataset_at(path)
    assert dataset.scalars(0)["basis"] == ("Modified_A,Fourier" if homogeneous else "OrthoPyr_C")
    assert ("before 5" in dataset.notes[0]) == homogeneous


def test_numbers_of_bases_depend_on_the_version(tmp_path):
    one = row("Quadrilateral", (2, 2, 1), [1], 1, homogeneous=1, lengths=[1.0], z=[0])
    for version, basis in (("5.3.0", "Fourier"), ("4.5.0", "Gauss_Lagrange"), ("9" * 5000, "Fourier")):
        path = tmp_path / f"{version[:9]}.fld"
        hdf5(path, [one], version)  # writes 9
        assert dataset_at(path).scalars(0)["basis"].split(",")[-1] == basis


def test_directories_and_old_tags(tmp_path):
    place = tmp_path / "a.fld"
    place.mkdir()
    rows = [row("Triangle", (2, 3), [k, k + 10], k) for k in range(2)]
    for k, one in enumerate(rows):
        (place / f"P{k:07d}.fld").write_text(xml([one]))
    old = '<FIELDMETADATA><P PARAM="Time">1.5</P></FIELDMETADATA>'
    files = "".join(f'<MultipleFldFiles FileName="P{k:07d}.fld">{k},{k + 10}</MultipleFldFiles>' for k in range(2))
    (place / "Info.xml").write_text(f"<NEKTAR>{old}{files}</NEKTAR>")
    data, found = everything(place)
    assert data.steps == [(0, 1.5)] and data.check(0) == []
    assert found["elements"].tolist() == [0, 10, 1, 11]
    outside = tmp_path / "outside.fld"
    outside.write_text(xml(rows))
    (place / "P0000001.fld").unlink()
    (place / "P0000001.fld").symlink_to(outside)
    with pytest.raises(IoError, match="out of the directory"):
        dataset_at(place)
    (place / "Info.xml").write_text('<NEKTAR><Partition FileName="../outside.fld">0</Partition></NEKTAR>')
    with pytest.raises(IoError, match="beside it"):
        dataset_at(place)


def test_the_time_of_a_directory_is_that_of_its_parts_where_info_has_none(tmp_path):
    place = tmp_path / "a.fld"
    place.mkdir()
    for k in range(2):
        (place / f"P{k:07d}.fld").write_text(xml([row("Triangle", (2, 3), [k], k)]))
    files = "".join(f'<Partition FileName="P{k:07d}.fld">{k}</Partition>' for k in range(2))
    (place / "Info.xml").write_text(f"<NEKTAR>{files}</NEKTAR>")
    data = dataset_at(place)
    assert data.steps == [(25, 0.25)] and data.notes == []
    other = xml([row("Triangle", (2, 3), [1], 1)]).replace("<Time>0.25</Time>", "<Time>0.5</Time>")
    (place / "P0000001.fld").write_text(other)
    with pytest.raises(IoError, match=r"P0000001\.fld: its Time is 0\.5; expected 0\.25.* another checkpoint"):
        dataset_at(place)


def test_checkpoints_of_one_run_are_a_series(tmp_path):
    for k in (0, 1, 10):
        text = METADATA.replace("0.25", str(0.5 * k))
        (tmp_path / f"run_{k}.chk").write_text(xml([row("Segment", (3,), [1], k)], text))
    series = tr.open(tmp_path)
    assert [(step.index, step.time) for step in series] == [(0, 0.0), (50, 0.5), (500, 5.0)]
    assert np.array_equal(series[2]["u"].reshape(-1), row("Segment", (3,), [1], 10)["values"][0])


def test_a_text_that_grows_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "a.fld"
    one = row("Segment", (3,), [1], 1)
    bomb = one | {"values": np.zeros((2, 3_000_000))}
    path.write_text(xml([bomb]))
    tracemalloc.start()
    with pytest.raises(IoError, match="found more"):
        everything(path)
    path.write_text(xml([one]).replace('ID="1"', 'ID="0-4000000000"'))
    with pytest.raises(IoError, match="cannot have their values"):
        dataset_at(path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<NEKTAR>", '<!DOCTYPE N [<!ENTITY a "b">]><NEKTAR>', "DOCTYPE"),
        ("utf-8", "shift_jis", "expected XML, found: multi-byte encodings"),
        ('SHAPE="Triangle"', 'SHAPE="Circle"', "SHAPE"),
        ("UNIORDER:3,4", "UNIORDER:4,3", "a <= b"),
        ("UNIORDER:3,4", "UNIORDER:999999999,999999999", "1000"),
        ("UNIORDER:3,4", "UNIORDER:3", "NUMMODESPERDIR: expected 2"),
        ('FIELDS="u,v"', 'FIELDS="u,u"', "FIELDS"),
        ("Modified_A,", "Modified_X,", "BASIS"),
        ('ID="7,8"', 'ID="8-7"', "ID"),
        ('ID="7,8"', 'ID="7,8,9"', "expected 216 bytes|expected 432 bytes"),
        ('BITSIZE="64"', 'BITSIZE="32"', "BITSIZE"),
        ("</ELEMENTS>", "!</ELEMENTS>", "base64"),
    ],
)
def test_wrong_xml_says_what_is_wrong(tmp_path, old, new, said):
    text = xml([row("Triangle", (3, 4), [7, 8], 1)])
    assert old in text
    path = tmp_path / "a.fld"
    path.write_text(text.replace(old, new))
    with pytest.raises(IoError, match=said) as caught:
        everything(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DECOMPOSITION": np.array([2, 40, 0, 0, 0, 0], "<u8")}, "rows of 7"),
        ({"DECOMPOSITION": np.array([2, 36, 0, 0, 0, 0, 5], "<u8")}, "name of a group"),
        ({"DECOMPOSITION": np.array([2**63, 36, 0, 0, 0, 0, 17], "<u8")}, "at most the 2 entries"),
        ({"DECOMPOSITION": np.array([1, 36, 0, 0, 0, 0, 17], "<u8")}, "rows with the 2 entries"),
        ({"DATA": np.zeros(35)}, "35 entries of DATA"),
        ({"ELEMENTIDS": np.zeros((1, 2), "<u4")}, "one dimension"),
        ({"DATA": np.zeros(36, "<f4")}, "float64"),
    ],
)
def test_wrong_hdf5_says_what_is_wrong(tmp_path, changes, said):
    path = tmp_path / "a.fld"
    hdf5(path, [row("Triangle", (3, 4), [7, 8], 1)], **changes)
    with pytest.raises(IoError, match=said) as caught:
        everything(path)
    assert str(path) in str(caught.value)


def test_damaged_xml_is_an_error_or_still_right(tmp_path):
    rows = [row("Triangle", (3, 4), [7, 8], 1), row("Segment", [(3,), (4,)], [1, 2], 2)]
    whole = xml(rows).encode()
    path, dice = tmp_path / "a.fld", random.Random(3)
    for turn in range(300):
        data = bytearray(whole)
        if turn % 3:
            for _ in range(dice.randint(1, 3)):
                data[dice.randrange(len(data))] = dice.randrange(256)
        else:
            del data[dice.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            if dataset_at(path) is not None:
                everything(path)
        except IoError as error:
            assert str(path) in str(error)


def test_an_unclosed_dataset_in_a_cycle_closes_without_a_warning(tmp_path):
    path = tmp_path / "a.fld"
    path.write_text(xml([row("Triangle", (3, 4), [7, 8], 1)]))
    gc.collect()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        data = dataset_at(path)
        data.itself = data
        gc.collect(0)  # what is opened now is younger than the data set, and is dropped before it
        everything_of(data)
        del data
        gc.collect()
    assert not said


def test_other_files_are_not_claimed(tmp_path):
    import h5py

    for content in (b"", b"<VTKFile/>", b"\x89HDF\r\n\x1a\n"[:5]):
        (tmp_path / "a").write_bytes(content)
        assert dataset_at(tmp_path / "a") is None
    with h5py.File(tmp_path / "b", "w") as file:
        file["x"] = [1]
    assert dataset_at(tmp_path / "b") is None
    assert dataset_at(tmp_path) is None


@needs_samples
def test_the_published_twins_are_bit_identical():
    place = Path(SAMPLES) / "nektar"
    one, other = (everything(place / name)[1] for name in ("interptest.fld", "interptest_hdf5.fld"))
    assert list(one) == list(other) and len(one) == 8
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


@needs_samples
@pytest.mark.parametrize(
    "name", ["TriQuad.fld", "chan3DH1D.fld", "chan_interpfield_nparts.fld", "TriQuadChannelHdf5.rst"]
)
def test_published_fields_are_opened(name):
    with tr.open(Path(SAMPLES) / "nektar" / name) as series:
        assert len(series) == 1 and not series.verify()
        step = series[0]
        assert all(np.isfinite(step[one]).all() for one in step.names)


def test_shape_texts_of_the_helper():
    assert shape_text(SETS["strips"][0]) == "Triangle-HomogenousExp1D-Strips"
