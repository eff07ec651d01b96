"""Checkpoints of Nektar++ that are written are those that were read, and ranks restart from them."""

import importlib.util
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs.nektar_files import COUNTS, hdf5, row, xml
from helpers.programs import nektar_programs
from tailrace.core import InputError, IoError
from tailrace.formats.nektar import dataset_at, restart
from tailrace.formats.nektar.layout import metadata_of
from tailrace.formats.writers import writer_of
from tailrace.io.placement import Box, Stored


def everything(path):
    data = dataset_at(Path(path))
    found = {}
    for name, stored in data.variables(0).items():
        found[name] = np.empty(stored.shape[::-1], stored.dtype)
        data.read(0, name, Box((0, 0, 0), stored.shape), found[name])
    return data, found


def assert_same(one, other):
    (a, found), (b, again) = everything(one), everything(other)
    assert a.steps == b.steps and a.scalars(0) == b.scalars(0) and list(found) == list(again)
    assert all(found[name].tobytes() == again[name].tobytes() for name in found)


ROWS = [
    row("Triangle", (3, 4), [5, 4, 9], 1),
    row("Quadrilateral", (2, 3, 2), [20], 2, homogeneous=1, lengths=[0.1], z=[0, 3]),
    row("Triangle", (3, 4), [1, 2], 3),
    None,
]
FEW = [row("Triangle", (3, 4), [5], 1), row("Quadrilateral", (2, 3), [20, 8, 9, 1], 2), row("Segment", (2,), [6, 7], 3)]
MIXED = [row("Triangle", [(2, 3), (4, 4), (1, 2)], [5, 2, 9], 8), row("Triangle", [(2, 2)], [7], 9)]


@pytest.mark.parametrize("rows", [ROWS, MIXED, FEW], ids=["uniform", "mixed", "fewer elements than ranks"])
@pytest.mark.parametrize("options", [{}, {"decomposition": "ranks"}], ids=["source", "ranks"])
def test_there_and_back_by_three_ranks(tmp_path, three, rows, options):
    source = tmp_path / "source.fld"
    hdf5(source, rows)
    out = tmp_path / "out"
    out.mkdir()
    ways = {"nektar-hdf5": {}, "nektar-xml": {"layout": "file"}}
    for name, more in (*ways.items(), ("nektar-xml", {})):
        target = out / f"{name}{len(more)}.fld"
        there = three.results(
            nektar_programs.copy, source=str(source), target=str(target), name=name, options=options | more
        )
        assert all(not entry.startswith(".") for entry in there[0])
        assert_same(source, target)
        back = out / f"back_{target.name}"
        three.results(nektar_programs.copy, source=str(target), target=str(back), name="nektar-hdf5", options={})
        assert_same(source, back)
    if not options:
        with h5py.File(source) as a, h5py.File(out / "nektar-hdf50.fld") as b:
            assert np.array_equal(a["NEKTAR/DATA"], b["NEKTAR/DATA"])
            table, again = (one["NEKTAR/DECOMPOSITION"][:].reshape(-1, 7) for one in (a, b))
            assert np.array_equal(table[:, :6], again[:, :6]) and np.array_equal(table[:, 6] > 0, again[:, 6] > 0)


def test_what_is_written_has_the_layout_of_nektar(tmp_path):
    source, target = tmp_path / "a.fld", tmp_path / "b.fld"
    source.write_text(xml([row("Pyramid", (3, 2, 4), [4], 5, basis=["Modified_A", "Modified_A", "ModifiedPyr_C"])]))
    tr.convert(source, target, format="nektar-hdf5")
    with h5py.File(target) as file:
        root = file["NEKTAR"]
        (name,) = [one for one in root if one.isdigit()]
        said = dict(root[name].attrs)
        assert int(root.attrs["FORMAT_VERSION"]) == 1 and root.attrs.get_id("FORMAT_VERSION").dtype == np.uint32
        assert said["BASIS"].tolist() == [4, 4, 8] and said["BASIS"].dtype == np.int32
        assert (said["SHAPE"], said["NUMMODESPERDIR"], said["FIELDS"].tolist()) == (
            "Pyramid",
            "UNIORDER:3,2,4",
            ["u", "v"],
        )
        assert root["DECOMPOSITION"][:].tolist() == [1, root["DATA"].size, 0, 0, 0, 0, int(name)]
        types = {one: root[one].dtype.str for one in ("DECOMPOSITION", "ELEMENTIDS", "DATA")}
        assert types == {"DECOMPOSITION": "<u8", "ELEMENTIDS": "<u4", "DATA": "<f8"}
        assert all(root[one].chunks is None for one in types)
        assert (
            root["Metadata"].attrs["Time"] == "0.25" and root["Metadata/Provenance"].attrs["NektarVersion"] == "5.3.0"
        )
    text = tmp_path / "c.fld"
    tr.convert(target, text, format="nektar-xml")
    values = re.search(r">([A-Za-z0-9+/]+)</ELEMENTS>", text.read_text())
    assert values is not None and len(values[1]) % 4 == 0


