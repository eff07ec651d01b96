"""Reading what Xcompact3D writes, from files made by its description."""

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.xcompact3d_files import DT, EVERY, LENGTHS, NX, NY, NZ, field, input_text, make_checkpoint, make_run
from tailrace import IoError
from tailrace.formats.xcompact3d import bp, dataset_at
from tailrace.io.placement import Box


def values(dataset, position, name, box=None):
    stored = dataset.variables(position)[name]
    box = box or Box((0, 0, 0), stored.shape)
    out = np.empty(box.count[::-1], stored.dtype)
    dataset.read(position, name, box, out)
    return out


@pytest.mark.parametrize("dtype", ["<f8", "<f4"])
def test_snapshots_of_a_run(tmp_path, dtype):
    run = make_run(tmp_path / "run", (1, 2, 10), dtype=dtype)
    for path in (run, run / "data"):
        with tr.open(path) as series:
            assert [(step.index, step.time) for step in series] == [(n * EVERY, n * EVERY * DT) for n in (1, 2, 10)]
            assert series.grid.boundaries == ("periodic", "dirichlet", "periodic")
            np.testing.assert_allclose(series.grid.spacing, [6 / NX, 2 / (NY - 1), 5 / NZ], rtol=1e-15)
            assert (series.attributes["reynolds"], series.attributes["dt"]) == (250.0, DT)
            found = series[2].read("pp")
            assert found.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(found, field(10, "pp").astype(dtype))
            np.testing.assert_array_equal(np.asarray(series[1]["pressure"]), field(2, "pp").astype(dtype))


def test_one_file_and_numbers_with_zeros(tmp_path):
    run = make_run(tmp_path / "run")
    (run / "data" / "ux-2.bin").rename(run / "data" / "ux-0002.bin")
    only = dataset_at(run / "data" / "ux-0002.bin", {})
    assert only.steps == [(2 * EVERY, 2 * EVERY * DT)]
    assert list(only.variables(0)) == ["ux"]
    whole = pickle.loads(pickle.dumps(dataset_at(run, {})))
    box = Box((3, 2, 4), (5, 6, 2))
    np.testing.assert_array_equal(values(whole, 1, "ux", box), field(2)[4:6, 2:8, 3:8])
    (run / "data" / "uy-002.bin").write_bytes((run / "data" / "uy-1.bin").read_bytes())
    twice = dataset_at(run, {})
    assert "uy-2.bin has the same number" in " ".join(twice.notes)
    np.testing.assert_array_equal(values(twice, 1, "uy"), field(2, "uy"))


