"""HDF5 files in the schema of the Pencil Code: compared with what h5py reads, and with those that the code wrote."""

import h5py
import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import recorded_calls
from helpers.inputs.pencil_data import BOX, HISTORY, POINTS, Run
from helpers.inputs.pencil_runs import HandMade
from tailrace import core as _core
from tailrace.conversion.convert import convert as convert_files
from tailrace.formats.pencil.write.target import PARTIAL
from tailrace.formats.pencil.write.writer import PencilWriter
from tailrace.grids import StretchedGrid, UniformGrid
from tailrace.io.placement import Box, Stored

from .test_auxiliary import samples

NX, NY, NZ = POINTS


def shapes(file):
    """Name -> shape, type, chunks, number of attributes of all that is in a file."""
    found = {}

    def look(name, one):
        if isinstance(one, h5py.Dataset):
            kind = one.id.get_type()
            text = kind.get_class() == h5py.h5t.STRING
            found[name] = (one.shape, "text" if text else one.dtype.str, one.chunks, one.compression, len(one.attrs))

    file.visititems(look)
    return found


def check_twins(ours, theirs, skip=lambda name: False):
    """Names, shapes, types and values of two files are the same."""
    with h5py.File(ours) as one, h5py.File(theirs) as two:
        assert shapes(one) == shapes(two)
        for name in shapes(two):
            assert one[name].id.get_type() == two[name].id.get_type()
            if not skip(name):
                np.testing.assert_array_equal(one[name][()], two[name][()], err_msg=name)


def write(path, values, grid=None, attributes=(), scalars=(), comm=MPI.COMM_SELF):
    """A snapshot of some arrays."""
    writer = PencilWriter(str(path), comm, grid=grid, attributes=dict(attributes), options={})
    held = {name: Stored(array.dtype.name, tuple(reversed(array.shape)), False) for name, array in values.items()}
    writer.begin_step(3, 0.5, held, dict(scalars))
    for name, array in values.items():
        low, high = Box((0, 0, 0), (NX, 2, NZ)), Box((0, 2, 0), (NX, NY - 2, NZ))
        writer.write(name, low, array[:, :2])
        writer.write(name, high, array[:, 2:])
    writer.end_step()
    writer.close()
    return writer


def some_fields(dtype="f8"):
    dice = np.random.default_rng(1)
    return {name: dice.standard_normal((NZ, NY, NX)).astype(dtype) for name in ("ux", "pp")}


GRID = UniformGrid(POINTS, (0.5, 0.0, -1.0), (0.25, 0.5, 1.0), boundaries=("periodic",) * 3)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((2, 3, 0), [2, 3, 0]), ((1, 1, 5), [1, 1, 5]), ((8, 2, 0), [2, 0, 0]), ((0, 0, 0), [2, 0, 0])],
)
def test_the_numbers_of_fields_are_those_of_the_run(tmp_path, counts, expected):
    """Also where a snapshot is without the fields that are not integrated, which is how the code writes it."""
    names = [f"settings/{name}" for name in ("mvar", "maux", "mglobal")]
    write(tmp_path / "run", some_fields(), GRID, attributes=dict(zip(names, counts, strict=True)))
    with h5py.File(tmp_path / "run" / "allprocs" / "VAR3.h5") as file:
        assert [file[name][0] for name in names] == expected


@pytest.mark.parametrize(("dtype", "letter"), [("f4", b"S"), ("f8", b"D")])
def test_fields_of_any_origin_get_ghost_zones_and_a_grid(tmp_path, dtype, letter):
    values = some_fields(dtype)
    writer = write(tmp_path / "run", values, GRID, scalars={"persist.seed": "1 -2", "persist.phase": 0.5, "other": 3})
    assert writer.notes == []
    with h5py.File(tmp_path / "run" / "allprocs" / "VAR3.h5") as file:
        for name, array in values.items():
            np.testing.assert_array_equal(file[f"data/{name}"], np.pad(array, 3, mode="wrap"))
            assert file[f"data/{name}"].dtype == dtype
        np.testing.assert_allclose(file["grid/x"], 0.5 + 0.25 * np.arange(-3, NX + 3))
        np.testing.assert_array_equal(file["grid/dz_1"], np.ones(NZ + 6))
        assert (file["grid/Ly"].shape, file["grid/Ly"][()], file["grid/Ly"].dtype) == ((), NY * 0.5, dtype)
        assert (file["time"][()], file["settings/precision"][0]) == (0.5, letter)
        assert [file[f"settings/{name}"][0] for name in ("nx", "mx", "l1", "l2", "mvar")] == [8, 14, 3, 10, 2]
        assert (file["settings/mx"].dtype, file["unit/mass"].dtype) == ("i4", "f8")
        assert file["persist/seed"][()].tolist() == [1, -2] and file["persist/seed"].dtype == "i4"
        assert file["persist/phase"].shape == (1,)
        assert all(one[2:] == (None, None, 0) for one in shapes(file).values())
    assert (tmp_path / "run" / "index.pro").read_text() == " iux=1\n ipp=2\n"
    assert (tmp_path / "run" / "allprocs" / "varN.list").read_text() == "VAR3   0.50000000E+00\n"
    assert not list((tmp_path / "run").rglob("*partial*"))


