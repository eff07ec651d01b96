"""The [[output]] blocks, opened by programs other than Tailrace: h5py, VTK, bpls, NumPy."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases, sidecar
from tailrace.io.time_series import read_time_series

ROOT = Path(__file__).parents[3]
NODES = (16, 11, 13)  # x, y, z
LENGTHS = (2.0, 3.0, 1.5)
TIMES = [0.0, 0.013, 0.03, 0.0451]  # no multiples of dt = 0.01, but for two
FIELDS = ["ux", "uy", "uz", "vorticity_z"]
RANKS = 3
COARSE = "start = [1, 0, 0]\nstride = [3, 2, 4]\n[output.parameters]\nbuffers = 2"

# Free of divergence, and tangential to the free-slip walls in y; periodic in x and z.
FLOW = """
import numpy as np
A, B, C = np.pi, np.pi / 3, 4 * np.pi / 3

def velocity(x, y, z):
    phase = A * x + C * z + 0.5
    ux = B * (np.cos(B * y) + 0.8 * np.cos(2 * B * y)) * np.cos(phase)
    uy = A * (np.sin(B * y) + 0.4 * np.sin(2 * B * y)) * np.sin(phase)
    uz = 0.25 * np.cos(2 * B * y) * np.sin(A * x) + 0 * z
    return ux, uy, uz
"""


CASE = f"""
[case]
flow = "flow.py:velocity"
reynolds = 200.0
[grid]
points = {list(NODES)}
lengths = {list(LENGTHS)}
boundaries = ["periodic", "free-slip", "periodic"]
[time]
dt = 0.01
end = 0.05
"""


def block(name, engine, path, precision="float64", rhythm="times", extra=""):
    when = f"times = {TIMES}" if rhythm == "times" else rhythm
    return f"""
[[output]]
name = "{name}"
fields = {json.dumps(FIELDS)}
{when}
engine = "{engine}"
path = "{path}"
precision = "{precision}"
{extra}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("outputs")
    (directory / "flow.py").write_text(FLOW)
    (directory / "case.toml").write_text(
        CASE
        + "[diagnostics]\nevery = 1\n"
        + block("hdf5", "hdf5", "out.h5")
        + block("bp5", "bp5", "out.bp")
        + block("raw", "raw", "out")
        + block("hdf5-single", "hdf5", "single.h5", "float32")
        + block("bp5-single", "bp5", "single.bp", "float32")
        + block("raw-single", "raw", "single", "float32")
        + block("steps", "hdf5", "steps.h5", rhythm="every = 4")
        + block("interval", "hdf5", "interval.h5", rhythm="interval = 0.02")
        + block("nothing", "null", "nothing")
        + block("plane", "hdf5", "plane.h5", extra="start = [0, 5, 0]\ncount = [0, 1, 0]")
        + block(
            "coarse", "raw", "coarse", extra="start = [1, 0, 0]\nstride = [3, 2, 4]\n[output.parameters]\nbuffers = 2"
        )
        + block("closed", "hdf5", "closed.h5", extra="stride = [2, 1, 4]\n[output.parameters]\nclosing = true")
        + block("numbered", "raw", "numbered", rhythm="every = 2", extra="[output.parameters]\nioutput = 2")
    )
    result = mpi_run.tailrace("run", "case.toml", cwd=directory, ranks=RANKS, limit=60)
    assert result.code == 0, result.text
    (directory / "log").write_text(result.out)
    return directory


@pytest.fixture(scope="module")
def initial():
    """The fields at t = 0 as (z, y, x), from the formula."""
    x = np.arange(16) * 2.0 / 16
    y = np.arange(11) * 3.0 / 10
    z = np.arange(13) * 1.5 / 13
    space = {}
    exec(FLOW, space)
    ux, uy, uz = space["velocity"](x[None, None, :], y[None, :, None], z[:, None, None])
    a, b, c = space["A"], space["B"], space["C"]
    phase = a * x[None, None, :] + c * z[:, None, None] + 0.5
    one, two = np.sin(b * y[None, :, None]), 0.4 * np.sin(2 * b * y[None, :, None])
    vorticity = ((a * a + b * b) * one + (a * a + 4 * b * b) * two) * np.cos(phase)
    fields = {"ux": ux, "uy": uy, "uz": uz, "vorticity_z": vorticity}
    return {name: np.broadcast_to(values, (13, 11, 16)) for name, values in fields.items()}


