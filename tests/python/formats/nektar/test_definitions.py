"""What a checkpoint of Nektar++ says of its elements: each thing that is wrong is named."""

import h5py
import numpy as np
import pytest

from helpers.inputs.nektar_files import hdf5, row, xml
from tailrace.core import IoError
from tailrace.formats.nektar import dataset_at, hdf5_structure
from tailrace.formats.nektar.xml import xml_checkpoint
from tailrace.io.placement import Box


def everything(path):
    """Read all values."""
    found = dataset_at(path)
    for name, stored in found.variables(0).items():
        found.read(0, name, Box((0, 0, 0), stored.shape), np.empty(stored.shape[::-1], stored.dtype))


def group_of(file):
    (name,) = [one for one in file["NEKTAR"] if one.isdigit()]
    return file["NEKTAR"][name]


def attribute(name, value, of=group_of):
    """A change of an attribute of the definition; None: it goes."""

    def change(file):
        del of(file).attrs[name]
        if value is not None:
            of(file).attrs[name] = value

    return change


def root_of(file):
    return file["NEKTAR"]


def replaced(name, **how):
    """A change of a dataset: the same values, stored in another way."""

    def change(file):
        values = file["NEKTAR"][name][()]
        del file["NEKTAR"][name]
        if how:
            file["NEKTAR"].create_dataset(name, data=values, **how)

    return change


def in_another_file(name):
    def change(file):
        del file["NEKTAR"][name]
        file["NEKTAR"][name] = h5py.ExternalLink("other.h5", "/x")

    return change


def no_group(file):
    name = group_of(file).name
    del file[name]
    file[name] = h5py.SoftLink("/NEKTAR/Metadata")


PLANES = {"homogeneous": 1, "lengths": [1.0], "z": [0, 1]}
ONE_PLANE = row("Segment", (3, 2), [1], 1, **PLANES)
TRIANGLES = row("Triangle", (3, 4), [7, 8], 1)
MIXED = row("Triangle", [(3, 4), (3, 3)], [7, 8], 1)


@pytest.mark.parametrize(
    ("one", "change", "said"),
    [
        (TRIANGLES, attribute("FORMAT_VERSION", None, root_of), "FORMAT_VERSION: expected 1, found none"),
        (TRIANGLES, attribute("FORMAT_VERSION", 2, root_of), "FORMAT_VERSION: expected 1, found 2"),
        (TRIANGLES, attribute("FORMAT_VERSION", [1, 1], root_of), "FORMAT_VERSION: expected 1, found"),
        (TRIANGLES, replaced("DATA"), "/NEKTAR/DATA: expected a dataset, found none"),
        (TRIANGLES, in_another_file("DATA"), "/NEKTAR/DATA: expected a dataset in this file, found something else"),
        (TRIANGLES, replaced("DATA", chunks=True), "/NEKTAR/DATA: expected values in one piece"),
        (TRIANGLES, no_group, r"/NEKTAR/\d+: expected a group in this file, found something else"),
        (TRIANGLES, attribute("SHAPE", None), r"/NEKTAR/\d+: SHAPE: expected a text, found None"),
        (TRIANGLES, attribute("SHAPE", 3), r"SHAPE: expected a text, found 3"),
        (TRIANGLES, attribute("SHAPE", "Circle"), r"/NEKTAR/\d+: SHAPE: expected one of"),
        (TRIANGLES, attribute("FIELDS", None), r"/NEKTAR/\d+: FIELDS: expected an attribute, found none"),
        (TRIANGLES, attribute("FIELDS", [1, 2]), r"/NEKTAR/\d+: expected a text, found 1"),
        (TRIANGLES, attribute("FIELDS", ["u", "u"]), r"/NEKTAR/\d+: FIELDS: expected different names"),
        (TRIANGLES, attribute("BASIS", [4.0, 4.0]), "BASIS: expected numbers below"),
        (TRIANGLES, attribute("BASIS", np.array([4, -1], "i4")), "BASIS: expected numbers below"),
        (TRIANGLES, attribute("BASIS", np.array([4, 99], "i4")), "BASIS: expected numbers below"),
        (TRIANGLES, attribute("BASIS", np.array([4], "i4")), "BASIS: expected 2 for Triangle, found 1"),
        (TRIANGLES, attribute("NUMMODESPERDIR", "UNIORDER:3"), "NUMMODESPERDIR: expected 2 for Triangle, found 1"),
        (ONE_PLANE, attribute("HOMOGENEOUSLENGTHS", np.array([1])), "HOMOGENEOUSLENGTHS: expected numbers, found"),
        (ONE_PLANE, attribute("HOMOGENEOUSLENGTHS", np.ones(2)), "HOMOGENEOUSLENGTHS: expected 1, found 2"),
        (ONE_PLANE, attribute("HOMOGENEOUSLENGTHS", np.array([np.inf])), "expected finite numbers, found .*inf"),
        (ONE_PLANE, attribute("HOMOGENEOUSLENGTHS", None), "HOMOGENEOUSLENGTHS: expected an attribute, found none"),
    ],
)
def test_wrong_definitions_in_hdf5_are_named(tmp_path, one, change, said):
    path = tmp_path / "a.fld"
    hdf5(path, [one])
    everything(path)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(IoError, match=rf"a\.fld: .*{said}"):
        everything(path)


