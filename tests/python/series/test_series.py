"""Series from Python, and read by other programs: h5py, VTK, numpy, bpls."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from helpers.inputs import sidecar
from helpers.programs.series import failed_steps, io_programs
from tailrace.core import InputError, IoError
from tailrace.io import series as tr

NX, NY, NZ = 17, 12, 9
GRID = tr.UniformGrid((NX, NY, NZ), (0.5, -1.0, 2.0), (0.1, 0.2, 0.3))
PATHS = {
    "raw": "run",
    "hdf5": "run.vtkhdf",
    "adios_hdf5": "run.adios_hdf5",
    "bp4": "run.bp4",
    "bp5": "run.bp",
    "sion": "run.sion",
}
ENGINES = list(PATHS)


def field(salt: float = 0.0, shape: tuple[int, int, int] = (NX, NY, NZ)) -> np.ndarray:
    """i + 100 j + 10000 k + salt: all directions differ."""
    nx, ny, nz = shape
    return np.arange(nx) + 100.0 * np.arange(ny)[:, None] + 10000.0 * np.arange(nz)[:, None, None] + salt


def write(path: Path, steps: int = 3, **options) -> Path:
    with tr.open(path, "w", grid=GRID, **options) as out:
        out.set_attribute("case", "tgv")
        for step in range(steps):
            out.write_step(
                0.5 * step,
                index=10 * step,
                ux=field(step),
                uy=field(-step).astype(np.float32),
                pc=field(step, (NX - 1, NY - 1, NZ - 1)),
                half=field(step, (NX, 3, 2)),
                scalars={"energy": 0.125 / (step + 1)},
            )
    return path


def tool(*names: str) -> str | None:
    """The first of some programs that is there: on the path, or where ADIOS2 was built."""
    places = [
        os.environ.get("PATH", ""),
        *(str(p) for p in Path("~/.cache/tailrace").expanduser().glob("adios2-*/bin")),
    ]
    return next((found for name in names if (found := shutil.which(name, path=os.pathsep.join(places)))), None)


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    return request.param


def test_round_trip(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    series = tr.open(path)
    assert series.engine == engine
    assert [(s.index, s.time) for s in series] == [(0, 0.0), (10, 0.5), (20, 1.0)]
    assert list(series.times) == [0.0, 0.5, 1.0]
    step = series[-1]
    assert set(step.names) == {"ux", "uy", "pc", "half"} and "ux" in step and "uz" not in step
    np.testing.assert_array_equal(step["ux"], field(2))
    np.testing.assert_array_equal(step["uy"], field(-2).astype(np.float32))
    np.testing.assert_array_equal(step["pc"], field(2, (NX - 1, NY - 1, NZ - 1)))
    np.testing.assert_array_equal(step["half"], field(2, (NX, 3, 2)))
    np.testing.assert_array_equal(step.read("ux", ((3, 2, 1), (4, 5, 6))), field(2)[1:7, 2:7, 3:7])
    assert step["uy"].dtype == np.float32
    assert step.scalars == {"energy": 0.125 / 3}
    assert series.attributes == {"case": "tgv"}
    assert series.grid == GRID
    assert series.verify() == []
    assert len(series) == 3 and len(series[1:]) == 2


def test_repr_tells_what_is_there(tmp_path, engine):
    text = repr(tr.open(write(tmp_path / PATHS[engine])))
    assert engine in text and "3 steps" in text and "time 0 to 1" in text
    assert re.search(r"ux +float64 \(z, y, x\) = \(9, 12, 17\)", text)


def test_ghosts_are_not_written(tmp_path, engine):
    ghosts = (2, 0, 1)
    data = np.full((NZ + 2, NY, NX + 4), np.nan)
    data[1:-1, :, 2:-2] = field()
    with tr.open(tmp_path / PATHS[engine], "w") as out:
        out.write_step(0.0, ux=tr.Block(data, (NX, NY, NZ), (0, 0, 0), ghosts))
    np.testing.assert_array_equal(tr.open(tmp_path / PATHS[engine])[0]["ux"], field())


def test_any_view_of_an_array_is_written(tmp_path, engine):
    read_only = field()
    read_only.flags.writeable = False
    with tr.open(tmp_path / PATHS[engine], "w") as out:
        out.write_step(0.0, a=read_only, b=np.asfortranarray(read_only), c=field(1)[:, :, ::-1])
    step = tr.open(tmp_path / PATHS[engine])[0]
    np.testing.assert_array_equal(step["a"], read_only)
    np.testing.assert_array_equal(step["b"], read_only)
    np.testing.assert_array_equal(step["c"], field(1)[:, :, ::-1])


def test_append_with_rewind(tmp_path, engine):
    path = write(tmp_path / PATHS[engine], 4)
    with tr.open(path, "a", rewind_to=15) as out:
        assert len(out) == 2
        for step in (2, 3, 4):
            out.write_step(
                0.5 * step,
                index=10 * step,
                ux=field(step + 0.5),
                uy=field(0).astype(np.float32),
                pc=field(0, (NX - 1, NY - 1, NZ - 1)),
                half=field(0, (NX, 3, 2)),
            )
    series = tr.open(path)
    assert [s.index for s in series] == [0, 10, 20, 30, 40]
    assert [s["ux"][0, 0, 0] for s in series] == [0.0, 1.0, 2.5, 3.5, 4.5]
    assert series.verify() == []


def test_precision(tmp_path, engine):
    with tr.open(tmp_path / PATHS[engine], "w", precision="float32") as out:
        out.write_step(0.0, ux=field(0.1))
    stored = tr.open(tmp_path / PATHS[engine])[0]["ux"]
    assert stored.dtype == np.float32
    np.testing.assert_array_equal(stored, field(0.1).astype(np.float32))


def test_errors(tmp_path, engine):
    path = tmp_path / PATHS[engine]
    with pytest.raises(IoError, match="does not exist"):
        tr.open(path, engine=engine)
    with pytest.raises(OSError, match="does not exist"):
        tr.open(tmp_path / "no" / path.name, "w")
    with pytest.raises(InputError, match="did you mean 'checksums'"):
        tr.open(path, "w", parameters={"cheksums": True})
    with pytest.raises(ValueError, match="unknown mode"):
        tr.open(path, "v")
    out = tr.open(path, "w")
    with pytest.raises(InputError, match="found object"):
        out.write_step(0.0, ux=np.zeros((2, 2, 2), object))
    with pytest.raises(InputError, match="nz, ny, nx"):
        out.write("ux", np.zeros(3))
    out.close()
    with pytest.raises(InputError, match="closed"):
        out.begin_step(1, 1.0)
    write(path)
    with pytest.raises(InputError, match="did you mean 'ux'"):
        tr.open(path)[0]["uxx"]
    with pytest.raises(IndexError):
        tr.open(path)[3]


def test_an_exception_drops_the_open_step(tmp_path, engine):
    path = tmp_path / PATHS[engine]
    with pytest.raises(ZeroDivisionError), tr.open(path, "w") as out:
        out.write_step(0.0, ux=field())
        out.begin_step(1, 1.0)
        out.write("ux", field(1))
        raise ZeroDivisionError
    assert len(tr.open(path)) == 1


@pytest.mark.parametrize("mode", ["w", "a"])
def test_an_exception_lets_go_and_an_end_closes(tmp_path, engine, mode):
    """Closing is collective, and stores what is not in a step yet; one rank that has failed alone can do neither."""
    path = tmp_path / PATHS[engine]
    for error in (ZeroDivisionError, KeyboardInterrupt, None):
        if mode == "a":
            write(path, 1)
        with contextlib.suppress(ZeroDivisionError, KeyboardInterrupt), tr.open(path, mode, engine=engine) as out:
            out.write_step(9.0, index=90, ux=field())
            out.set_attribute("late", 1)
            if error is not None:
                raise error
        with pytest.raises(InputError, match="closed"):
            out.begin_step(91, 9.5)
        out.close()
        with tr.open(path) as stored:
            assert stored[-1].index == 90
            assert stored.attributes.get("late") == (1 if error is None else None)
        tr.open(path, "w", engine=engine).close()  # nobody holds it


@pytest.mark.parametrize("engine", ["raw", "hdf5", "bp5"])
def test_a_rank_that_fails_alone_waits_for_nobody(tmp_path, three, engine):
    path = tmp_path / PATHS[engine]
    three.results(failed_steps.leave_alone, limit=30, path=str(path), engine=engine)
    with tr.open(path) as stored:
        assert [step.index for step in stored] == [1]


def test_null_counts_and_writes_nothing(tmp_path):
    path = tmp_path / "run"
    with tr.open(path, "w", engine="null", grid=GRID, precision="float32") as out:
        for step in range(3):
            out.write_step(0.5 * step, ux=field(step), scalars={"energy": 1.0})
        with pytest.raises(InputError, match="cannot follow"):
            out.begin_step(1, 1.0)
        assert out.counters["bytes_written"] == 3 * 4 * NX * NY * NZ
        assert out.counters["steps"] == len(out) == 3
        assert "null, writing, 3 steps" in repr(out)
    assert list(tmp_path.iterdir()) == []
    for mode in ("r", "a"):
        with pytest.raises(InputError, match="the engine null keeps nothing"):
            tr.open(path, mode, engine="null")


# ---- other people's readers --------------------------------------------------------------------


def test_h5py_reads_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(write(tmp_path / "run.h5")) as file:
        vtk = file["VTKHDF"]
        assert vtk.attrs["Type"] == b"ImageData"
        assert list(vtk.attrs["WholeExtent"]) == [0, NX - 1, 0, NY - 1, 0, NZ - 1]
        assert vtk["Steps"].attrs["NSteps"] == 3
        np.testing.assert_array_equal(vtk["Steps/Values"], [0.0, 0.5, 1.0])
        np.testing.assert_array_equal(vtk["PointData/ux"][2], field(2))
        np.testing.assert_array_equal(vtk["CellData/pc"][1], field(1, (NX - 1, NY - 1, NZ - 1)))
        np.testing.assert_array_equal(file["Fields/half"][1], field(1, (NX, 3, 2)))
        np.testing.assert_array_equal(file["Tailrace/index"], [0, 10, 20])
        np.testing.assert_array_equal(file["Tailrace/scalars/energy"], [0.125, 0.0625, 0.125 / 3])
        assert file["Tailrace/attributes"].attrs["case"] == b"tgv"
        assert vtk["PointData/uy"].dtype == np.float32


def test_vtk_reads_hdf5(tmp_path):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    path = write(tmp_path / "run.vtkhdf", 4)
    with tr.open(path, "a", rewind_to=20):  # the data of the fourth step stay in the file, uncounted
        pass
    reader = vtk.vtkHDFReader()
    assert reader.CanReadFile(str(path))
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    assert times == (0.0, 0.5, 1.0)
    for step, moment in enumerate(times):
        reader.UpdateTimeStep(moment)
        image = reader.GetOutput()
        assert image.GetDimensions() == (NX, NY, NZ)
        np.testing.assert_allclose(image.GetOrigin(), GRID.origin)
        np.testing.assert_allclose(image.GetSpacing(), GRID.spacing)
        ux = vtk_to_numpy(image.GetPointData().GetArray("ux")).reshape(NZ, NY, NX)
        np.testing.assert_array_equal(ux, field(step))
        pc = vtk_to_numpy(image.GetCellData().GetArray("pc")).reshape(NZ - 1, NY - 1, NX - 1)
        np.testing.assert_array_equal(pc, field(step, (NX - 1, NY - 1, NZ - 1)))


def test_numpy_reads_raw(tmp_path):
    path = write(tmp_path / "run")
    np.testing.assert_array_equal(np.fromfile(path / "ux-3.bin").reshape(NZ, NY, NX), field(2))
    for step in sidecar.read(path)["steps"]:
        for variable in step["variables"]:
            data = np.fromfile(path / variable["file"], dtype=variable["type"])
            assert data.size == np.prod(variable["shape"])
    assert {p.name for p in path.glob("*.bin")} == {
        f"{v}-{n}.bin" for v in ("ux", "uy", "pc", "half") for n in (1, 2, 3)
    }


def test_raw_numbers_files_as_xcompact3d(tmp_path):
    with tr.open(tmp_path / "run", "w", parameters={"ioutput": 5}) as out:
        out.write_step(0.0, index=0, ux=field())
        out.write_step(1.0, index=10, ux=field())
        with pytest.raises(InputError, match="no multiple of ioutput"):
            out.write_step(1.0, index=12, ux=field())
    assert sorted(p.name for p in (tmp_path / "run").glob("*.bin")) == ["ux-0.bin", "ux-2.bin"]


def test_new_raw_series_leaves_strangers_alone(tmp_path):
    path = write(tmp_path / "run")
    (path / "notes.txt").write_text("mine")
    write(path, 1)
    assert {p.name for p in path.glob("ux-*")} == {"ux-1.bin"}
    assert (path / "notes.txt").exists()


def test_xdmf_is_well_formed(tmp_path):
    path = write(tmp_path / "run")
    root = ET.parse(path / "snapshot-2.xdmf").getroot()
    assert root.find("Domain/Grid/Topology").get("Dimensions") == f"{NZ} {NY} {NX}"
    assert [a.get("Name") for a in root.iter("Attribute")] == ["ux", "uy"]  # pc and half lie on other points
    for item in root.iter("DataItem"):
        if item.get("Format") == "Binary":
            assert (path / item.text.strip()).stat().st_size == int(item.get("Precision")) * NX * NY * NZ
    series = ET.parse(path / "series.xdmf").getroot()
    assert [float(t.get("Value")) for t in series.iter("Time")] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", ["snapshot-3.xdmf", "series.xdmf"])
def test_vtk_reads_xdmf(tmp_path, name):
    vtk = pytest.importorskip("vtk")
    if not hasattr(vtk, "vtkXdmfReader"):
        pytest.skip("this VTK has no XDMF reader")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkXdmfReader()
    reader.SetFileName(str(write(tmp_path / "run") / name))
    reader.UpdateInformation()
    reader.UpdateTimeStep(1.0)
    data = reader.GetOutputDataObject(0)
    while data.IsA("vtkMultiBlockDataSet"):
        data = data.GetBlock(0)
    assert data.GetDimensions() == (NX, NY, NZ)
    np.testing.assert_allclose(data.GetBounds(), [0.5, 0.5 + 0.1 * 16, -1, -1 + 0.2 * 11, 2, 2 + 0.3 * 8])
    np.testing.assert_array_equal(vtk_to_numpy(data.GetPointData().GetArray("ux")).reshape(NZ, NY, NX), field(2))


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_bpls_reads_bp(tmp_path, engine):
    bpls = tool("bpls_tailrace", "bpls")
    if bpls is None:
        pytest.skip("no bpls")
    path = write(tmp_path / PATHS[engine], parameters={"StatsLevel": 1})
    text = subprocess.run([bpls, "-l", path], capture_output=True, text=True, check=True).stdout
    assert re.search(r"double +ux +3\*\{9, 12, 17\} = 0 / 81118", text)
    assert re.search(r"float +uy +3\*\{9, 12, 17\}", text)
    assert re.search(r"double +time +3\*scalar = 0 / 1\b", text)
    assert re.search(r"int64_t +step +3\*scalar = 0 / 20", text)
    command = [bpls, "-d", "-n", "1", "-s", "1,2,3,4", "-c", "1,1,1,1", path, "ux"]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "20305" in dump  # step 1 at k = 2, j = 3, i = 4
    xml = subprocess.run([bpls, "-a", "-d", path, "vtk.xml"], capture_output=True, text=True, check=True).stdout
    assert f'WholeExtent="0 {NZ - 1} 0 {NY - 1} 0 {NX - 1}"' in xml and 'Name="uy"' in xml and 'Name="pc"' not in xml


def test_bp5_leaves_no_profile_in_tmp(tmp_path):
    """ADIOS2's reader puts one there when it is closed."""
    path = tmp_path / f"profile-of-{os.getpid()}.bp"
    write(path)
    with tr.open(path, "a") as out:
        out.write_step(9.0, ux=field(9))
    with tr.open(path) as series:
        assert series[-1].verify() == []
    assert list(Path("/tmp").glob(f"{path.name}*")) == []


def test_h5py_reads_adios_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = write(tmp_path / "run.adios_hdf5")
    with h5py.File(path / "step-00000010.h5") as file:
        np.testing.assert_array_equal(file["Step0/ux"][()], field(1))
        assert (file["Step0/step"][()], file["Step0/time"][()]) == (10, 0.5)


# ---- several ranks ------------------------------------------------------------------------------


def test_blocks_of_several_ranks(tmp_path, three, engine):
    three.results(io_programs.write_planes, path=str(tmp_path / PATHS[engine]), shape=[NX, NY, NZ])
    series = tr.open(tmp_path / PATHS[engine])
    assert len(series) == 1
    np.testing.assert_array_equal(series[0]["ux"], field())
