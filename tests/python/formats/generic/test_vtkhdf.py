"""VTKHDF of VTK itself and of programs that follow its page: images, and grids whose points or cells may change."""

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.of_dataset import read
from tailrace.formats.generic import dataset_at, vtkhdf
from tailrace.grids import UniformGrid
from tailrace.io.placement import Box

TIMES = (0.5, 1.0, 1.75)
U = np.arange(60.0).reshape(3, 4, 5)  # (nz, ny, nx)
BOX = Box((1, 2, 0), (3, 2, 2))
PART = (slice(0, 2), slice(2, 4), slice(1, 4))


def test_vtkhdf_images_with_offsets(open_file):
    vectors = np.arange(360.0).reshape(2, 3, 4, 5, 3)

    def write(file):
        group = file.create_group("VTKHDF")
        group.attrs.update({"Version": [2, 0], "Type": np.bytes_("ImageData"), "WholeExtent": [2, 6, 0, 3, 0, 2]})
        group.attrs.update({"Origin": [0.0, 1.0, 2.0], "Spacing": [0.5, 0.25, 1.0]})
        group["PointData/p"], group["PointData/v"] = np.stack([U, U + 1]), vectors
        group["Steps/Values"] = [0.5, 0.75]
        group["Steps/PointDataOffsets/p"], group["Steps/PointDataOffsets/v"] = [1, 0], [0, 1]

    found = open_file(write, "x.vtkhdf")
    assert found.steps == [(0, 0.5), (1, 0.75)]
    assert np.array_equal(read(found, 0, "p", BOX), U[PART] + 1)
    assert np.array_equal(read(found, 1, "v_z"), vectors[1, ..., 2])
    assert found.grid == UniformGrid((5, 4, 3), (1.0, 1.0, 2.0), (0.5, 0.25, 1.0))


def test_vtkhdf_grids_with_offsets(open_file):
    def write(file):
        group = file.create_group("VTKHDF")
        group.attrs.update({"Version": [2, 0], "Type": np.bytes_("UnstructuredGrid")})
        group["NumberOfPoints"], group["NumberOfCells"] = [3, 4, 5], [1, 1, 2]
        group["NumberOfConnectivityIds"] = [3, 4, 8]
        group["Points"], group["PointData/T"] = np.arange(36.0).reshape(12, 3), np.arange(12.0)
        group["CellData/q"], group["Connectivity"] = np.arange(4), np.arange(15)
        group["Offsets"], group["Types"] = [0, 3, 0, 4, 0, 4, 8], np.array([5, 9, 10, 10], "u1")
        steps = group.create_group("Steps")
        steps["Values"], steps["PartOffsets"], steps["NumberOfParts"] = [0.0, 1.0], [0, 2], [2, 1]
        steps["PointOffsets"], steps["CellOffsets"], steps["ConnectivityIdOffsets"] = [0, 7], [[0], [2]], [[0], [7]]
        steps["PointDataOffsets/T"], steps["CellDataOffsets/q"] = [0, 7], [0, 2]

    found = open_file(write)
    assert read(found, 0, "T").ravel().tolist() == list(range(7))
    assert read(found, 1, "T").ravel().tolist() == [7, 8, 9, 10, 11]
    assert read(found, 1, "Points")[0, 0].tolist() == [21, 22, 23]
    assert read(found, 1, "Offsets").ravel().tolist() == [0, 4, 8]
    assert read(found, 1, "Connectivity").ravel().tolist() == list(range(7, 15))
    assert read(found, 1, "q").ravel().tolist() == [2, 3]