def check_initial(fields, initial, single=False):
    """Up to the order of the schemes: the projection takes away the discrete divergence, which is as small."""
    limits = {"ux": 2e-4, "uy": 2e-4, "uz": 2e-4, "vorticity_z": 5e-3}
    for name, values in fields.items():
        assert values.shape == (13, 11, 16)
        assert values.dtype == (np.float32 if single else np.float64)
        scale = abs(initial[name]).max()
        error = abs(values - initial[name]).max() / scale
        assert error < limits[name], name
        for axis in range(3) if name == "ux" else ():
            assert abs(np.flip(values, axis) - initial[name]).max() > 0.1 * scale, "a mirrored field would not show"


@pytest.mark.parametrize("single", [False, True])
def test_hdf5_by_h5py(run, initial, single):
    with h5py.File(run / ("single.h5" if single else "out.h5")) as file:
        root = file["VTKHDF"]
        assert root.attrs["Type"] in (b"ImageData", "ImageData")
        assert root.attrs["WholeExtent"].tolist() == [0, 15, 0, 10, 0, 12]
        assert root.attrs["Spacing"].tolist() == pytest.approx([2.0 / 16, 3.0 / 10, 1.5 / 13])
        assert root.attrs["Origin"].tolist() == [0, 0, 0]
        assert root["Steps"].attrs["NSteps"] == len(TIMES)
        assert root["Steps/Values"][:].tolist() == TIMES, "times are met exactly"
        assert set(root["PointData"]) == {*FIELDS, "velocity"}
        assert (root["PointData/velocity"][1] == np.stack([root["PointData"][u][1] for u in FIELDS[:3]], axis=-1)).all()
        assert root["PointData/ux"].shape == (len(TIMES), 13, 11, 16)
        check_initial({name: root["PointData"][name][0] for name in FIELDS}, initial, single)


def test_closing_planes_of_what_is_stored_as_a_whole(run):
    with h5py.File(run / "out.h5") as file, h5py.File(run / "closed.h5") as closed:
        stored = file["VTKHDF/PointData/ux"][1][::4, :, ::2]
        assert closed["VTKHDF"].attrs["WholeExtent"].tolist() == [0, 8, 0, 10, 0, 3], "closed in x only: 13 points in z"
        assert (closed["VTKHDF/PointData/ux"][1] == np.pad(stored, [(0, 0), (0, 0), (0, 1)], mode="wrap")).all()
    with tr.open(run / "closed.h5") as series:
        assert series.grid.points == (8, 11, 4)
        assert (series[1].read("ux") == stored).all()


@pytest.mark.parametrize(("name", "rows"), [("out", slice(None)), ("plane", slice(5, 6))])
def test_hdf5_by_vtk(run, initial, name, rows):
    reader_module = pytest.importorskip("vtkmodules.vtkIOHDF")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline

    reader = reader_module.vtkHDFReader()
    reader.SetFileName(str(run / f"{name}.h5"))
    reader.UpdateInformation()
    information = reader.GetOutputInformation(0)
    assert list(information.Get(Pipeline.TIME_STEPS())) == TIMES
    with h5py.File(run / "out.h5") as file:
        for step, time in enumerate(TIMES):
            information.Set(Pipeline.UPDATE_TIME_STEP(), time)
            reader.Update()
            image = reader.GetOutputDataObject(0)
            assert image.GetClassName() == "vtkImageData"
            shown = {one: vtk_to_numpy(image.GetPointData().GetArray(one)) for one in FIELDS}
            data = {one: values.reshape(13, -1, 16) for one, values in shown.items()}
            for one in FIELDS:
                assert (data[one] == file["VTKHDF/PointData"][one][step][:, rows]).all()
            if name == "plane":
                assert image.GetPoint(16 + 3) == pytest.approx((3 * 2.0 / 16, 5 * 3.0 / 10, 1.5 / 13))
                continue
            assert image.GetDimensions() == NODES
            if step == 0:
                check_initial(data, initial)
                i = image.ComputePointId((3, 7, 5))
                assert image.GetPoint(i) == pytest.approx((3 * 2.0 / 16, 7 * 3.0 / 10, 5 * 1.5 / 13))


def bpls(*arguments):
    prefix = subprocess.run(
        [ROOT / "tools/build_adios2.sh", "--prefix"], capture_output=True, text=True, check=False
    ).stdout.strip()
    program = list(Path(prefix, "bin").glob("bpls*")) if prefix else []  # with a suffix of ours
    found = str(program[0]) if program else shutil.which("bpls")
    if not found:
        pytest.skip("there is no bpls")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=240, check=True)
    return done.stdout