@pytest.mark.parametrize(("nvisu", "whole"), [(2, True), (5, False)])
def test_coarsened_output(tmp_path, nvisu, whole):
    shape = tuple(-(-n // nvisu) for n in (NX, NY, NZ))
    run = make_run(tmp_path / "run", shape=shape, inout=f"nvisu = {nvisu}")
    dataset = dataset_at(run, {})
    assert dataset.grid.points == shape
    np.testing.assert_allclose(dataset.grid.spacing, [6 / NX * nvisu, 2 / (NY - 1) * nvisu, 5 / NZ * nvisu])
    assert (dataset.grid.boundaries is not None) == whole, "the points reach the end of the box"
    np.testing.assert_array_equal(values(dataset, 0, "uz"), field(1, "uz", shape))


def test_averages_over_a_direction_and_scalars(tmp_path):
    run = make_run(
        tmp_path / "run", names=("ux", "phi01"), shape=(NX, NY, 1), inout="output2D = 3", basic="numscalar=1"
    )
    dataset = dataset_at(run, {})
    assert {name: one.shape for name, one in dataset.variables(1).items()} == dict.fromkeys(
        ("phi01", "ux"), (NX, NY, 1)
    )


@pytest.mark.parametrize(("istret", "periodic"), [(1, False), (2, False), (3, False), (1, True)])
def test_stretched_grids(tmp_path, istret, periodic):
    beta, n, cells = 0.3, NY, NY - (not periodic)
    ends = ((0, 0), (0, 0) if periodic else (2, 2), (0, 0))
    run = make_run(tmp_path / "run", basic=f"istret = {istret}\nbeta = {beta}", ends=ends)
    y = np.array(dataset_at(run, {}).grid.coordinates[1])
    # The derivative of the places is 1 / (alpha / pi + sin^2(pi eta) / (pi beta)) / L, whose integral by Simpson's rule
    # is compared here.
    half = LENGTHS[1] / 2
    alpha = (np.sqrt(half**2 + (np.pi * beta) ** 2) - half) / (2 * beta * half)
    s = np.linspace(0, 1, 1000 * cells + 1)
    eta = {1: s, 2: s - 0.5, 3: s / 2 - 0.5}[istret]
    slope = 1 / (alpha / np.pi + np.sin(np.pi * eta) ** 2 / (np.pi * beta))
    parts = (slope[:-2:2] + 4 * slope[1:-1:2] + slope[2::2]) * (s[2] - s[0]) / 6
    places = np.concatenate([[0], np.cumsum(parts)])[::500]
    np.testing.assert_allclose(y, places[:n], rtol=0, atol=1e-9)
    assert y[0] == 0
    assert y[-1] < LENGTHS[1] - 0.1 if periodic else y[-1] == pytest.approx(LENGTHS[1], abs=1e-14)
    path = run / "input.json"
    path.write_text(json.dumps(described(BCy=ends[1][0], stretched=istret, beta=beta)))
    np.testing.assert_array_equal(dataset_at(path, {}).grid.coordinates[1], y)
    if periodic:
        tr.convert(run, tmp_path / "new", format="xcompact3d")
        (tmp_path / "new" / "yp.dat").unlink()
        np.testing.assert_array_equal(dataset_at(tmp_path / "new", {}).grid.coordinates[1], y)
    given = np.linspace(0, 1, n) ** 2 * 2
    (run / "yp.dat").write_text("".join(f"   {place:.16e}\n" for place in given))
    np.testing.assert_array_equal(dataset_at(run, {}).grid.coordinates[1], given)
    (run / "yp.dat").write_text("0.0\n1.0\n")
    with pytest.raises(IoError, match=r"yp.dat: has 2 places; expected ny = 9"):
        dataset_at(run, {})


@pytest.mark.parametrize("istret", [0, 1, 2, 3])
def test_fields_of_stretched_runs_and_of_different_ends(tmp_path, istret):
    points, ends = (NX, 65, NZ), ((0, 0), (2, 1), (0, 0))
    basic = f"istret = {istret}\nbeta = 0.4"
    run = make_run(tmp_path / "run", (1,), ("ux", "uy"), shape=points, points=points, ends=ends, basic=basic)
    y = np.array(dataset_at(run, {}).grid.coordinates[1]) if istret else np.linspace(0, 2, 65)
    values = np.broadcast_to(np.cos(np.pi * y / 4 - np.pi / 2)[None, :, None], (NZ, 65, NX))  # even about y = 2
    values.tofile(run / "data" / "ux-1.bin")
    exact = -np.pi / 4 * np.sin(np.pi * y / 4 - np.pi / 2)
    tr.convert(run, tmp_path / "new.h5")
    tr.convert(tmp_path / "new.h5", tmp_path / "back", format="xcompact3d")
    for path in (run, tmp_path / "new.h5", tmp_path / "back"):
        with tr.open(path) as series:
            assert series.grid.boundaries == ("periodic", "dirichlet|free-slip", "periodic")
            assert getattr(series.grid, "stretching", "") == ["", "centre", "walls", "bottom"][istret]
            slope = np.asarray(tr.ddy(series[0]["ux"]))[3, :, 4]
            assert abs(slope - exact).max() < 3e-4
            assert abs(slope - exact)[20:].max() < 1e-6
    if istret:
        (run / "yp.dat").write_text("".join(f"   {place:.16e}\n" for place in np.linspace(0, 1, 65) ** 2 * 2))
        with tr.open(run) as series:
            assert isinstance(series[0]["ux"], np.ndarray)
            with pytest.raises(
                tr.InputError, match="not equally spaced; nor are they those of its attributes stretching"
            ):
                _ = series[0].operators


XDMF = """<?xml version="1.0" ?>
 <!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
 <Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">
 <Domain>
    <Topology name="topo" TopologyType="3DCoRectMesh" Dimensions="{shape}"> </Topology>
     <Geometry name="geo" Type="ORIGIN_DXDYDZ">
         <DataItem Format="XML" Dimensions="3"> 0.0 0.0 0.0 </DataItem>
         <DataItem Format="XML" Dimensions="3"> 0.5  0.25  0.1 </DataItem>
     </Geometry>
    <Grid Name="2" GridType="Uniform">
         <Topology Reference="/Xdmf/Domain/Topology[1]"/>
         <Geometry Reference="/Xdmf/Domain/Geometry[1]"/>
         <Attribute Name="ux" Center="Node">
            <DataItem Format="Binary" DataType="Float" Precision="8" Endian="little" Seek="0" Dimensions="{shape}">
               {file}
            </DataItem>
         </Attribute>
     </Grid>
 </Domain>
</Xdmf>
"""


def test_xdmf_with_and_without_the_input(tmp_path):
    run = make_run(tmp_path / "run", names=("ux",))
    path = run / "data" / "snapshot-2.xdmf"
    path.write_text(XDMF.format(shape=f"{NZ} {NY} {NX}", file="././ux-2.bin"))
    dataset = dataset_at(path, {})
    assert dataset.steps == [(2 * EVERY, 2 * EVERY * DT)]
    assert dataset.grid.boundaries == ("periodic", "dirichlet", "periodic")
    np.testing.assert_array_equal(values(dataset, 0, "ux"), field(2))
    (run / "input.i3d").unlink()
    for where in (path, run / "data"):
        alone = dataset_at(where, {})
        assert (alone.steps, alone.grid.spacing) == ([(2, 2.0)], (0.1, 0.25, 0.5))
        np.testing.assert_array_equal(values(alone, 0, "ux"), field(2))


@pytest.mark.parametrize(
    ("shape", "file", "message"),
    [
        (f"{NZ} {NY} {NX}", "../../secret.bin", "expected a file in"),
        (f"{NZ} {NY} {NX}", "link.bin", "expected a file in"),
        (f"{NZ} {NY} {NX}", "/etc/passwd", "expected a file in"),
        (f"{NZ + 1} {NY} {NX}", "ux-2.bin", "it is cut off"),
        ("99999999999 1 1", "ux-2.bin", "three numbers from 1"),
        ("3 4", "ux-2.bin", "three numbers from 1"),
    ],
)
def test_xdmf_that_does_not_fit(tmp_path, shape, file, message):
    run = make_run(tmp_path / "run", names=("ux",))
    (run / "input.i3d").unlink()
    (tmp_path / "secret.bin").write_bytes(bytes(8 * NX * NY * NZ))
    (run / "data" / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = run / "data" / "snapshot-2.xdmf"
    path.write_text(XDMF.format(shape=shape, file=file))
    with pytest.raises(IoError, match=message):
        dataset_at(path, {}).variables(0)


def test_entities_in_xdmf_are_refused(tmp_path):
    bomb = '<!DOCTYPE Xdmf [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'
    text = XDMF.format(shape="1 1 1", file="&b;").replace('<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>', bomb)
    (tmp_path / "snapshot-1.xdmf").write_text(text)
    with pytest.raises(IoError, match="expected XML without entities, found EntitiesForbidden"):
        dataset_at(tmp_path / "snapshot-1.xdmf", {})


@pytest.mark.parametrize(
    ("scheme", "scalars", "names"),
    [
        (5, 0, "ux uy uz pp"),
        (2, 1, "ux uy uz dux-2 duy-2 duz-2 pp phi-01 dphi-01-2"),
        (3, 0, "ux uy uz dux-2 duy-2 duz-2 dux-3 duy-3 duz-3 pp"),
    ],
)
@pytest.mark.parametrize("dtype", ["<f8", "<f4"])
def test_restart_files(tmp_path, dtype, scheme, scalars, names):
    cells = (NX, NY - 1, NZ)
    arrays = make_checkpoint(tmp_path, names.split(), cells, dtype, scheme, scalars)
    alone = dataset_at(tmp_path / "checkpoint", {})
    assert alone.variables(0)["pp"].shape == cells, "found by the size of the file"
    (tmp_path / "input.i3d").write_text(input_text())
    for path in (tmp_path, tmp_path / "checkpoint"):
        dataset = dataset_at(path, {})
        assert dataset.steps == [(60, 0.6)]
        assert list(dataset.variables(0)) == names.split()
        for name, array in arrays.items():
            np.testing.assert_array_equal(values(dataset, 0, name), array)
    whole = (tmp_path / "checkpoint").read_bytes()
    for size in (0, 1, len(whole) // 2 - 8, len(whole) - 1):
        (tmp_path / "checkpoint").write_bytes(whole[:size])
        with pytest.raises(IoError, match=rf"has {size} bytes; expected .*\b{len(whole)} "):
            dataset_at(tmp_path / "checkpoint", {}) if dtype == "<f8" else dataset_at(tmp_path, {})
        if dtype == "<f4":
            break


def test_statistics_and_probes(tmp_path):
    run = make_run(tmp_path / "run")
    (run / "statistics").mkdir()
    for step in (40, 100):
        field(step, "umean").tofile(run / "statistics" / f"umean.dat{step}")
    (run / "probes").mkdir()
    rows = np.linspace(-1, 1, 20).reshape(5, 4) * 1e-3
    text = "".join("".join(f"{value:24.16E}" for value in row) + "\n" for row in rows)
    (run / "probes" / "probe0001").write_text(text)
    dataset = dataset_at(run, {})
    assert [path.rsplit("/", 1)[1] for path in dataset.auxiliary] == ["probe0001", "statistics"]
    means = dataset_at(run / "statistics", {})
    assert means.steps == [(40, 40 * DT), (100, 100 * DT)]
    np.testing.assert_array_equal(values(means, 1, "umean"), field(100, "umean"))
    with tr.open(run / "probes" / "probe0001") as series:
        np.testing.assert_array_equal(series[0].read("uy").ravel(), rows[:, 2])
    probe = dataset_at(run / "probes" / "probe0001", {})
    np.testing.assert_array_equal(values(probe, 0, "t", Box((0, 2, 0), (1, 2, 1))).ravel(), rows[2:4, 0])
    (run / "probes" / "probe0001").write_text(text.replace("E", "?", 6))
    with pytest.raises(IoError, match=r"byte 0: found '.*\?.*', expected a number"):
        values(dataset_at(run / "probes" / "probe0001", {}), 0, "t")
    (run / "probes" / "probe0001").write_text(text[:-3])
    with pytest.raises(IoError, match="expected records of one length"):
        dataset_at(run / "probes" / "probe0001", {})


@pytest.mark.parametrize("nothing", [b"\0", b" "])
@pytest.mark.parametrize("row", [1, 4])
def test_records_of_a_probe_that_were_never_written_are_no_numbers(tmp_path, nothing, row):
    """Xcompact3D writes by the number of the record, and the system fills what is left out with zero bytes."""
    probes = make_run(tmp_path / "run") / "probes"
    probes.mkdir()
    rows = np.linspace(-1, 1, 20).reshape(5, 4) * 1e-3
    lines = ["".join(f"{value:24.16E}" for value in one).encode() + b"\n" for one in rows]
    lines[row] = nothing * len(lines[row])
    (probes / "probe0001").write_bytes(b"".join(lines))
    rows[row] = np.nan
    with tr.open(probes / "probe0001") as series:
        for at, name in enumerate(("t", "ux", "uy", "uz")):
            np.testing.assert_array_equal(series[0].read(name).ravel(), rows[:, at])


def test_histories_have_their_own_times(tmp_path):
    run = make_run(tmp_path / "run")
    (run / "time_evol.dat").write_text("0.09 0.12 1 2 0.3\n0.19 0.11 3 4 0.4\n")
    with tr.open(run / "time_evol.dat") as series:
        np.testing.assert_allclose(series[0].read("t").ravel(), [0.1, 0.2], rtol=1e-15)
        np.testing.assert_array_equal(series[0].read("enstrophy").ravel(), [0.3, 0.4])


def test_the_history_of_a_run_that_goes_on(tmp_path):
    path = make_run(tmp_path / "run") / "time_evol.dat"
    path.write_text("0.09 0.12 1 2 0.3\n0.19 0.11 3 4 0.4\n0.29 0.10 3 4 0.5\n0.19 0.21 3 4 0.6\n0.39 0.2")
    with tr.open(path) as series:
        np.testing.assert_allclose(series[0].read("t").ravel(), [0.1, 0.2, 0.3], rtol=1e-15)
        np.testing.assert_array_equal(series[0].read("enstrophy").ravel(), [0.3, 0.6, 0.5])
    dataset = dataset_at(path, {})
    assert "1 rows are left out: later rows have the same times" in dataset.notes[2]
    assert "its last line is left out" in dataset.notes[1]
    path.write_text(path.read_text() + " 3 4 0.7\n")
    np.testing.assert_array_equal(values(dataset, 0, "enstrophy").ravel(), [0.3, 0.6, 0.5])
    assert dataset_at(path, {}).variables(0)["t"].shape == (1, 4, 1)
    path.write_text("0.09 0.12 1 2 0.3\n")
    with pytest.raises(IoError, match="has 1 rows; expected 3"):
        values(dataset, 0, "t")


def described(**mesh):
    names = {"Nx": NX, "Ny": NY, "Nz": NZ, "Lx": 6.0, "Ly": 2.0, "Lz": 5.0, "BCx": 0, "BCy": 2, "BCz": 0, **mesh}
    return {
        "mesh": {"type": "mesh", "name": "m", "description": "", "properties": names},
        "ux": {
            "type": "data",
            "name": "ux",
            "description": "",
            "properties": {"filename": "data/ux", "direction": [0]},
        },
        "um": {"type": "data", "name": "um", "description": "", "properties": {"filename": "/home/me/um.dat"}},
    }


def test_data_sets_of_py4incompact3d(tmp_path):
    run = make_run(tmp_path / "run", names=("ux",))
    field(0, "um").tofile(run / "um.dat")
    (run / "data" / "ux-2.bin").rename(run / "data" / "ux0002")
    path = run / "input.json"
    path.write_text(json.dumps(described())[:-1] + ",}")  # as the examples of Py4Incompact3D end
    dataset = dataset_at(path, {})
    assert dataset.steps == [(n * EVERY, n * EVERY * DT) for n in (0, 1, 2)]
    assert dataset.grid.boundaries == ("periodic", "dirichlet", "periodic")
    np.testing.assert_array_equal(values(dataset, 2, "ux"), field(2))
    np.testing.assert_array_equal(values(dataset, 0, "um"), field(0, "um"))
    path.write_text(json.dumps(described(Nx=-3)))
    with pytest.raises(IoError, match=r"mesh.properties.Nx is '-3'; expected a whole number from 1"):
        dataset_at(path, {})


def test_what_is_not_of_xcompact3d(tmp_path):
    (tmp_path / "a-1.bin").write_bytes(b"abc")
    (tmp_path / "input.json").write_text('{"mesh": 1, "Nx": 3}')
    assert dataset_at(tmp_path, {}) is None
    assert dataset_at(tmp_path / "a-1.bin", {}) is None
    assert dataset_at(tmp_path / "input.json", {}) is None
    (tmp_path / "snapshot-1.xdmf").write_text(XDMF.format(shape="1 1 1", file="a.h5:/ux").replace("Binary", "HDF"))
    assert dataset_at(tmp_path / "snapshot-1.xdmf", {}) is None
    (tmp_path / "below").mkdir()
    (tmp_path / "other.i3d").write_text("not of this file")
    (tmp_path / "below" / "a-1.bin").write_bytes(b"abc")
    assert dataset_at(tmp_path / "below" / "a-1.bin", {}) is None, "only an input.i3d is looked for above"
    (tmp_path / "a-1.bin").unlink()
    (tmp_path / "other.i3d").unlink()
    (tmp_path / "input.i3d").write_text(input_text())
    with pytest.raises(IoError, match=r"has the input file input.i3d of Xcompact3D, but no data: expected data/NAME"):
        dataset_at(tmp_path, {})


def test_the_xdmf_of_a_raw_series_has_its_steps(tmp_path):
    """The mesh is in the first step, and included in the others; the vector repeats its components."""
    grid = tr.StretchedGrid((NX, NY, NZ), coordinates=((), tuple(np.linspace(0, 1, NY) ** 2), ()))
    with tr.open(tmp_path / "run", "w", engine="raw", grid=grid) as out:
        for step in range(3):
            ux = np.full((NZ, NY, NX), float(step))
            out.write_step(0.5 * step, ux=ux, uy=ux + 1, uz=ux + 2)
    found = dataset_at(tmp_path / "run" / "series.xdmf", {})
    assert [time for _, time in found.steps] == [0.0, 0.5, 1.0]
    assert found.notes == []
    np.testing.assert_array_equal(found.grid.coordinates[1], grid.coordinates[1])
    assert set(found.variables(2)) == {"ux", "uy", "uz"}
    assert (values(found, 2, "uy") == 3).all()


def test_a_file_that_xdmf_names_and_that_is_gone_costs_its_variable_only(tmp_path):
    run = make_run(tmp_path / "run", names=("ux", "uy", "uz"))
    text = XDMF.format(shape=f"{NZ} {NY} {NX}", file="ux-2.bin")
    begin, end = text.index("<Attribute"), text.index("</Attribute>") + len("</Attribute>")
    one = text[begin:end]
    more = "".join(one.replace('"ux"', f'"{name}"').replace("ux-2.bin", f"{name}-2.bin") for name in ("uy", "uz"))
    path = run / "data" / "snapshot-2.xdmf"
    path.write_text(text[:end] + more + text[end:])
    (run / "data" / "uy-2.bin").unlink()
    whole = (run / "data" / "uz-2.bin").read_bytes()
    (run / "data" / "uz-2.bin").write_bytes(whole[:-8])
    dataset = dataset_at(path, {})
    assert list(dataset.variables(0)) == ["ux"]
    np.testing.assert_array_equal(values(dataset, 0, "ux"), field(2))
    assert ["uy-2.bin: cannot be read" in line or "uz-2.bin: has" in line for line in dataset.left_out] == [True, True]
    assert all("is left out" in line for line in dataset.left_out)
    (run / "data" / "ux-2.bin").unlink()
    with pytest.raises(IoError, match=r"ux-2\.bin: cannot be read"):
        dataset_at(path, {})


@pytest.mark.parametrize(
    ("dt", "told", "expected"),
    [(0.04, "0.4000", 0.4), (1 / 30, "0.3333", 10 / 30), (0.04, "0.9000", 0.9), (0, "0.9", 0.9)],
)
def test_the_time_of_a_step_has_all_digits_where_dt_is_constant(tmp_path, dt, told, expected):
    """snapN.ini has four; where it is another time, dt has changed on the way."""
    (tmp_path / "snap2.ini").write_text(f"[time]\nitime = 10\nt = {told}\n")
    run = SimpleNamespace(dt=dt, step=lambda number: (number, 7.0 * number))
    assert bp._step(tmp_path / "snap2.ini", 2, run) == (10, pytest.approx(expected, rel=1e-15))
    assert bp._step(tmp_path / "snap3.ini", 3, run) == (4, 28.0)
