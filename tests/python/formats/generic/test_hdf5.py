"""HDF5 files of other programs, written here with h5py as the programs and standards do."""

import random
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.of_dataset import read
from tailrace import core as _core
from tailrace.formats.generic import dataset_at
from tailrace.grids import StretchedGrid, UniformGrid
from tailrace.io.placement import Box

U = np.arange(60.0).reshape(3, 4, 5)  # (nz, ny, nx)
BOX = Box((1, 2, 0), (3, 2, 2))
PART = (slice(0, 2), slice(2, 4), slice(1, 4))


def said(dataset, *words):
    return any(all(word in note for word in words) for note in dataset.notes)


def test_without_a_convention_all_is_one_step(open_file):
    def write(file):
        file["a/ux"] = U
        file["list"] = np.arange(7, dtype=">i4")
        file["plane"] = U[0].astype("f4")
        file["split"] = np.stack([U, U + 100])
        file["v"] = np.stack([np.full((10, 11, 12), c) for c in range(3)], axis=-1)
        file["x"], file["y"], file["z"] = np.linspace(0, 1, 5), np.arange(4.0) ** 2, np.arange(3)
        file["name"], file["count"] = "a text", 3
        file["a/ux"].attrs["units"] = "m/s"
        file.attrs["time"] = 2.5

    found = open_file(write)
    assert {"x_stored", "y_stored", "z_stored"} < set(found.variables(0))  # x is the place of a point
    assert found.steps == [(0, 2.5)]
    assert said(found, "all is one step", "2.5")
    assert np.array_equal(read(found, 0, "ux", BOX), U[PART])
    assert np.array_equal(read(found, 0, "ux", BOX, "float32"), U[PART].astype("f4"))
    assert np.array_equal(read(found, 0, "plane")[0], U[0])
    assert np.array_equal(read(found, 0, "split_1", BOX), U[PART] + 100)
    assert read(found, 0, "list", Box((0, 2, 0), (1, 3, 1))).ravel().tolist() == [2, 3, 4]
    assert found.variables(0)["list"].is_list
    assert found.vectors(0) == {"v": ("v_x", "v_y", "v_z")}
    assert (read(found, 0, "v_z", Box((1, 2, 3), (4, 5, 6))) == 2).all()
    assert found.scalars(0) == {"name": "a text", "count": 3}
    assert found.attributes == {"time": 2.5, "ux/units": "m/s"}
    assert isinstance(found.grid, StretchedGrid)
    assert found.grid.coordinates[1].tolist() == [0, 1, 4, 9]


def test_types_stay_what_they_are(open_file):
    types = {
        "u1": "uint8", "i1": "int8", "u2": "uint16", "i2": "int16", "u4": "uint32", "u8": "uint64", "f2": "float16",
        ">f8": "float64", ">u2": "uint16", "?": "bool",
    }  # fmt: skip

    def write(file):
        for name in types:
            file[name.strip(">?") + ("b" if name[0] in ">?" else "")] = (U > 7) if name == "?" else U.astype(name)
        file["huge"] = np.array([1, 2**63], "u8")
        file["c"] = np.zeros(3, [("a", "i4"), ("b", "f8")])
        file["zc"] = np.array([1 + 2j, 3 - 4j])
        file["z8"] = (U + 1j * U**2).astype("c8")
        file["texts"] = ["a", "b"]
        file.create_dataset("e", data=[1, 0, 1], dtype=h5py.enum_dtype({"off": 0, "on": 1}, basetype="i1"))

    found = open_file(write)
    for name, ours in types.items():
        here = name.strip(">?") + ("b" if name[0] in ">?" else "")
        assert found.variables(0)[here].dtype == ours
        expected = U > 7 if name == "?" else U
        assert np.array_equal(read(found, 0, here, BOX), expected[PART])
    assert read(found, 0, "huge").ravel().tolist() == [1, 2**63]
    assert read(found, 0, "e").ravel().tolist() == [1, 0, 1]
    assert said(found, "'c'", "compound of a, b")
    assert said(found, "'zc'", "complex", "real and imaginary parts")
    assert read(found, 0, "zc_re").ravel().tolist() == [1, 3] and read(found, 0, "zc_im").ravel().tolist() == [2, -4]
    assert found.variables(0)["z8_im"].dtype == "float32" and np.array_equal(read(found, 0, "z8_im", BOX), U[PART] ** 2)
    assert said(found, "'texts'", "left out")
    assert said(found, "'e'", "enumeration")