@pytest.mark.parametrize("format", ["nektar-xml", "nektar-hdf5"])
def test_zones_that_differ_in_their_modes_only_stay_apart(tmp_path, format):
    """Also beside a zone whose elements have their own modes, where HDF5 has no modes in the definitions."""
    mixed = row("Triangle", [(2, 3), (4, 4)], [5, 2], 8)
    zones = [row("Quadrilateral", modes, [7, 8], seed) for modes, seed in (((2, 2), 9), ((3, 3), 10))]
    source, target, back = (tmp_path / name for name in ("source.fld", "target.fld", "back.fld"))
    source.write_text(xml([mixed, *zones]))
    said = tr.convert(source, target, format=format)
    assert said.verified
    tr.convert(target, back, format="nektar-hdf5")
    for path in (target, back):
        _, found = everything(path)
        assert found["elements.1"].tolist() == found["elements.2"].tolist() == [[[7], [8]]]
        for at, zone in enumerate(zones):
            assert np.array_equal(found[f"v.{1 + at}"].reshape(-1), zone["values"][1])
    if format == "nektar-hdf5":
        with h5py.File(target) as file:
            names = [one for one in file["NEKTAR"] if one.isdigit()]
            assert [file[f"NEKTAR/{name}"].attrs["NUMMODESPERDIR"] for name in names] == ["MIXORDER"] * 3
            orders = file["NEKTAR/POLYORDERS"][:].tolist()
            assert orders == [2, 3, 4, 4, 2, 2, 2, 2, 3, 3, 3, 3]
        with pytest.raises(InputError, match=r"two definitions of Quadrilateral whose elements .* would be one in XML"):
            tr.convert(target, tmp_path / "no.fld", format="nektar-xml")
        assert not (tmp_path / "no.fld").exists()


def test_what_is_no_checkpoint_is_refused(tmp_path):
    def begin(variables, scalars=None, options=None):
        writer = writer_of("nektar-hdf5")(
            str(tmp_path / "a.fld"), MPI.COMM_SELF, grid=None, attributes={}, options=options or {}
        )
        writer.begin_step(0, 0.0, variables, scalars or {})

    with pytest.raises(InputError, match="elements"):
        begin({"ux": Stored("float64", (4, 4, 4), False)})
    with pytest.raises(InputError, match="modes"):
        begin({"elements": Stored("int64", (1, 2, 1), True), "u": Stored("float64", (1, 2, 1), True)})
    said = {"modes": "3", "fields": "u", "shape": "Segment", "basis": "Modified_A"}
    with pytest.raises(InputError, match="expected 6 values"):
        begin({"elements": Stored("int64", (1, 2, 1), True), "u": Stored("float64", (1, 5, 1), True)}, said)
    with pytest.raises(InputError, match="decomposition"):
        begin({}, options={"decompositions": "x"})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.fld").write_text("mine")
    with pytest.raises(IoError, match="nothing is replaced"):
        begin({"elements": Stored("int64", (1, 2, 1), True), "u": Stored("float64", (1, 6, 1), True)}, said)
    assert (tmp_path / "a.fld").read_text() == "mine"


# ---- restart ---------------------------------------------------------------------------------------------------------
def writers(count, mixed=False):
    rows = []
    for rank in range(count):
        modes = [(2, 3), (3, 3), (1 + rank % 3, 4)] if mixed else (3, 4)
        rows.append(row("Triangle", modes, [100 * rank + k for k in (2, 0, 1)], rank))
        quads = row("Quadrilateral", [(2, 2)] if mixed else (2, 2), [5000 + rank], 50 + rank)
        rows.append(None if rank == 1 else quads)
    return rows


def ids_of(rows):
    return [number for one in rows if one is not None for number in one["ids"]]


def values_of(rows):
    """By element: values of "v", cut from the rows by counting."""
    found = {}
    for one in rows:
        if one is None:
            continue
        modes = one["modes"] if isinstance(one["modes"], list) else [one["modes"]] * len(one["ids"])
        at = 0
        for number, some in zip(one["ids"], modes, strict=True):
            count = COUNTS[one["shape"]](*some)
            found[number] = one["values"][1][at : at + count]
            at += count
    return found


