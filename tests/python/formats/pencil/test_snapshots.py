"""Snapshots of the Pencil Code in all layouts, against files made by hand and samples read with NumPy and h5py."""

import math
import os
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.pencil_runs import NAMES, HandMade
from tailrace import core as _core
from tailrace.formats.pencil import dataset_at
from tailrace.formats.pencil.run import dimensions, run
from tailrace.grids import StretchedGrid
from tailrace.io.placement import Box

SAMPLES = os.environ.get("TAILRACE_SAMPLES")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="TAILRACE_SAMPLES is not set")
LAYOUTS = ("dist", "collect_xy", "collect", "hdf5")


def box_of(dataset, name, box=None, position=0):
    stored = (dataset.variables(position) | dataset.derived(position))[name]
    box = box or Box((0, 0, 0), stored.shape)
    out = np.full(box.count[::-1], np.nan, stored.dtype)
    dataset.read(position, name, box, out)
    return out


def same(found, expected):
    return (
        found.shape == expected.shape and found.tobytes() == expected.astype(expected.dtype.newbyteorder("=")).tobytes()
    )


def inner(fields):
    return fields[..., 3:-3, 3:-3, 3:-3]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("precision", "order"), [("D", "<"), ("S", "<"), ("D", ">"), ("S", ">")])