@pytest.mark.parametrize("pattern", ["Step{}", "out/step_{:04d}", "Timesteps/{}"])
def test_groups_of_steps(open_file, pattern):
    numbers = (0, 5, 20)

    def write(file):
        for n in numbers:
            group = file.create_group(pattern.format(n))
            group["ux"], group["rows"] = U + n, np.arange(n + 1)
            group.attrs["time"] = 0.25 * n
        file["fixed"] = U

    found = open_file(write)
    assert found.steps == [(n, 0.25 * n) for n in numbers]
    assert said(found, "taken for steps")
    assert said(found, "fixed", "outside of the steps")
    assert np.array_equal(read(found, 2, "ux", BOX), U[PART] + 20)
    assert found.variables(1)["rows"].shape == (1, 6, 1)
    assert np.array_equal(read(found, 1, "fixed"), U)


def test_the_slowest_dimension_is_the_time(open_file):
    def write(file):
        file["time"] = [0.5, 0.75]
        file["u"] = np.stack([U, U + 1])
        file["other"] = np.zeros((2, 3))
        file["u"].dims[0].attach_scale(file["time"])
        file["n"] = np.arange(2)
        file["n"].make_scale()
        file["other"].dims[0].attach_scale(file["n"])

    found = open_file(write)
    assert found.steps == [(0, 0.5), (1, 0.75)]
    assert np.array_equal(read(found, 1, "u", BOX), U[PART] + 1)
    assert found.variables(0)["other"].shape == (3, 2, 1)