def test_other_boundaries_are_told_and_stretched_points_kept(tmp_path):
    y = (0.0, 0.1, 0.3, 0.6, 1.0, 1.5)
    grid = StretchedGrid(POINTS, spacing=(0.25, 0.2, 1.0), boundaries=("periodic", "dirichlet", "periodic"),
                         coordinates=((), y, ()))  # fmt: skip
    writer = write(tmp_path / "run", some_fields(), grid)
    assert "ghost zones in y" in writer.notes[0]
    with h5py.File(tmp_path / "run" / "grid.h5") as file:
        np.testing.assert_allclose(file["grid/y"], [-0.3, -0.2, -0.1, *y, 2.0, 2.5, 3.0])
        np.testing.assert_allclose(file["grid/dy_1"][4], 1 / 0.15)


def test_what_the_format_cannot_hold_is_refused_before_anything_is_made(tmp_path):
    def begin(held, attributes=(), options=()):
        writer = PencilWriter(
            str(tmp_path / "run"), MPI.COMM_SELF, grid=None, attributes=dict(attributes), options=dict(options)
        )
        writer.begin_step(0, 0.0, held, {})

    field, whole = Stored("float64", POINTS, False), Stored("int32", POINTS, False)
    other, rows = Stored("float64", (8, 6, 5), False), Stored("float64", (1, 6, 1), True)
    for held, what in (
        ({"ux": field, "n": whole}, "only real fields"),
        ({"ux": field, "uy": other}, "the same points"),
        ({"ux": rows}, "the same points"),
        ({"a/b": field}, "cannot be a name"),
        ({}, "without arrays"),
    ):
        with pytest.raises(_core.InputError, match=what):
            begin(held)
    with pytest.raises(_core.InputError, match="has no option 'level'; it has none"):
        begin({"ux": field}, options={"level": "3"})
    with pytest.raises(_core.InputError, match="no kind of file"):
        begin({"ux": field}, {"pencil/file": "../../etc/passwd"})
    assert not (tmp_path / "run").exists()


def test_nothing_is_replaced(tmp_path):
    write(tmp_path / "run", some_fields(), GRID)
    before = (tmp_path / "run" / "allprocs" / "VAR3.h5").read_bytes()
    with pytest.raises(_core.InputError, match="is there already"):
        write(tmp_path / "run", some_fields("f4"), GRID)
    assert (tmp_path / "run" / "allprocs" / "VAR3.h5").read_bytes() == before
    writer = PencilWriter(str(tmp_path / "new"), MPI.COMM_SELF, grid=GRID, attributes={}, options={})
    writer.begin_step(0, 0.0, {"ux": Stored("float64", POINTS, False)}, {})
    writer.abandon_step()
    writer.abandon_step()
    assert not list((tmp_path / "new").rglob("*.*"))