def test_every_layout_gives_every_bit(tmp_path, layout, precision, order):
    made = HandMade(tmp_path / "data", precision=precision, order=order).texts()
    getattr(made, layout)()
    trimmed, whole = dataset_at(tmp_path), dataset_at(tmp_path / "data", {"ghosts": "true"})
    assert list(trimmed.variables(0)) == (sorted(NAMES) if layout == "hdf5" else NAMES)
    assert {one.dtype for one in trimmed.variables(0).values()} == {"float64" if precision == "D" else "float32"}
    for at, name in enumerate(NAMES):
        assert same(box_of(whole, name), made.fields[at])
        assert same(box_of(trimmed, name), inner(made.fields[at]))
    assert trimmed.steps == [(1, 0.5)]
    assert trimmed.grid.points == made.points
    assert np.allclose(trimmed.grid.origin, [axis[3] for axis in made.axes], rtol=1e-7)
    assert trimmed.attributes["boundaries"] == "periodic,periodic,periodic"
    assert trimmed.attributes["lengths"] == pytest.approx([1, 2, 3], rel=1e-6)
    assert trimmed.attributes["reynolds"] == pytest.approx(250)
    assert trimmed.attributes["dt"] == pytest.approx(1e-3)
    assert "boundaries" not in whole.attributes
    scalars = trimmed.scalars(0)
    assert scalars["persist.random_seeds"] == " ".join(map(str, made.persist.reshape(-1)))
    assert scalars["persist.forcing_tsforce"].split() == ["0.5"] * 6
    assert not trimmed.check(0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_box_is_read(tmp_path, layout):
    made = HandMade(tmp_path / "data", processes=(2, 3, 2)).texts()
    getattr(made, layout)()
    for parameters, expected in ((None, inner(made.fields)), ({"trim": "false"}, made.fields)):
        found = pickle.loads(pickle.dumps(dataset_at(tmp_path, parameters)))
        nz, ny, nx = expected.shape[1:]
        rng = np.random.default_rng(5)
        for _ in range(60):
            start = [int(rng.integers(0, n)) for n in (nx, ny, nz)]
            count = [int(rng.integers(0, n - a + 1)) for n, a in zip((nx, ny, nz), start, strict=True)]
            x, y, z = (slice(a, a + n) for a, n in zip(start, count, strict=True))
            values = box_of(found, "ay", Box(tuple(start), tuple(count)))
            assert same(values, expected[5][z, y, x])


@pytest.mark.parametrize("layout", ["dist", "collect_xy"])
@pytest.mark.parametrize("limit", [1, 107, 4096])
def test_records_in_parts_are_followed(tmp_path, layout, limit):
    """gfortran divides records at 2^31 - 9 bytes, so a value can begin in one part and end in the next."""
    points, processes = ((2, 1, 2), (1, 1, 1)) if limit == 1 else ((8, 9, 12), (2, 1, 3))
    names = NAMES[:1] if limit == 1 else NAMES
    made = HandMade(tmp_path / "data", points, processes, ">", limit=limit, names=names).texts()
    getattr(made, layout)()
    found = dataset_at(tmp_path)
    for at, name in enumerate(names):
        assert same(box_of(found, name), inner(made.fields[at]))
    assert not found.check(0)


def test_the_part_of_one_process(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    found = dataset_at(tmp_path / "data" / "proc3" / "VAR1")
    z, y, x = slice(3 + 4, 3 + 8), slice(3, 12), slice(3 + 4, 3 + 8)  # place 1, 0, 1
    assert same(box_of(found, "lnrho"), made.fields[3][z, y, x])
    assert found.grid.origin == pytest.approx([made.axes[0][7], made.axes[1][3], made.axes[2][7]])
    assert "part of proc3 only" in " ".join(found.notes)
    assert "boundaries" not in found.attributes
    assert same(box_of(found, "bz"), box_of(dataset_at(tmp_path), "bz")[4:8, :, 4:8])


@pytest.mark.parametrize("layout", ["dist", "collect", "collect_xy"])
def test_sizes_are_those_of_the_processes_where_dim_dat_is_missing(tmp_path, layout):
    made = HandMade(tmp_path / "data").texts()
    getattr(made, layout)()
    (tmp_path / "data" / "dim.dat").unlink()
    found = dataset_at(tmp_path)
    assert same(box_of(found, "lnrho"), inner(made.fields[3]))
    assert (
        f"dim.dat is missing; the sizes are those of the dim.dat of its {math.prod(made.processes)}" in found.notes[0]
    )
    assert not found.check(0)


def test_the_advice_of_one_process_can_be_followed(tmp_path):
    HandMade(tmp_path / "data").texts().dist()
    (tmp_path / "data" / "dim.dat").unlink()
    part = dataset_at(tmp_path / "data" / "proc3" / "VAR1")
    assert f"part of proc3 only; open {tmp_path / 'data'} for the whole" in " ".join(part.notes)
    (tmp_path / "data" / "proc2" / "dim.dat").unlink()
    part = dataset_at(tmp_path / "data" / "proc3" / "VAR1")
    assert f"{tmp_path / 'data'} has neither a dim.dat nor those of all processes" in " ".join(part.notes)
    with pytest.raises(tr.IoError, match=r"data: has no dim\.dat, and the 5 proc\*/dim\.dat do not make \(2, 1, 3\)"):
        dataset_at(tmp_path)
    (tmp_path / "data" / "proc2" / "dim.dat").write_text(
        "     10     15     14      4      0      0\nS\n 3 3 3\n 0 0 1\n"
    )
    with pytest.raises(tr.IoError, match=r"proc2/dim\.dat: has other sizes than .*proc0/dim\.dat"):
        dataset_at(tmp_path)


def test_the_layer_of_a_row_of_processes(tmp_path):
    made = HandMade(tmp_path / "data").texts().collect_xy()
    found = dataset_at(tmp_path / "data" / "proc2" / "VAR1")
    assert same(box_of(found, "uy"), inner(made.fields[1])[4:8])
    assert not found.check(0)


def test_a_series_is_ordered_by_time(tmp_path):
    made = HandMade(tmp_path / "data").texts()
    made.dist("VAR2", 1.5).dist("VAR10", 7.25).dist("VAR0", 0.0)
    later = HandMade(tmp_path / "data", seed=2).dist("var.dat", 9.0)
    found = dataset_at(tmp_path)
    assert found.steps == [(0, 0.0), (2, 1.5), (10, 7.25), (11, 9.0)]
    assert same(box_of(found, "ux", position=3), inner(later.fields[0]))
    later.dist("var.dat", 7.25)  # the same time: one of them is enough
    again = dataset_at(tmp_path)
    assert [index for index, _ in again.steps] == [0, 2, 10]
    assert "is left out" in again.notes[0]


def test_a_snapshot_that_is_still_written_is_left_out_and_told(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist("VAR1").dist("VAR2", 1.0)
    path = tmp_path / "data" / "proc0" / "VAR2"
    os.truncate(path, 1000)
    found = dataset_at(tmp_path)
    assert [index for index, _ in found.steps] == [1]
    assert "may still be written" in found.left_out[0] and "proc0/VAR2" in found.left_out[0]
    made.dist("VAR3", 2.0)
    with pytest.raises(_core.IoError, match="proc0/VAR2: ends at byte 1000"):
        dataset_at(tmp_path)


def test_unequal_spacing_and_walls_are_told(tmp_path):
    made = HandMade(tmp_path / "data", stretched=True, lperi="T, F, T").texts().dist()
    found = dataset_at(tmp_path)
    assert isinstance(found.grid, StretchedGrid)
    assert found.grid.uneven[0] == () and found.grid.uneven[1] == tuple(made.axes[1][3:-3])
    assert "boundaries" not in found.attributes
    assert "not periodic" in found.notes[0]


def test_names_without_texts(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    (tmp_path / "data" / "index.pro").unlink()
    (tmp_path / "data" / "param.nml").unlink()
    assert list(dataset_at(tmp_path).variables(0)) == [*NAMES[:-1], "cc"]
    (tmp_path / "data" / "varname.dat").unlink()
    found = dataset_at(tmp_path)
    assert same(box_of(found, "field5"), inner(made.fields[4]))
    assert "boundaries" not in found.attributes


def test_users_get_fields_vectors_and_derivatives(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    with tr.open(tmp_path) as series:
        step = series[0]
        assert series.engine == "pencil"
        assert np.array_equal(step["aa"].y.data, inner(made.fields[5]))
        assert np.array_equal(step["cc"].data, inner(made.fields[7]))
        assert np.array_equal(step["rho"].data, np.exp(inner(made.fields[3])))
        assert np.isfinite(tr.curl(step["uu"]).x.data).all()
        assert tr.curl(step["aa"]).x.data.shape == step["bb"].x.data.shape
    with tr.open(tmp_path, parameters={"ghosts": True}) as series:
        assert np.array_equal(series[0]["ux"][:], made.fields[0])


def test_wrong_parameters(tmp_path):
    HandMade(tmp_path / "data").texts().dist()
    with pytest.raises(_core.InputError, match="'gosts' is unknown; there are ghosts, trim"):
        dataset_at(tmp_path, {"gosts": "true"})
    with pytest.raises(_core.InputError, match="ghosts is 'maybe'"):
        dataset_at(tmp_path, {"ghosts": "maybe"})


def test_other_directories_are_of_others(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dim.dat").write_text("hello\n")
    assert dataset_at(tmp_path) is None
    with h5py.File(tmp_path / "VAR1.h5", "w") as file:
        file["data"] = np.zeros(3)
    assert dataset_at(tmp_path / "VAR1.h5") is None


@needs_samples
def test_samples_of_one_run_agree_in_all_layouts():
    pencil = Path(SAMPLES) / "pencil"
    with h5py.File(pencil / "hdf5" / "data" / "allprocs" / "VAR1.h5") as file:
        for parameters, cut in (({"ghosts": "true"}, slice(None)), (None, slice(3, -3))):
            twins = [dataset_at(pencil / name, parameters) for name in ("dist", "hdf5")]
            for name in file["data"]:
                expected = file["data"][name][cut, cut, cut]
                assert all(same(box_of(twin, name), expected) for twin in twins)
            assert twins[0].scalars(0) == twins[1].scalars(0)
            assert twins[0].steps == twins[1].steps == [(1, float(file["time"][()]))]
            assert twins[0].grid == twins[1].grid
    raw = np.fromfile(pencil / "mpi2" / "data" / "allprocs" / "VAR1", "<f4", 8 * 38**3).reshape(8, 38, 38, 38)
    for layout in ("collect", "collect_xy", "mpi2"):
        found = dataset_at(pencil / layout, {"ghosts": "true"})
        for at, name in enumerate(NAMES):
            assert same(box_of(found, name), raw[at])
        assert found.scalars(0)["persist.forcing_tsforce"] == "0.21904135 0.21904135 0.21904135 0.21904135"
        assert not found.check(0)


@needs_samples
def test_derived_fields_are_those_of_the_code():
    """bb against the slices that the code wrote, all others against its time series."""
    data = Path(SAMPLES) / "pencil" / "hdf5" / "data"
    found = dataset_at(data)
    for at, axis in enumerate("xyz", 1):
        field = box_of(found, f"b{axis}")
        for plane, cut in (("xy", lambda b, i: b[i]), ("xz", lambda b, i: b[:, i]), ("yz", lambda b, i: b[:, :, i])):
            with h5py.File(data / "slices" / f"bb{at}_{plane}.h5") as file:
                slices = [one for key, one in file.items() if key != "last" and one["time"][()] == found.steps[0][1]]
                (one,) = slices
                assert np.allclose(cut(field, int(one["coordinate"][0]) - 4), one["data"][()], rtol=0, atol=1e-17)
    lines = (data / "time_series.dat").read_text().splitlines()
    columns = [name for name in lines[0].strip("#-").split("-") if name]
    row = dict(
        zip(
            columns,
            min((line.split() for line in lines[1:-1]), key=lambda w: abs(float(w[1]) - found.steps[0][1])),
            strict=True,
        )
    )
    square = {name: sum(box_of(found, f"{name}{axis}") ** 2 for axis in "xyz") for name in "ubjo"}
    assert all(
        math.isclose(value, float(row[name]), rel_tol=2e-3)
        for name, value in (
            ("urms", np.sqrt(square["u"].mean())),
            ("brms", np.sqrt(square["b"].mean())),
            ("jrms", np.sqrt(square["j"].mean())),
            ("jmax", np.sqrt(square["j"].max())),
            ("orms", np.sqrt(square["o"].mean())),
            ("omax", np.sqrt(square["o"].max())),
            ("mass", box_of(found, "rho").sum() * np.prod(found.grid.spacing)),
        )
    )


def test_shearing_boxes_and_other_boundary_conditions_are_not_periodic(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    parameters = (made.data / "param.nml").read_text()
    assert dataset_at(tmp_path).attributes["boundaries"] == "periodic,periodic,periodic"
    for more, what in (
        ("&SHEAR_INIT_PARS\n QSHEAR= 0.0, SSHEAR= -1.5\n/\n", "is sheared"),
        ("&INIT_PARS\n BCZ= 3*'p', 'a2', 4*'p'\n/\n", "not periodic"),
    ):
        (made.data / "param.nml").write_text(parameters + more)
        found = dataset_at(tmp_path)
        assert "boundaries" not in found.attributes and found.grid.boundaries is None
        assert any(what in note for note in found.notes)
    (made.data / "param.nml").write_text(parameters)
    for process in range(6):  # deltay behind the spacings, in the record of the time
        path = made.data / f"proc{process}" / "VAR1"
        raw = path.read_bytes()
        fields = 8 + len(made.names) * 8 * (made.local[0] + 6) * (made.local[1] + 6) * (made.local[2] + 6)
        size = int.from_bytes(raw[fields : fields + 4], "little")
        content, rest = raw[fields + 4 : fields + 4 + size], raw[fields + 8 + size :]
        path.write_bytes(raw[:fields] + made.record(content + np.array([0.25]).tobytes()) + rest)
    found = dataset_at(tmp_path)
    assert found.scalars(0)["deltay"] == 0.25
    assert "boundaries" not in found.attributes and any("is sheared" in note for note in found.notes)


def test_the_texts_of_the_processes_are_read_once_for_all_steps(tmp_path, monkeypatch):
    made = HandMade(tmp_path / "data").texts().dist("VAR1").dist("VAR2", 1.5)
    seen = []
    for module in (dimensions, run):
        monkeypatch.setattr(module, "read_dim", lambda path, read=module.read_dim: seen.append(path) or read(path))
    found = dataset_at(tmp_path)
    for position in (0, 1, 0):
        assert same(box_of(found, "ux", position=position), inner(made.fields[0]))
        found.scalars(position)
    assert sorted(path.parent.name for path in seen) == ["data", *(f"proc{at}" for at in range(6))]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("whole", [True, False])
def test_a_grid_tells_the_byte_order(tmp_path, order, whole):
    """Also one that is put together from those of the processes: files without records have no other sign of it."""
    data = tmp_path / "run" / "data"
    made = HandMade(data, order=order).texts().dist()
    if whole:
        made.grid_file(data / "grid.dat", [slice(None)] * 3)
        (data / "grid.dat").replace(data / "allprocs" / "grid.dat")
    assert run.run_in(data).points.order == order