def test_openpmd(open_file):
    def write(file):
        file.attrs.update({"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "meshes/"})
        for n in (5, 10):
            group = file.create_group(f"data/{n}")
            group.attrs.update({"time": 2.0 * n, "timeUnitSI": 0.5})
            field = group.create_group("meshes/E")
            field.attrs.update({"axisLabels": np.array(["x", "y", "z"], "S"), "dataOrder": np.bytes_("C")})
            field.attrs.update({"gridSpacing": [0.1, 0.2, 0.3], "gridGlobalOffset": [1.0, 2.0, 3.0]})
            for i, axis in enumerate("xyz"):
                field[axis] = U + 100 * i + n
            group["meshes/rho"] = U[0]
            group["meshes/rho"].attrs.update({"axisLabels": np.array(["z", "x"], "S"), "unitSI": 4.0})
            group["particles/e/position/x"] = np.arange(7.0)
            constant = group.create_group("particles/e/charge")
            constant.attrs.update({"value": -1.5, "shape": [7]})

    found = open_file(write)
    assert found.steps == [(5, 5.0), (10, 10.0)]
    assert found.variables(0)["E_x"].shape == (3, 4, 5)  # the slowest index is that of x
    assert np.array_equal(read(found, 1, "E_y", Box((1, 0, 2), (2, 4, 2))), (U + 110)[1:3, :, 2:4].T)
    assert found.vectors(0) == {"E": ("E_x", "E_y", "E_z")}
    assert np.array_equal(read(found, 0, "rho"), 4 * U[0][:, None, :])
    assert "'meshes/rho' is decoded by its attributes: value = 4 * stored + 0" in found.notes
    assert read(found, 0, "e_position_x").size == 7
    assert found.scalars(0) == {"e_charge": -1.5}
    assert found.grid == UniformGrid((3, 4, 5), (1.0, 2.0, 3.0), (0.1, 0.2, 0.3))


def test_an_xdmf_file_beside_it_tells_times_and_names(open_file, tmp_path):
    grids = "".join(
        f'<Grid><Time Value="{t}"/><Attribute Name="velocity">'
        f'<DataItem Format="HDF">x.h5:/u{n}</DataItem></Attribute></Grid>'
        for n, t in ((0, 0.5), (1, 2))
    )
    xml = f'<Xdmf><Domain><Grid GridType="Collection">{grids}</Grid></Domain></Xdmf>'
    (tmp_path / "x.xmf").write_text(xml, encoding="utf-8")
    found = open_file(lambda file: [file.create_dataset(f"u{n}", data=U + n) for n in (0, 1)])
    assert found.steps == [(0, 0.5), (1, 2.0)]
    assert np.array_equal(read(found, 1, "velocity", BOX), U[PART] + 1)
    (tmp_path / "x.xmf").write_text(f'<!DOCTYPE x [<!ENTITY a "b">]>{xml}', encoding="utf-8")
    with pytest.raises(_core.IoError, match="expected XML without entities"):
        dataset_at(tmp_path / "x.h5")


def test_links_to_other_files_are_not_followed(open_file, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    with h5py.File(outside / "secret.h5", "w") as file:
        file["x"] = U
    (outside / "raw").write_bytes(U.tobytes())
    (tmp_path / "in").mkdir()
    with h5py.File(tmp_path / "in" / "beside.h5", "w") as file:
        file["u"] = U
        file["away"] = h5py.ExternalLink(str(outside / "secret.h5"), "/x")

    def virtual(file, name, source, inner):
        layout = h5py.VirtualLayout(U.shape, "f8")
        layout[:] = h5py.VirtualSource(source, inner, U.shape)
        file.create_virtual_dataset(name, layout)

    def write(file):
        file["u"] = U
        file["link"] = h5py.ExternalLink(str(outside / "secret.h5"), "/x")
        file["soft"] = h5py.SoftLink("/link")
        file["loop"] = h5py.SoftLink("/loop")
        file["again/loop"] = file["/"]
        file.create_dataset("raw", U.shape, "f8", external=[(str(outside / "raw"), 0, U.nbytes)])
        virtual(file, "in", "beside.h5", "u")
        virtual(file, "out", str(outside / "secret.h5"), "x")
        virtual(file, "around", "beside.h5", "away")
        virtual(file, "up", "../secret.h5", "x")

    found = open_file(write, "in/x.h5")
    assert set(found.variables(0)) == {"u", "in"}
    assert np.array_equal(read(found, 0, "in"), U)
    for name in ("link", "raw", "out", "around", "up"):
        assert said(found, f"{name}'"), name


def test_sizes_that_no_memory_has(open_file):
    def write(file):
        file["u"] = U
        file.create_dataset("holes", (1 << 40, 4, 5), "f8", chunks=(1, 4, 5))
        file.create_dataset("chunk", (1 << 20, 1 << 10), "f4", chunks=(1 << 19, 1 << 10))
        file.create_dataset("many", (70, 3, 4, 5), "f4")

    found = open_file(write)
    assert set(found.variables(0)) == {"u"}
    for name in ("holes", "chunk", "many"):
        assert said(found, f"'{name}'", "left out")


def test_a_rank_reads_its_box_only(open_file):
    big = np.random.default_rng(1).random((64, 64, 64))
    found = open_file(lambda file: file.create_dataset("u", data=big))

    def bytes_read():
        with Path("/proc/self/io").open(encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("rchar")).split()[1])

    read(found, 0, "u", Box((0, 0, 0), (1, 1, 1)))
    before = bytes_read()
    part = read(found, 0, "u", Box((0, 0, 16), (64, 64, 1)))
    assert bytes_read() - before < big.nbytes / 16
    assert np.array_equal(part[0], big[16])


def test_damage_ends_in_errors(tmp_path, open_file):
    open_file(lambda file: [file.create_dataset(f"Step{n}/u", data=U + n, chunks=(1, 4, 5)) for n in range(3)])
    path = tmp_path / "x.h5"
    whole = path.read_bytes()
    places = [n for n in range(len(whole)) if whole[n]][:600]
    randomly = random.Random(11)
    sizes = [0, 4, 8, 50, 96, 512, 800, 2000, len(whole) // 2, len(whole) - 1]
    raws = [whole[:size] for size in sizes]
    for _ in range(60):
        raw = bytearray(whole)
        raw[randomly.choice(places)] ^= 1 << randomly.randrange(8)
        raws.append(bytes(raw))
    outcomes = set()
    for raw in raws:
        path.write_bytes(raw)
        try:
            found = dataset_at(path)
            for position in range(len(found.steps) if found else 0):
                for name in found.variables(position):
                    read(found, position, name, Box((0, 0, 0), (1, 1, 1)))
            outcomes.add("read")
        except (_core.IoError, _core.InputError) as error:
            assert str(path) in str(error)
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_through_the_library(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for n in range(2):
            file[f"Step{n}/ux"] = U + n
    with tr.open(tmp_path / "x.h5") as series:
        assert series.engine == "hdf5-other"
        assert np.array_equal(np.asarray(series.steps[1]["ux"]), U + 1)
    with tr.open(tmp_path / "ours.h5", "w", engine="hdf5") as series:
        series.write_step(0.5, index=0, ux=U)
    assert dataset_at(tmp_path / "ours.h5") is None
    with pytest.raises(_core.InputError, match="has no parameters"):
        dataset_at(tmp_path / "x.h5", {"a": "b"})


def test_names_that_become_the_same(open_file):
    def write(file):
        file["u"] = U
        file["c d"], file["c:d"] = 1, 2
        for place in (file, file["u"]):
            place.attrs.update({"a:b": 1, "a b": 2})

    found = open_file(write)
    assert sorted(found.attributes.items()) == [("a_b", 2), ("a_b_2", 1), ("u/a_b", 2), ("u/a_b_2", 1)]
    assert sorted(found.scalars(0).items()) == [("c_d", 1), ("c_d_2", 2)]


def write_virtual(file):
    file["u"] = U
    for name, source, inner in (("in", "beside.h5", "u"), ("own", ".", "u")):
        layout = h5py.VirtualLayout(U.shape, "f8")
        layout[:] = h5py.VirtualSource(source, inner, U.shape)
        file.create_virtual_dataset(name, layout)


def test_files_of_virtual_datasets(open_file, tmp_path):
    with h5py.File(tmp_path / "beside.h5", "w") as file:
        file["u"] = U + 1
    found = open_file(write_virtual)
    assert found.files == [str(tmp_path / "x.h5"), str(tmp_path / "beside.h5")]
    assert np.array_equal(read(found, 0, "in"), U + 1)
    (tmp_path / "beside.h5").unlink()
    with pytest.raises(_core.IoError, match=r"'/?in' has values in '.*beside\.h5', which is not there any more"):
        read(found, 0, "in")
    assert np.array_equal(read(found, 0, "own"), U)


@pytest.mark.parametrize("locking", [None, True, False])
def test_a_file_that_is_open_already(open_file, tmp_path, locking):
    with h5py.File(tmp_path / "beside.h5", "w") as file:
        file["u"] = U + 1
    first = open_file(write_virtual)
    with h5py.File(tmp_path / "x.h5", "r", locking=locking), h5py.File(tmp_path / "beside.h5", "r", locking=locking):
        second = dataset_at(tmp_path / "x.h5")
        for found in (first, second):
            assert np.array_equal(read(found, 0, "own"), U)
            assert np.array_equal(read(found, 0, "in"), U + 1)
        second.close()


def test_groups_named_by_times(open_file):
    def write(file):
        for time in ("0.5", "0.25", "1", "10.125"):
            file[f"t_{time}/u"] = U + float(time)

    found = open_file(write)
    assert found.steps == [(0, 0.25), (1, 0.5), (2, 1.0), (3, 10.125)]
    assert np.array_equal(read(found, 0, "u"), U + 0.25)
    assert said(found, "taken for times")


def test_two_families_of_numbered_groups(open_file):
    def write(file):
        for n in range(0, 60, 2):
            file[f"fields/Step{n}/u"] = U + n
        for n in (2, 4, 7):
            file[f"particles/Step{n}/q"] = np.arange(3) + n
        for n in range(5, 9):
            file[f"probes/data_{2 * n + 1}/p"] = np.arange(n)

    found = open_file(write)
    assert [index for index, _ in found.steps] == list(range(0, 60, 2))
    assert [("q" in found.variables(step)) for step in range(4)] == [False, True, True, False]
    assert read(found, 2, "q").ravel().tolist() == [4, 5, 6]
    assert np.array_equal(read(found, 2, "u"), U + 4)
    assert len(found.variables(0)) == 5  # u, and the probes, which are the same in all steps
    assert said(found, "parts of the steps of the same numbers")
    assert said(found, "'particles' has 1 group without a step")


def test_arrays_outside_of_the_steps_are_bounded(open_file, monkeypatch):
    monkeypatch.setattr("tailrace.formats.generic.hdf5_steps._MOST_REPEATED", 11)

    def write(file):
        for n in range(4):
            file[f"Step{n}/u"], file[f"other{n}"] = U, U

    found = open_file(write)
    assert set(found.variables(3)) == {"u"}
    assert said(found, "other0", "too many for each of them: left out")


@pytest.mark.parametrize("before", [0, 512, 1024, 2048])
def test_a_file_may_begin_behind_data_of_users(tmp_path, before):
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=before) as file:
        file["u"] = np.arange(24.0).reshape(2, 3, 4)
    with tr.open(tmp_path / "a.h5") as found:
        np.testing.assert_array_equal(found[0].read("u"), np.arange(24.0).reshape(2, 3, 4))