@pytest.mark.parametrize("single", [False, True])
def test_bp5_by_bpls(run, initial, single):
    path = str(run / ("single.bp" if single else "out.bp"))
    listing = bpls(path)
    words = {line.split()[1]: line.split() for line in listing.splitlines() if line.strip()}
    for name in FIELDS:
        assert words[name][0] == ("float" if single else "double")
        assert words[name][2:] == [f"{len(TIMES)}*{{13,", "11,", "16}"]
    text = bpls(path, "-d", "time", "-n", "1", "-f", "%.17g")
    assert [float(line.split()[-1]) for line in text.splitlines()[1:] if line.strip()] == TIMES
    fields = {}
    for name in FIELDS:
        text = bpls(path, "-d", name, "-s", "0,0,0,0", "-c", "1,-1,-1,-1", "-n", "1", "-f", "%.17g")
        values = [float(line.split(")")[-1]) for line in text.splitlines()[2:] if line.strip()]
        fields[name] = np.array(values, np.float32 if single else np.float64).reshape(13, 11, 16)
    check_initial(fields, initial, single)
    assert "vtk.xml" in bpls(path, "-la")


@pytest.mark.parametrize("single", [False, True])
def test_raw_by_numpy_and_its_xdmf(run, initial, single):
    directory = run / ("single" if single else "out")
    grids = ElementTree.parse(directory / "series.xdmf").getroot().findall("Domain/Grid/Grid")
    topology = grids[0].find("Topology")
    assert topology.get("TopologyType") == "3DCoRectMesh"
    assert [int(n) for n in topology.get("Dimensions").split()] == [13, 11, 16]
    origin, spacing = ([float(n) for n in item.text.split()] for item in grids[0].find("Geometry"))
    assert origin == [0, 0, 0]
    assert spacing == pytest.approx([1.5 / 13, 3.0 / 10, 2.0 / 16])
    assert [float(grid.find("Time").get("Value")) for grid in grids] == TIMES
    for number, grid in enumerate(grids):
        fields = {}
        for attribute in grid.findall("Attribute"):
            item = attribute.find("DataItem")
            if attribute.get("AttributeType") == "Vector":
                assert [one.text.strip()[2:4] for one in item] == ["ux", "uy", "uz"]
                continue
            assert item.get("Format") == "Binary"
            dims = [int(n) for n in item.get("Dimensions").split()]
            kind = {"4": np.float32, "8": np.float64}[item.get("Precision")]
            path = directory / item.text.strip()
            assert path.name == f"{attribute.get('Name')}-{number + 1}.bin", "Xcompact3D's names"
            assert path.stat().st_size == np.prod(dims) * np.dtype(kind).itemsize
            fields[attribute.get("Name")] = np.fromfile(path, kind).reshape(dims)
        assert set(fields) == set(FIELDS)
        if number == 0:
            check_initial(fields, initial, single)


def test_all_engines_hold_the_same(run):
    with h5py.File(run / "out.h5") as file, h5py.File(run / "single.h5") as single:
        for step, entry in enumerate(sidecar.read(run / "out")["steps"]):
            for variable in entry["variables"]:
                raw = np.fromfile(run / "out" / variable["file"]).reshape(13, 11, 16)
                stored = file["VTKHDF/PointData"][variable["name"]][step]
                assert (raw == stored).all()
                assert (raw.astype(np.float32) == single["VTKHDF/PointData"][variable["name"]][step]).all()