def test_steps_are_added_behind_the_last_and_an_open_one_does_not_count(tmp_path):
    held = {"bb1": Stored("float32", (NX, 1, NZ), False)}
    planes = np.random.default_rng(2).standard_normal((3, NZ, 1, NX)).astype("f4")
    box = Box((0, 0, 0), (NX, 1, NZ))

    def writer():
        attributes = {"pencil/file": "slices/bb1_xz"}
        return PencilWriter(str(tmp_path), MPI.COMM_SELF, grid=None, attributes=attributes, options={})

    first = writer()
    for at in range(2):
        first.begin_step(at, float(at), held, {"position": 0.25, "coordinate": 4})
        first.write("bb1", box, planes[at])
        first.end_step() if at == 0 else first.abandon_step()
    second = writer()
    second.begin_step(1, 1.5, held, {"position": 0.25, "coordinate": 4})
    second.write("bb1", box, planes[2])
    second.end_step()
    with h5py.File(tmp_path / "slices" / "bb1_xz.h5") as file:
        assert file["last"][()].tolist() == [2]
        np.testing.assert_array_equal(file["1/data"], planes[0][:, 0])
        np.testing.assert_array_equal(file["2/data"], planes[2][:, 0])
        assert (file["2/time"][()], file["2/coordinate"][()].tolist(), file["2/time"].shape) == (1.5, [4], ())
    with pytest.raises(_core.InputError, match=r"has the time 1\.5 already"):
        writer().begin_step(2, 1.5, held, {})


def test_the_values_of_a_group_are_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    """Else a power cut leaves a number of the last group whose values are not there."""
    held = {"bb1": Stored("float32", (NX, 1, NZ), False)}
    attributes = {"pencil/file": "slices/bb1_xz"}
    writer = PencilWriter(str(tmp_path), MPI.COMM_SELF, grid=None, attributes=attributes, options={})
    for at, name in enumerate((f"bb1_xz.h5{PARTIAL}", "bb1_xz.h5")):
        writer.begin_step(at, float(at), held, {"position": 0.25, "coordinate": 4})
        with monkeypatch.context() as patched:
            calls = recorded_calls.in_python(patched, "pwrite", "fsync", "rename")
            writer.write("bb1", Box((0, 0, 0), (NX, 1, NZ)), np.ones((NZ, 1, NX), "f4"))
            writer.end_step()
        found = [call for call, path in calls if path.name == name]
        assert found[:4] == ["pwrite", "fsync", "pwrite", "fsync"], "the values, then their number"
        assert found[4:] == (["rename"] if at == 0 else [])
        assert at or calls[-1] == ("fsync", tmp_path / "slices"), "its name"


def test_a_run_is_converted_by_the_command(tmp_path, tailrace):
    run = Run(tmp_path / "run" / "data")
    fields = run.add_snapshot()
    slices, (averages, _), (ids, values) = run.add_slices(), run.add_averages(), run.add_particles()
    numbers, stalked = run.add_stalkers()
    (run.data / "time_series.dat").write_text(HISTORY)

    def convert(source, target, *words):
        said = tailrace(tmp_path, "convert", f"run/data/{source}", target, "--format", "pencil-hdf5", *words, ranks=3)
        assert "verified" in said.out
        return tmp_path / target

    ghosts = ("--source-parameter", "ghosts=true")
    for target in (convert(".", "whole", *ghosts), convert(".", "filled")):
        with h5py.File(target / "allprocs" / "VAR1.h5") as file:
            for at, name in enumerate(("ux", "uy", "uz", "lnrho")):
                np.testing.assert_array_equal(file[f"data/{name}"], fields[at])
            assert file["persist/random_seeds"][()].tolist() == [0, -5, 1, -5, 2, -5, 3, -5]
            assert [file[f"settings/nproc{axis}"][0] for axis in "xyz"] == [2, 1, 2]
            assert [file[f"grid/L{axis}"][()] for axis in "xyz"] == list(BOX)
            np.testing.assert_array_equal(file["grid/y"], run.axes[1])
            assert [file[f"unit/{name}"][()] for name in ("mass", "energy", "time", "flux")] == [24, 600, 0.4, 375]
    assert "IO_STRATEGY='HDF5    '" in (target / "param.nml").read_text()
    with h5py.File(convert("proc0/slice_bb1.xz", "slices") / "slices" / "bb1_xz.h5") as file:
        np.testing.assert_array_equal(file["3/data"], slices["xz"][2])
    names = ("--source-parameter", "names=a,b,c")
    with h5py.File(convert("proc0/zaverages.dat", "averages", *names) / "averages" / "z.h5") as file:
        np.testing.assert_array_equal(file["2/b"], averages[2, 1])
        assert (file["last"][()].tolist(), file["1/time"][()]) == ([2], 0.25)
    with h5py.File(convert("proc0/PVAR2", "particles") / "allprocs" / "PVAR2.h5") as file:
        np.testing.assert_array_equal(file["part/ID"], ids)
        np.testing.assert_array_equal(file["part/yp"], values[1])
        assert file["proc/distribution"][()].tolist() == [2, 0, 3, 1]
    with h5py.File(convert("proc0/particles_stalker.dat", "stalkers") / "allprocs" / "PSTALK1.h5") as file:
        np.testing.assert_array_equal(file["stalker/ID"], numbers)
        np.testing.assert_array_equal(file["stalker/ux"], stalked[1, :, 1])
    with h5py.File(convert("time_series.dat", "history") / "time_series.h5") as file:
        assert (file["urms/2"][()], file["t/4"][()], file["last"][()].tolist()) == (2.973e-2, 0.227, [4])