@pytest.mark.parametrize("mixed", [False, True], ids=["uniform", "mixed"])
@pytest.mark.parametrize("case", ["same", "same ids in another order", "other ranks", "other number of writers"])
def test_ranks_get_their_elements(tmp_path, three, case, mixed):
    rows = writers(4 if case == "other number of writers" else 3, mixed)
    hdf5(tmp_path / "a.chk", rows)
    own = [ids_of(rows[2 * rank : 2 * rank + 2]) for rank in range(3)]
    wanted = {"same": own, "same ids in another order": [one[::-1] for one in own]}.get(
        case, [ids_of(rows)[rank::3] for rank in range(3)]
    )
    right = values_of(rows)
    for ids, got in zip(
        wanted, three.results(nektar_programs.restart_from, path=str(tmp_path / "a.chk"), ids=wanted), strict=True
    ):
        assert got["same"] == case.startswith("same")
        assert sorted(n for part in got["parts"] for n in part["elements"]) == sorted(ids)
        for part in got["parts"]:
            assert part["elements"] == [one for one in ids if one in part["elements"]]
            expected = np.concatenate([right[one] for one in part["elements"]])
            assert part["values"]["v"] == expected.tolist()
            assert (part["orders"] is not None) == mixed


def test_planes_of_several_ranks_are_all_found(tmp_path, three):
    rows = [row("Segment", (3, 1), [1, 2], k, homogeneous=1, lengths=[1.0], z=[k]) for k in range(3)]
    hdf5(tmp_path / "a.chk", rows)
    for got in three.results(nektar_programs.restart_from, path=str(tmp_path / "a.chk"), ids=[[1, 2]] * 3):
        assert not got["same"] and [part["z"] for part in got["parts"]] == [[0], [1], [2]]
        assert [part["values"]["u"] for part in got["parts"]] == [one["values"][0].tolist() for one in rows]


def test_bytes_of_a_rank_do_not_grow_with_the_ranks(tmp_path):
    place = Path(__file__).parents[4] / "benchmarks" / "formats_nektar.py"
    named = importlib.util.spec_from_file_location("formats_nektar", place)
    benchmark = importlib.util.module_from_spec(named)
    named.loader.exec_module(benchmark)
    found = {}
    for count in (2, 64):
        benchmark.make(tmp_path / "a.chk", count, 20)
        for shift in (0, 5):
            got = benchmark.read_all(tmp_path / "a.chk", count, 20, shift)
            assert all(one.same_decomposition == (shift == 0) for one in got)
            found[count, shift] = [one.bytes_read for one in got]
    rows, numbers, values = 2 * 56, 4 * 20, 8 * 3 * 10 * (21 + 36)
    assert set(found[64, 0][1:]) == set(found[2, 0][1:]) == {rows + numbers + values}
    assert found[64, 0][0] == found[2, 0][0]
    assert max(found[64, 5]) <= max(found[2, 5])


def test_wrong_requests_are_refused_on_all_ranks(tmp_path, three):
    hdf5(tmp_path / "a.chk", writers(3))
    for ids, kind, said in (([[2], [77], [0]], "InputError", "77"), ([[2, 2], [0], [1]], "InputError", "twice")):
        for outcome in three.run(nektar_programs.restart_from, path=str(tmp_path / "a.chk"), ids=ids):
            assert outcome.error == kind and said in outcome.text
    hdf5(tmp_path / "b.chk", writers(3), DATA=np.zeros(7))
    (tmp_path / "c.chk").write_text(xml(writers(1)))
    for name in ("b.chk", "c.chk", "none.chk"):
        for outcome in three.run(nektar_programs.restart_from, path=str(tmp_path / name), ids=[[1]] * 3):
            assert outcome.error in ("IoError",) and name in outcome.text
    with pytest.raises(IoError):
        restart.read(tmp_path / "c.chk", MPI.COMM_SELF, [1])


@pytest.mark.parametrize(
    ("text", "time", "found"),
    [
        ("5.0e-1", 0.5, "5.0e-1"),
        ("0.25", 0.5, "0.5"),
        ("half", 0.5, "0.5"),
        (None, 0.1, "0.10000000000000001"),
        (None, 0.0, None),
        ("0.25", 0.0, "0"),
    ],
)
def test_the_time_is_that_of_the_step(text, time, found):
    """In the words of the source where they mean the same time."""
    scalars = {} if text is None else {"metadata.Time": text}
    assert metadata_of(scalars, time)[0].get("Time") == found
