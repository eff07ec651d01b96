"""Writing runs of Xcompact3D, read back by numpy and by the reader."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.xcompact3d_files import DT, EVERY, NX, NY, NZ, field, make_checkpoint, make_run
from tailrace import InputError


def arrays_of(directory):
    return {path.name: path.read_bytes() for path in (directory / "data").glob("*.bin")}


@pytest.mark.parametrize("dtype", ["<f8", "<f4"])
@pytest.mark.parametrize("basic", ["", "istret = 2\nbeta = 0.259065151"])
def test_there_and_back_is_the_identity(tmp_path, dtype, basic):
    names = ("ux", "uy", "uz", "pp", "phi01")
    run = make_run(tmp_path / "run", (1, 3), names, dtype=dtype, basic=f"numscalar = 1\n{basic}")
    tr.convert(run, tmp_path / "there.h5")
    tr.convert(tmp_path / "there.h5", tmp_path / "back", format="xcompact3d")
    assert arrays_of(tmp_path / "back") == arrays_of(run)
    with tr.open(run) as a, tr.open(tmp_path / "back") as b:
        assert [(step.index, step.time) for step in a] == [(step.index, step.time) for step in b]
        assert a.grid == b.grid
        assert {**a.attributes, "irestart": 0} == b.attributes


def test_the_restart_file(tmp_path):
    run = make_run(tmp_path / "run", (1, 2), ("ux", "uy", "uz", "pp", "phi01"), basic="numscalar = 1")
    tr.convert(run, tmp_path / "new", format="xcompact3d")
    whole = np.fromfile(tmp_path / "new" / "checkpoint")
    count = NX * NY * NZ
    cells = NX * (NY - 1) * NZ
    for at, name in enumerate(("ux", "uy", "uz")):
        np.testing.assert_array_equal(whole[at * count : (at + 1) * count], field(2, name).ravel())
    np.testing.assert_array_equal(whole[3 * count + cells :], field(2, "phi01").ravel())
    info = (tmp_path / "new" / "restart.info").read_text()
    assert re.search(r"tfield= 0\.4\n", info)
    assert re.search(r"itime= 40\n", info)


def test_the_pressure_on_cells_is_smooth_and_scaled(tmp_path):
    run = make_run(tmp_path / "run", (2,))
    x, y, z = (np.arange(n) for n in (NX, NY, NZ))

    def wave(x, y, z):
        return np.cos(2 * np.pi * x / NX + 0.3) * np.cos(np.pi * y / (NY - 1)) * np.sin(2 * np.pi * z / NZ + 0.2)

    wave(x, y[:, None], z[:, None, None]).tofile(run / "data" / "pp-2.bin")
    tr.convert(run, tmp_path / "new", format="xcompact3d")
    count = NX * NY * NZ
    found = np.fromfile(tmp_path / "new" / "checkpoint")[3 * count :].reshape(NZ, NY - 1, NX)
    exact = wave(x + 0.5, y[:-1, None] + 0.5, z[:, None, None] + 0.5)
    np.testing.assert_allclose(found / (DT / 3), exact, atol=3e-3)


@pytest.mark.parametrize(
    ("scheme", "names"), [(5, "ux uy uz pp"), (3, "ux uy uz dux-2 duy-2 duz-2 dux-3 duy-3 duz-3 pp")]
)
def test_restart_files_are_copied_as_they_are(tmp_path, scheme, names):
    run = make_run(tmp_path / "run", (), ())
    make_checkpoint(run, names.split(), (NX, NY - 1, NZ), scheme=scheme)
    tr.convert(run / "checkpoint", tmp_path / "new", format="xcompact3d")
    assert (tmp_path / "new" / "checkpoint").read_bytes() == (run / "checkpoint").read_bytes()


LMN = "ux uy uz pp rho-01 rho-02 rho-03 drho-01 drho-02 mu"


@pytest.mark.parametrize(
    ("basic", "more", "names"),
    [("ilmn = T", "&LMN\n/End\n", LMN),
     ("mhd_active = T", "&MHDParam\nmhd_equation = 'induction'\n/End\n", "ux uy uz pp bx by bz")],
    ids=["low Mach", "induction"],
)  # fmt: skip
def test_restart_files_of_other_flows_can_be_read_again(tmp_path, basic, more, names):
    run = make_run(tmp_path / "run", (), (), basic=basic)
    (run / "input.i3d").write_text((run / "input.i3d").read_text() + more)
    arrays = make_checkpoint(run, names.split(), (NX, NY - 1, NZ))
    tr.convert(run / "checkpoint", tmp_path / "new", format="xcompact3d")
    with tr.open(tmp_path / "new" / "checkpoint") as series:
        assert set(series[0].variables) == set(names.split())
        for name, array in arrays.items():
            np.testing.assert_array_equal(series[0].read(name), array)


def test_snapshots_of_a_low_mach_run_make_no_restart_file(tmp_path):
    run = make_run(tmp_path / "run", (1,), ("ux", "uy", "uz", "rho"), basic="ilmn = T")
    tr.convert(run, tmp_path / "new", format="xcompact3d")
    text = (tmp_path / "new" / "input.i3d").read_text()
    assert "ilmn = T\n" in text and "&LMN\n" in text
    assert "no restart file is written: snapshots do not have the densities of earlier steps" in text
    assert not (tmp_path / "new" / "checkpoint").exists()


@pytest.mark.parametrize("known", [True, False])
def test_schmidt_numbers(tmp_path, known):
    run = make_run(tmp_path / "run", (1,), ("phi01", "phi02"), basic="numscalar = 2")
    group = "&ScalarParam\nsc(1) = 0.7\nsc(2) = 1.5\n/End\n" if known else ""
    (run / "input.i3d").write_text((run / "input.i3d").read_text() + group)
    tr.convert(run, tmp_path / "new", format="xcompact3d")
    text = (tmp_path / "new" / "input.i3d").read_text()
    assert ("&ScalarParam\nsc = 0.7, 1.5\n/End" if known else "&ScalarParam\n! sc, the Schmidt") in text
    with tr.open(tmp_path / "new") as series:
        assert list(series.attributes.get("sc", [])) == ([0.7, 1.5] if known else [])


def test_three_ranks_write_the_same_as_one(tmp_path, tailrace):
    make_run(tmp_path / "run")
    for ranks in (1, 3):
        tailrace(tmp_path, "convert", "run", f"new{ranks}", "--format", "xcompact3d", ranks=ranks)
    one, three = (
        {p.relative_to(d): p.read_bytes() for p in d.rglob("*") if p.is_file()}
        for d in (tmp_path / "new1", tmp_path / "new3")
    )
    assert one == three
    assert len(one) == 8 + 2 + 3


def writer(path, comm, grid, **options):
    from tailrace.formats.xcompact3d.writer import Xcompact3dWriter

    attributes = {"dt": DT, "ioutput": EVERY}
    return Xcompact3dWriter(str(path), comm, grid=grid, attributes=attributes, options=options)


GRID = tr.UniformGrid((NX, NY, NZ), spacing=(0.5, 0.25, 0.5), boundaries=("periodic", "dirichlet", "periodic"))


def write_step(out, index, time, **variables):
    from tailrace.io.placement import Box, Stored

    stored = {name: Stored(array.dtype.name, array.shape[::-1], False) for name, array in variables.items()}
    out.begin_step(index, time, stored, {})
    for name, array in variables.items():
        out.write(name, Box((0, 0, 0), array.shape[::-1]), array)
    out.end_step()


def test_times_that_are_no_multiples_of_dt_are_kept(tmp_path):
    from mpi4py import MPI

    out = writer(tmp_path / "new", MPI.COMM_SELF, GRID)
    write_step(out, 20, 0.2, ux=field(1))
    write_step(out, 60, 0.61234567890123, ux=field(3))
    out.close()
    with tr.open(tmp_path / "new") as series:
        assert [(step.index, step.time) for step in series] == [(20, 0.2), (60, 0.61234567890123)]
    assert {path.name for path in (tmp_path / "new" / "data").iterdir()} == {
        "ux-1.bin", "ux-3.bin", "snapshot-1.xdmf", "snapshot-3.xdmf",
    }  # fmt: skip
    assert "no restart file is written: there is no velocity" in (tmp_path / "new" / "input.i3d").read_text()


def test_what_the_format_cannot_hold(tmp_path):
    from mpi4py import MPI

    from tailrace.grids import StretchedGrid
    from tailrace.io.placement import Stored

    out = writer(tmp_path / "new", MPI.COMM_SELF, GRID)
    shape = (NX, NY, NZ)
    for index, variables, message in [
        (20, {"ux": Stored("int32", shape, False)}, r"'ux': files of Xcompact3D hold .*; found int32"),
        (20, {"ux": Stored("float64", (3, 5, 1), True)}, "found a list"),
        (20, {"ux": Stored("float64", (3, 5, 1), False)}, r"'ux': has \(3, 5, 1\) points"),
        (20, {"a/b": Stored("float64", shape, False)}, "cannot be the name of a file"),
        (20, {}, "must have a variable"),
    ]:
        with pytest.raises(InputError, match=message):
            out.begin_step(index, 0.2, variables, {})
    write_step(out, 20, 0.2, ux=field(1))
    with pytest.raises(InputError, match="step 30: is no multiple of ioutput = 20"):
        write_step(out, 30, 0.3, ux=field(1))
    with pytest.raises(InputError, match=r"ux-1.bin is there already, and nothing is replaced"):
        write_step(out, 20, 0.2, ux=field(2))
    np.testing.assert_array_equal(np.fromfile(tmp_path / "new" / "data" / "ux-1.bin"), field(1).ravel())
    with pytest.raises(InputError, match="format 'xcompact3d' has no option 'colour'; it has checkpoint"):
        writer(tmp_path / "other", MPI.COMM_SELF, GRID, colour="red")
    with pytest.raises(InputError, match="grids of Xcompact3D begin at 0"):
        write_step(writer(tmp_path / "o", MPI.COMM_SELF, tr.UniformGrid(shape, (1.0, 0, 0))), 20, 0.2, ux=field(1))
    stretched = StretchedGrid(shape, coordinates=((), np.linspace(0, 1, NY) ** 2, ()))
    with pytest.raises(InputError, match="stretches y by its own law only"):
        write_step(writer(tmp_path / "o", MPI.COMM_SELF, stretched), 20, 0.2, ux=field(1))
    assert not (tmp_path / "o").exists()


def test_a_step_that_is_abandoned_leaves_nothing(tmp_path):
    from mpi4py import MPI

    from tailrace.io.placement import Stored

    out = writer(tmp_path / "new", MPI.COMM_SELF, GRID)
    out.begin_step(20, 0.2, {"ux": Stored("float64", (NX, NY, NZ), False)}, {})
    out.abandon_step()
    out.abandon_step()
    assert [path.name for path in (tmp_path / "new").rglob("*")] == ["data"]


def test_the_xdmf_can_be_read_without_us(tmp_path):
    run = make_run(tmp_path / "run")
    tr.convert(run, tmp_path / "new", format="xcompact3d")
    root = ET.parse(tmp_path / "new" / "data" / "snapshot-2.xdmf").getroot()
    assert root.find("Domain/Grid/Topology").get("Dimensions") == f"{NZ} {NY} {NX}"
    files = {one.get("Name"): one.find("DataItem").text.strip() for one in root.iter("Attribute")}
    for name, file in files.items():
        values = np.fromfile(tmp_path / "new" / "data" / file).reshape(NZ, NY, NX)
        np.testing.assert_array_equal(values, field(2, name))
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkXdmfReader()
    reader.SetFileName(str(tmp_path / "new" / "data" / "snapshot-2.xdmf"))
    reader.Update()
    data = reader.GetOutputDataObject(0)
    while data.IsA("vtkMultiBlockDataSet"):
        data = data.GetBlock(0)
    assert data.GetDimensions() == (NX, NY, NZ)
    np.testing.assert_allclose(data.GetBounds(), [0, 5.5, 0, 2, 0, 4.5], rtol=1e-6)
    np.testing.assert_array_equal(vtk_to_numpy(data.GetPointData().GetArray("uy")), field(2, "uy").ravel())