def test_the_twins_of_the_code_are_made_again(tmp_path, tailrace):
    base = samples()
    source, theirs = base / "dist" / "data", base / "hdf5" / "data"

    def convert(path, target, *words):
        tailrace(tmp_path, "convert", str(source / path), target, "--format", "pencil-hdf5", *words, ranks=3)
        return tmp_path / target

    made = convert(".", "var", "--source-parameter", "ghosts=true")
    check_twins(made / "allprocs" / "VAR1.h5", theirs / "allprocs" / "VAR1.h5")
    # The code has written its grid.h5 before it knew its units.
    check_twins(made / "grid.h5", theirs / "grid.h5", lambda name: name.startswith("unit/") and name != "unit/system")
    assert (made / "index.pro").read_text() == (theirs / "index.pro").read_text()
    assert (made / "param.nml").read_text() == (theirs / "param.nml").read_text()
    for at, plane in enumerate(("proc2/slice_cc1.xy2",)):
        name = plane.partition("_")[2].replace(".", "_") + ".h5"
        check_twins(convert(plane, f"slices{at}") / "slices" / name, theirs / "slices" / name)
    made = convert("proc0/zaverages.dat", "z", "--source-parameter", "names=bxmxy,bymxy,bzmxy")
    check_twins(made / "averages" / "z.h5", theirs / "averages" / "z.h5")
    made = convert("time_series.dat", "ts")  # its text has few digits
    check_twins(made / "time_series.h5", theirs / "time_series.h5", lambda name: name not in ("last", "step"))
    with tr.open(made) as series:
        np.testing.assert_array_equal(series[0].read("umax").ravel()[1:3], [4.202e-2, 7.873e-2])


def test_a_part_of_a_periodic_run_is_not_written_as_a_periodic_box(tmp_path):
    parameters = (
        "&INIT_PARS\n XYZ0= 3*-3.14, XYZ1= 3*3.14,\n LXYZ= 3*6.28,\n LPERI= 3*T,\n LPOLE= 3*F,\n BCX= 8*'p   ',\n"
        "  3*'p',\n UNIT_LENGTH= 2.0, LPERI(2)=T\n/\n&SHEAR_INIT_PARS\n/\n"
    )
    attributes = {"pencil/param.nml": parameters, "pencil/param2.nml": "&RUN_PARS\n NT=3, BCZ= 8*'p'\n/\n"}
    attributes |= {f"grid/{axis}": [0.1 * at for at in range(30)] for axis in "xyz"} | {"lengths": [2.4] * 3}
    writer = write(tmp_path / "part", some_fields(), UniformGrid(POINTS, spacing=(0.1,) * 3), attributes)
    text = (tmp_path / "part" / "param.nml").read_text()
    assert "LPERI= F, F, F" in text and text.count("LPERI") == 1
    assert "LPOLE= 3*F" in text and "UNIT_LENGTH= 2.0" in text and "&SHEAR_INIT_PARS\n/" in text
    assert not any(word in text for word in ("XYZ", "BCX", "'p"))
    assert "NT=3" in (tmp_path / "part" / "param2.nml").read_text()
    assert "BCZ" not in (tmp_path / "part" / "param2.nml").read_text()
    assert any("not the whole box" in note for note in writer.notes)
    with h5py.File(tmp_path / "part" / "grid.h5") as file:
        np.testing.assert_allclose(file["grid/Lx"][()], 0.8)
    with tr.open(tmp_path / "part") as series:
        assert "boundaries" not in series.attributes
    write(tmp_path / "periodic", some_fields(), GRID)
    with tr.open(tmp_path / "periodic") as series:
        assert series.attributes["boundaries"] == "periodic,periodic,periodic"