def test_rhythms(run):
    rows = read_time_series(run / "time_series.csv")
    times = dict(zip(rows["step"].tolist(), rows["time"].tolist(), strict=True))
    # Steps of 0.01, shortened to meet the times of the outputs and the end.
    assert set(TIMES) <= set(times.values())
    assert times[max(times)] == 0.05
    assert rows["dt"].max() <= 0.01 * (1 + 1e-9)
    assert np.allclose(np.diff(rows["time"]), rows["dt"][1:], rtol=0, atol=1e-15)
    with h5py.File(run / "interval.h5") as file:
        assert file["VTKHDF/Steps/Values"][:].tolist() == [0.0, 0.02, 0.04]
    with h5py.File(run / "steps.h5") as file:
        index = file["Tailrace/index"][:].tolist()
        assert index == [step for step in times if step % 4 == 0]
        assert file["VTKHDF/Steps/Values"][:].tolist() == [times[step] for step in index]
    numbered = sidecar.read(run / "numbered")["steps"]
    assert [step["number"] for step in numbered] == [step["index"] // 2 for step in numbered]
    assert (run / "numbered" / "ux-2.bin").exists()


def test_planes_and_every_nth_point(run):
    told = sidecar.read(run / "coarse")
    assert told["grid"]["points"] == [4, 6, 5]
    assert np.allclose(told["grid"]["spacing"], [1.5 / 13 * 4, 0.3 * 2, 0.125 * 3])
    assert np.allclose(told["grid"]["origin"], [0, 0, 0.125])
    with h5py.File(run / "out.h5") as file, h5py.File(run / "plane.h5") as plane:
        for name in FIELDS:
            whole = file["VTKHDF/PointData"][name][:]
            assert (plane["Fields"][name][:] == whole[:, :, 5:6, :]).all()
            assert (plane["VTKHDF/PointData"][name][:] == whole[:, :, 5, :]).all()
            for step, entry in enumerate(told["steps"]):
                (stored,) = (variable for variable in entry["variables"] if variable["name"] == name)
                coarse = np.fromfile(run / "coarse" / stored["file"]).reshape(stored["shape"])
                assert (coarse == whole[step, ::4, ::2, 1::3]).all()
        assert plane["VTKHDF"].attrs["WholeExtent"].tolist() == [0, 15, 0, 12, 0, 0], "x, z and the direction of one"
        assert plane["VTKHDF"].attrs["Origin"].tolist() == [0, 1.5, 0]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("start = [16, 0, 0]", "output[0] ('small').start: 16 in x is outside the field, whose points are 0 to 15"),
        ("count = [0, 0, 4]\nstride = [1, 1, 4]\nstart = [0, 0, 1]", "go beyond the last, 12; 3 fit"),
        ("stride = [0, 1, 1]", "output[0] ('small').stride[0]: must be at least 1 (found 0)"),
    ],
)
def test_regions_that_the_grid_does_not_have(tmp_path, keys, says):
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "case.toml").write_text(CASE + block("small", "hdf5", "small.h5", extra=keys))
    result = mpi_run.tailrace("case", "case.toml", cwd=tmp_path, limit=60)
    assert result.code != 0
    assert says in result.text


def test_the_run_says_where_the_time_of_its_outputs_went(run):
    text = (run / "log").read_text()
    for path in ("out.h5", "out.bp", "coarse", "plane.h5"):
        assert path in text
    rows = [line.split() for line in text[text.index("coarse: coarse") :].splitlines()]
    found = {row[0]: row[1:] for row in rows[2:8] if len(row) >= 5}
    for phase in ("copy", "write"):  # what the run waited for, and what the background did meanwhile
        calls, moved, unit, low, mean, high = found[phase]
        assert int(calls) == RANKS * len(TIMES) * len(FIELDS)
        assert unit == "KiB" and abs(float(moved) * 1024 - 8 * 4 * 6 * 5 * len(TIMES) * len(FIELDS)) < 100
        assert float(low) <= float(mean) <= float(high)


def test_null_leaves_nothing(run):
    assert not (run / "nothing").exists()


def test_what_the_files_say_of_the_run(run):
    attributes = sidecar.read(run / "out")["attributes"]
    assert attributes["reynolds"] == 200.0
    assert attributes["dt"] == 0.01
    with h5py.File(run / "out.h5") as file:
        assert file["Tailrace/attributes"].attrs["reynolds"] == 200.0


def test_parameters_that_no_engine_knows(tmp_path):
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "case.toml").write_text(CASE + block("raw", "raw", "out", extra="[output.parameters]\nioutpt = 2"))
    result = mpi_run.tailrace("run", "case.toml", cwd=tmp_path, ranks=2, limit=60)
    assert result.code == 1
    assert "ioutpt" in result.err
    assert "ioutput" in result.err


@pytest.mark.parametrize("engine", ["adios_hdf5", "bp4", "bp5", "hdf5", "raw", "sion"])
@pytest.mark.parametrize("buffers", [0, 2])
def test_resume_at_the_end_changes_nothing(tmp_path, engine, buffers):
    """No step is due then: ADIOS2 wrote an empty one to bp4, after which nobody could read the series."""
    case = cases.write_case(tmp_path, steps=6, every=3, outputs=(engine,))
    case.write_text(f"{case.read_text()}[output.parameters]\nbuffers = {buffers}\n")
    place = next(
        tmp_path / line.split('"')[1] for line in case.read_text().splitlines() if line.startswith('path = "out')
    )
    for arguments, steps in (([], 6), (["--resume"], 6), (["--resume"], 6), (["--resume", "--set=time.steps=10"], 10)):
        assert cases.run(case, *arguments, ranks=2).code == 0
        with tr.open(place) as series:
            assert series.verify() == []
            assert [step.index for step in series] == list(range(0, steps + 1, 2))
