"""A surface that a browser can turn: made and reduced here by VTK, shown there by vtk.js, which trame-vtk brings."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.pictures.colours import signed, table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.live_run.part import Part

_MOST = 40_000  # triangles that travel: about a megabyte


@dataclass(frozen=True)
class Surface:
    """A surface in a file for the viewer of vtk.js.

    :param scene: the bytes of the file.
    :param level: its value.
    :param limits: the values of the first and the last colour.
    """

    scene: bytes
    triangles: int
    level: float
    limits: tuple[float, float]


def surface_of(values: Part, level: float | None, colour: Part, dark: bool, *, name: str = "") -> Surface:
    """The surface on which values have a level.

    :param level: None: one standard deviation above the mean of the finite values; below it, for lambda2.
    :param name: of the values.
    :param colour: the values that colour it, on the same nodes.
    :raises ValueError: the values do not have this level, or are on a plane.
    """
    if min(values.values.shape) < 2 or not np.isfinite(values.values).any():
        raise ValueError("a surface needs numbers in three directions")
    finite = values.values[np.isfinite(values.values)].astype(np.float64)
    chosen = float(finite.mean() + finite.std() * (-1 if name == "lambda2" else 1)) if level is None else level
    mesh = _contour(values, chosen, colour.values)
    count = mesh.GetNumberOfPolys()
    if not count:
        low, high = float(finite.min()), float(finite.max())
        raise ValueError(f"there is no surface at {chosen:.4g}: the values go from {low:.4g} to {high:.4g}")
    limits = _limits(colour.values)
    scene = _scene(mesh, values.places, limits, dark)
    return Surface(scene, count, chosen, limits)


def _leave_holes(mesh: Any) -> None:
    """Remove the triangles at values that are no numbers."""
    from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    if not mesh.GetNumberOfPolys():
        return
    places = vtk_to_numpy(mesh.GetPoints().GetData())
    there = np.isfinite(places).all(axis=1)
    triangles = vtk_to_numpy(mesh.GetPolys().GetConnectivityArray()).reshape(-1, 3)
    kept = vtkCellArray()
    corners = triangles[there[triangles].all(axis=1)].astype(np.int64).ravel()
    kept.SetData(3, numpy_to_vtkIdTypeArray(corners, deep=True))
    mesh.SetPolys(kept)
    mesh.GetPoints().SetData(numpy_to_vtk(np.where(there[:, None], places, 0.0).astype(places.dtype), deep=True))


def _contour(part: Part, level: float, colour: NDArray[Any]) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid
    from vtkmodules.vtkFiltersCore import vtkContourFilter, vtkPolyDataNormals, vtkQuadricDecimation

    grid = vtkRectilinearGrid()
    grid.SetDimensions(*reversed(part.values.shape))
    x, y, z = (numpy_to_vtk(np.ascontiguousarray(one), deep=True) for one in part.places)
    grid.SetXCoordinates(x)
    grid.SetYCoordinates(y)
    grid.SetZCoordinates(z)
    holes = np.where(np.isfinite(part.values), part.values, np.nan)  # where places on the surface are no numbers
    for name, values in (("values", holes), ("colour", np.nan_to_num(colour, nan=0.0))):
        array = numpy_to_vtk(values.ravel(), deep=True)
        array.SetName(name)
        grid.GetPointData().AddArray(array)
    grid.GetPointData().SetActiveScalars("values")
    contour = vtkContourFilter()
    contour.SetInputData(grid)
    contour.SetValue(0, level)
    contour.ComputeScalarsOff()
    contour.Update()
    mesh = contour.GetOutput()
    if np.isnan(holes).any():
        _leave_holes(mesh)
    if mesh.GetNumberOfPolys() > _MOST:
        fewer = vtkQuadricDecimation()
        fewer.SetInputData(mesh)
        fewer.SetTargetReduction(1 - _MOST / mesh.GetNumberOfPolys())
        fewer.AttributeErrorMetricOff()
        fewer.MapPointDataOn()
        fewer.Update()
        mesh = fewer.GetOutput()
    normals = vtkPolyDataNormals()
    normals.SetInputData(mesh)
    normals.SplittingOff()
    normals.Update()
    return normals.GetOutput()


def _limits(values: NDArray[Any]) -> tuple[float, float]:
    """Values of the first and the last colour, without a few extremes."""
    low, high = signed(*(float(end) for end in np.nanpercentile(values, [0.5, 99.5])))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _scene(mesh: Any, places: tuple[NDArray[Any], ...], limits: tuple[float, float], dark: bool) -> bytes:
    from vtkmodules.vtkFiltersSources import vtkOutlineSource
    from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow

    _paint(mesh, limits)
    surface = _actor(mesh)
    surface.GetProperty().SetAmbient(0.25)
    surface.GetProperty().SetDiffuse(0.85)
    outline = vtkOutlineSource()
    outline.SetBounds(*(float(end) for along in places for end in (along[0], along[-1])))
    outline.Update()
    box = _actor(outline.GetOutput())
    box.GetProperty().SetColor(0.5, 0.5, 0.5)
    renderer, window = vtkRenderer(), vtkRenderWindow()
    renderer.SetBackground(*((0.08, 0.09, 0.11) if dark else (1.0, 1.0, 1.0)))
    renderer.AddActor(surface)
    renderer.AddActor(box)
    window.AddRenderer(renderer)
    camera = renderer.GetActiveCamera()
    camera.SetPosition(1.6, -2.2, 1.4)
    camera.SetFocalPoint(0, 0, 0)
    camera.SetViewUp(0, 0, 1)
    renderer.ResetCamera()
    return _packed(window, camera)


def _paint(mesh: Any, limits: tuple[float, float]) -> None:
    """Give each point its colour, which travels in three bytes."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonCore import vtkUnsignedCharArray

    table = table_of("", limits)
    values = vtk_to_numpy(mesh.GetPointData().GetArray("colour"))
    # Of points in holes, which no triangle has, the colour is no number.
    share = np.nan_to_num(np.clip((values - limits[0]) / (limits[1] - limits[0]), 0, 1))
    colours = vtkUnsignedCharArray()
    colours.SetName("colours")
    colours.SetNumberOfComponents(3)
    colours.SetNumberOfTuples(len(values))
    vtk_to_numpy(colours)[...] = table[np.round(share * (len(table) - 1)).astype(int), :3]
    for name in ("colour", "values"):
        mesh.GetPointData().RemoveArray(name)
    mesh.GetPointData().SetScalars(colours)


def _actor(mesh: Any) -> Any:
    from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

    mapper, actor = vtkPolyDataMapper(), vtkActor()
    mapper.SetInputData(mesh)
    actor.SetMapper(mapper)
    return actor


def _packed(window: Any, camera: Any) -> bytes:
    """What a window shows, as the file that the viewer of vtk.js reads."""
    from trame_vtk.modules.vtk import serializers

    serializers.initialize_serializers()
    context = serializers.SynchronizationContext()
    context.set_ignore_last_dependencies(True)
    scene = serializers.serialize(None, window, serializers.reference_id(window), context, 1)
    scene["extra"] = {
        "vtkRefId": serializers.reference_id(window),
        "centerOfRotation": camera.GetFocalPoint(),
        "camera": serializers.reference_id(camera),
    }
    arrays = {
        one["hash"]: {**one, "content": context.get_cached_data_array(one["hash"], False)}
        for one in serializers.extract_array_hash(scene)
    }
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("index.json", json.dumps({"hashes": arrays, "scene": scene}))
    return room.getvalue()