def write_by_vtk(path, kind, static):
    """Four quads at three times, by VTK's own writer, which writes what does not change once."""
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.util.vtkAlgorithm import VTKPythonAlgorithmBase
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkDataObject, vtkPolyData, vtkUnstructuredGrid
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFWriter

    def grid():
        points, cells = vtkPoints(), vtkCellArray()
        for number in range(9):
            points.InsertNextPoint(number % 3, number // 3, 0)
        for a in (0, 1, 3, 4):
            cells.InsertNextCell(4, [a, a + 1, a + 4, a + 3])
        made = vtkPolyData() if kind == "vtkPolyData" else vtkUnstructuredGrid()
        made.SetPoints(points)
        made.SetPolys(cells) if kind == "vtkPolyData" else made.SetCells(9, cells)
        return made

    class Source(VTKPythonAlgorithmBase):
        def __init__(self):
            VTKPythonAlgorithmBase.__init__(self, nInputPorts=0, nOutputPorts=1, outputType=kind)
            self.grid = grid()

        def RequestInformation(self, _request, _inputs, outputs):  # noqa: N802 # VTK's names
            about = outputs.GetInformationObject(0)
            about.Set(vtkStreamingDemandDrivenPipeline.TIME_STEPS(), TIMES, len(TIMES))
            about.Set(vtkStreamingDemandDrivenPipeline.TIME_RANGE(), [TIMES[0], TIMES[-1]], 2)
            return 1

        def RequestData(self, _request, _inputs, outputs):  # noqa: N802
            about = outputs.GetInformationObject(0)
            time = about.Get(vtkStreamingDemandDrivenPipeline.UPDATE_TIME_STEP())
            out = vtkDataObject.GetData(about)
            out.ShallowCopy(self.grid if static else grid())
            for where, name, values in (
                (out.GetPointData(), "p", np.arange(9.0) + 100 * time),
                (out.GetPointData(), "U", np.arange(27.0).reshape(9, 3) + time),
                (out.GetCellData(), "c", np.arange(4.0) + 10 * time),
            ):
                array = numpy_to_vtk(values, deep=True)
                array.SetName(name)
                where.AddArray(array)
            return 1

    source, writer = Source(), vtkHDFWriter()
    writer.SetInputConnection(source.GetOutputPort())
    writer.SetFileName(str(path))
    writer.SetWriteAllTimeSteps(True)
    assert writer.Write() == 1


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("kind", ["vtkUnstructuredGrid", "vtkPolyData"])
def test_the_steps_of_a_grid_that_does_not_change(tmp_path, kind, static):
    write_by_vtk(tmp_path / "a.vtkhdf", kind, static)
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        assert len(file["VTKHDF/Points"]) == (9 if static else 27)
    with tr.open(tmp_path / "a.vtkhdf") as found:
        assert list(found.times) == list(TIMES) and len(found.notes) == 1
        for step, time in zip(found, TIMES, strict=True):
            assert step.read("p").ravel().tolist() == (np.arange(9) + 100 * time).tolist()
            assert step.read("U").ravel().tolist() == (np.arange(27) + time).tolist()
            assert step.read("c").ravel().tolist() == (np.arange(4) + 10 * time).tolist()
            assert step.read("Points").reshape(-1, 3)[4].tolist() == [1, 1, 0]


def test_values_of_which_no_step_is_known_are_left_out_and_told_once(open_file):
    """Offsets are missing, or lead behind the values."""

    def write(file):
        group = file.create_group("VTKHDF")
        group.attrs.update({"Version": [2, 0], "Type": np.bytes_("UnstructuredGrid")})
        group["NumberOfPoints"], group["NumberOfCells"], group["NumberOfConnectivityIds"] = [3], [1], [3]
        group["Points"], group["Connectivity"], group["Offsets"] = np.zeros((3, 3)), [0, 1, 2], [0, 3]
        for name, rows in (("moving", 9), ("still", 3), ("short", 4)):
            group[f"PointData/{name}"] = np.arange(float(rows))
        steps = group.create_group("Steps")
        steps["Values"], steps["PartOffsets"], steps["NumberOfParts"] = [0.0, 1.0, 2.0], [0, 0, 0], [1, 1, 1]
        for name in ("PointOffsets", "CellOffsets", "ConnectivityIdOffsets"):
            steps[name] = [0, 0, 0]
        steps["PointDataOffsets/short"] = [0, 1, 2]

    found = open_file(write)
    assert [sorted(found.variables(step))[-3:] for step in range(3)] == [
        ["Points", "short", "still"],
        ["Points", "short", "still"],
        ["Offsets", "Points", "still"],
    ]
    assert read(found, 1, "short").ravel().tolist() == [1, 2, 3]
    (note,) = [note for note in found.notes if "moving" in note]
    assert "has 9 rows, and no offsets in Steps say which step has which: it is left out" in note
    assert len([note for note in found.notes if "'VTKHDF/PointData/short' has 4 rows, fewer than some" in note]) == 1


def grid_in_steps(file):
    group = file.create_group("VTKHDF")
    group.attrs.update({"Version": [2, 0], "Type": np.bytes_("UnstructuredGrid")})
    group["NumberOfPoints"], group["NumberOfCells"], group["NumberOfConnectivityIds"] = [3, 4], [1, 1], [3, 4]
    group["Points"], group["PointData/T"] = np.arange(21.0).reshape(7, 3), np.arange(7.0)
    group["Steps/Values"], group["Steps/PointOffsets"] = [0.0, 1.0], [0, 3]
    group["Steps/PartOffsets"], group["Steps/NumberOfParts"] = [0, 1], [1, 1]
    group["Steps/PointDataOffsets/T"] = [0, 3]


@pytest.mark.parametrize("name", ["Steps/Values", "Steps/PointOffsets", "NumberOfPoints"])
def test_lists_that_describe_others_and_cannot_be_read(tmp_path, name):
    """Their bytes do not fit their checksum."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        grid_in_steps(file)
        group = file["VTKHDF"]
        values = group[name][()]
        del group[name]
        group.create_dataset(name, data=values, chunks=True, fletcher32=True)
        file.flush()
        at = group[name].id.get_chunk_info(0).byte_offset
    with (tmp_path / "x.h5").open("r+b") as raw:
        raw.seek(at)
        raw.write(b"\x55\xaa")
    with pytest.raises(tr.IoError, match=rf"x\.h5: 'VTKHDF/{name}' cannot be read"):
        dataset_at(tmp_path / "x.h5")


@pytest.mark.parametrize("value", [np.array([b"3", b"4"]), np.arange(3), h5py.Empty("i8")])
def test_lists_that_describe_others_and_are_no_short_lists_of_numbers(open_file, monkeypatch, value):
    monkeypatch.setattr(vtkhdf, "_MOST", 2)

    def write(file):
        grid_in_steps(file)
        del file["VTKHDF/NumberOfPoints"]
        file["VTKHDF/NumberOfPoints"] = value

    with pytest.raises(tr.IoError, match="'VTKHDF/NumberOfPoints': expected at most 2 numbers"):
        open_file(write)


def test_a_grid_without_steps(open_file):
    def write(file):
        grid_in_steps(file)
        del file["VTKHDF/Steps"]

    assert read(open_file(grid_in_steps, "steps.h5"), 1, "T").ravel().tolist() == [3, 4, 5, 6]
    found = open_file(write)
    assert found.steps == [(0, 0.0)]
    assert read(found, 0, "T").ravel().tolist() == list(range(7))
    assert read(found, 0, "Points")[0, 6].tolist() == [18, 19, 20]


@pytest.mark.parametrize(
    ("name", "value", "grid"),
    [
        ("WholeExtent", [0, 4, 0, 3], None),
        ("WholeExtent", [0, 4, 3, 2, 0, 2], None),
        ("Spacing", [0.5, 0.0, 1.0], None),
        ("Spacing", [0.5], UniformGrid((5, 4, 3), (0.0, 1.0, 2.0), (1.0, 1.0, 1.0))),
        ("Origin", [1.0, 2.0], UniformGrid((5, 4, 3), (0.0, 0.0, 0.0), (0.5, 0.25, 1.0))),
    ],
)
def test_images_whose_place_is_not_known(open_file, name, value, grid):
    def write(file):
        group = file.create_group("VTKHDF")
        group.attrs.update({"Version": [2, 0], "Type": np.bytes_("ImageData"), "WholeExtent": [0, 4, 0, 3, 0, 2]})
        group.attrs.update({"Origin": [0.0, 1.0, 2.0], "Spacing": [0.5, 0.25, 1.0]})
        group.attrs[name] = value
        group["PointData/p"] = U

    found = open_file(write)
    assert found.grid == grid
    assert np.array_equal(read(found, 0, "p"), U)


def test_offsets_of_images_that_are_not_there(open_file):
    def write(file):
        group = file.create_group("VTKHDF")
        group.attrs.update({"Version": [2, 0], "Type": np.bytes_("ImageData"), "WholeExtent": [0, 4, 0, 3, 0, 2]})
        group["PointData/p"], group["Steps/Values"] = np.stack([U, U + 1]), [0.5, 0.75]
        group["Steps/PointDataOffsets/p"] = [1, 2]

    found = open_file(write)
    assert np.array_equal(read(found, 0, "p"), U + 1)
    assert "p" in found.variables(0) and "p" not in found.variables(1)
    assert any("'VTKHDF/PointData/p' has 2 entries" in note for note in found.notes)