NAMED = 17  # the first group of definitions


@pytest.mark.parametrize(
    ("one", "counts", "more", "said"),
    [
        (TRIANGLES, [2, 36, 1, 0, 0, 0], {"POLYORDERS": [3]}, "row 0: expected 0 numbers of modes, found 1"),
        (MIXED, [2, 30, 3, 0, 0, 0], {"POLYORDERS": [3, 4, 3]}, "row 0: expected 4 numbers of modes, found 3"),
        (ONE_PLANE, [1, 6, 0, 1, 0, 0], {"HOMOGENEOUSYIDS": [0], "HOMOGENEOUSZIDS": []}, "expected the planes of .*1D"),
        (TRIANGLES, [2, 36, 0, 0, 1, 0], {"HOMOGENEOUSZIDS": [0]}, r"row 0: expected no planes for Triangle, found \["),
    ],
)
def test_rows_that_do_not_fit_their_definition(tmp_path, one, counts, more, said):
    changes = {name: np.array(values, "<u4") for name, values in more.items()}
    data = np.zeros(counts[1], "<f8")
    hdf5(tmp_path / "a.fld", [one], DECOMPOSITION=np.array([*counts, NAMED], "<u8"), DATA=data, **changes)
    with pytest.raises(IoError, match=said):
        everything(tmp_path / "a.fld")


def test_rows_without_elements_are_zeros(tmp_path):
    table = np.array([2, 30, 0, 0, 0, 0, NAMED, 0, 6, 0, 0, 0, 0, 0], "<u8")
    hdf5(tmp_path / "a.fld", [TRIANGLES, None], DECOMPOSITION=table)
    with pytest.raises(IoError, match=r"row 1: expected zeros with no elements, found \[0, 6,"):
        everything(tmp_path / "a.fld")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("_MOST_GROUPS", 0, "at most 0 groups"), ("_MOST_ATTRIBUTES", 1, "at most 1 attributes, found 2"),
     ("_MOST_BYTES", 5, "at most 5 bytes")],
)  # fmt: skip
def test_more_than_any_checkpoint_has_is_refused(tmp_path, monkeypatch, name, value, said):
    hdf5(tmp_path / "a.fld", [TRIANGLES])
    monkeypatch.setattr(hdf5_structure, name, value)
    with pytest.raises(IoError, match=rf"a\.fld: .*{said}"):
        dataset_at(tmp_path / "a.fld")


@pytest.mark.parametrize(
    ("one", "old", "new", "said"),
    [
        (MIXED, "MIXORDER:3,4,3,3", "MIXORDER:3,4,3", "expected 4 numbers of modes .2 of each of 2 elements., found 3"),
        (MIXED, "MIXORDER:3,4,3,3", "MIXORDER:3,4,,3", "expected 'MIXORDER:' and numbers, found 'MIXORDER:3,4,,3'"),
        (MIXED, "MIXORDER:3,4,3,3", "MIXORDER:", "expected 'MIXORDER:' and numbers"),
        (ONE_PLANE, 'HOMOGENEOUSZIDS="0,1"', "", "HOMOGENEOUSZIDS: expected numbers of planes, found none"),
        (ONE_PLANE, 'HOMOGENEOUSLENGTHS="1.0"', 'HOMOGENEOUSLENGTHS="long"', "expected numbers, found 'long'"),
        (ONE_PLANE, 'HOMOGENEOUSLENGTHS="1.0"', 'HOMOGENEOUSLENGTHS="1,2"', "HOMOGENEOUSLENGTHS: expected 1, found 2"),
        (TRIANGLES, 'ID="7,8"', 'ID=""', "ID: expected numbers of elements, found none"),
        (TRIANGLES, 'ID="7,8"', 'ID="7,x"', "ID: expected numbers such as"),
        (TRIANGLES, "NEKTAR>", "MESH>", "expected <NEKTAR>, found <MESH>"),
        (TRIANGLES, "</ELEMENTS>", "<X/></ELEMENTS>", "expected values in <ELEMENTS>, found <X>"),
    ],
)
def test_wrong_definitions_in_xml_are_named(tmp_path, one, old, new, said):
    text, path = xml([one]), tmp_path / "a.fld"
    assert old in text
    path.write_text(text)
    everything(path)
    path.write_text(text.replace(old, new))
    with pytest.raises(IoError, match=rf"a\.fld: .*{said}"):
        xml_checkpoint(path)
        everything(path)