def test_time_steps_that_are_there_twice_are_refused(tmp_path):
    columns = {"step": np.array([0, 2, 4, 2]), "time": np.array([0.0, 0.5, 1.0, 1.5])}
    writer = PencilWriter(
        str(tmp_path / "new"), MPI.COMM_SELF, grid=None, attributes={"pencil/file": "time_series"}, options={}
    )
    writer.begin_step(0, 0.0, {name: Stored(one.dtype.name, (1, 4, 1), True) for name, one in columns.items()}, {})
    for name, values in columns.items():
        writer.write(name, Box((0, 0, 0), (1, 4, 1)), values.reshape(1, 4, 1))
    with pytest.raises(_core.InputError, match=r"time_series\.h5: the rows 1 and 3 .* both have the time step 2"):
        writer.end_step()
    writer.abandon_step()
    assert not list(tmp_path.rglob("*.h5*"))


@pytest.mark.parametrize(("kind", "shape", "stored"), [
    ("averages/z", (8, 1, 1), (1, 8)), ("averages/xy", (1, 1, 1), (1,)), ("averages/y", (1, 1, 4), (4, 1)),
    ("slices/bb1_xz", (8, 1, 1), (1, 8)), ("slices/bb1_yz", (1, 1, 4), (4, 1)),
])  # fmt: skip
def test_a_direction_of_one_point_is_kept_where_it_is_not_averaged_or_cut(tmp_path, kind, shape, stored):
    writer = PencilWriter(str(tmp_path), MPI.COMM_SELF, grid=None, attributes={"pencil/file": kind}, options={})
    values = np.arange(float(np.prod(shape))).reshape(shape[::-1])
    writer.begin_step(0, 0.5, {"bb1": Stored("float64", shape, False)}, {})
    writer.write("bb1", Box((0, 0, 0), shape), values)
    writer.end_step()
    with h5py.File(tmp_path / f"{kind}.h5") as file:
        group = file["1" if kind.startswith("slices") else "0"]
        found = group["data" if kind.startswith("slices") else "bb1"][()]
    assert found.shape == stored and found.ravel().tolist() == values.ravel().tolist()


def test_texts_of_a_run_stay_as_they_are_beside_what_has_no_fields(tmp_path):
    """An average has none of the fields that they list."""
    texts = {"index.pro": " iux=1\n iuy=2\n ntestfield=3\n", "varname.dat": "   1  uu1\n   2  uu2\n"}
    grid = {f"grid/{axis}": [0.25 * i for i in range(n + 6)] for axis, n in zip("xyz", POINTS, strict=True)}
    about = {"pencil/file": "averages/xy"} | {f"pencil/{name}": text for name, text in texts.items()} | grid
    writer = PencilWriter(str(tmp_path), MPI.COMM_SELF, grid=None, attributes=about, options={})
    writer.begin_step(0, 0.5, {"uxmz": Stored("float64", (1, 1, NZ), False)}, {})
    writer.write("uxmz", Box((0, 0, 0), (1, 1, NZ)), np.arange(float(NZ)).reshape(NZ, 1, 1))
    writer.end_step()
    writer.close()
    for name, text in texts.items():
        assert (tmp_path / name).read_text() == text


def test_a_part_that_the_processes_of_the_source_do_not_divide_is_of_one_process(tmp_path):
    made = HandMade(tmp_path / "run" / "data").texts().dist()  # 2 x 1 x 3 processes
    target = tmp_path / "part"
    convert_files(tmp_path / "run", target, format="pencil-hdf5", box=((0, 0, 0), (5, 9, 12)), comm=MPI.COMM_SELF)
    assert (target / "dim.dat").read_text().split()[-4:] == ["1"] * 4
    with tr.open(target) as series:
        np.testing.assert_array_equal(series[0]["ux"], made.fields[0][3:15, 3:12, 3:8])


@pytest.mark.parametrize("real", ["f4", "f8"])
def test_particles_keep_the_precision_of_the_run(tmp_path, tailrace, real):
    run = Run(tmp_path / "run" / "data", real=real)
    run.add_snapshot()
    ids, values = run.add_particles()
    tailrace(tmp_path, "convert", "run/data/proc0/PVAR2", "new", "--format", "pencil-hdf5")
    with h5py.File(tmp_path / "new" / "allprocs" / "PVAR2.h5") as file:
        assert file["part/yp"].dtype.str == file["time"].dtype.str == f"<{real}"
        np.testing.assert_array_equal(file["part/ID"], ids)
        np.testing.assert_array_equal(file["part/yp"], values[1])
