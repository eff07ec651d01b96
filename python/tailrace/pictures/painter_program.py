"""Draws parts of pictures with VTK: a program of its own for each rank, because a graphics driver may crash.

python painter_program.py FOLDER   for each line of standard input, a request as JSON, draws the arrays of the folder,
writes colours.npy (red, green, blue, opacity) and depths.npy there, and answers by a line:
nothing, or what failed.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

# VTK crashes if it must use a missing library, so the libraries are tried first.
_WINDOWS = {"vtkEGLRenderWindow": "libEGL.so.1", "vtkOSOpenGLRenderWindow": "libOSMesa.so.8"}

_GL_BLEND = 0x0BE2  # OpenGL's number of a state


class MissingError(RuntimeError):
    """VTK, or what it needs to draw, is not there."""


def main(folder: Path) -> None:
    """Answer requests until standard input ends, then remove the folder: a rank that is killed cannot."""
    os.nice(19)  # draw in the time that the ranks leave, also if they have all processors
    for name in ("SIGINT", "SIGTERM", "SIGUSR1"):  # of the whole job: its ranks still want the last picture
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        _serve(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(folder: Path) -> None:
    canvas: Canvas | None = None
    for line in sys.stdin:
        try:
            canvas = canvas or Canvas(folder)
            canvas.draw(json.loads(line))
            answer = ""
        except (MissingError, OSError, ValueError, KeyError) as error:
            answer = str(error).replace("\n", " ") or type(error).__name__
        try:
            print(answer, flush=True)
        except BrokenPipeError:  # its rank has ended
            return


def _window_name() -> str:
    for window, library in _WINDOWS.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return window
    raise MissingError(
        f"pictures need a library that draws without a display: {' or '.join(_WINDOWS.values())} (Debian: libegl1 and "
        "libgl1-mesa-dri)"
    )


class Canvas:
    """A window without a display, which is used for all pictures."""

    def __init__(self, folder: Path) -> None:
        os.environ["VTK_DEFAULT_OPENGL_WINDOW"] = _window_name()
        try:
            import vtkmodules.vtkRenderingFreeType
            import vtkmodules.vtkRenderingOpenGL2
            import vtkmodules.vtkRenderingVolumeOpenGL2  # noqa: F401 # they register the renderers
            from vtkmodules.vtkCommonCore import vtkCommand
            from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
        except ImportError as error:
            raise MissingError(
                f"pictures are drawn by VTK, which does not load ({error}); install the extra: pip install "
                "'tailrace[render]'"
            ) from None
        self._folder, self._renderer, self._window = folder, vtkRenderer(), vtkRenderWindow()
        self._window.SetOffScreenRendering(1)
        self._window.SetAlphaBitPlanes(1)
        self._window.SetMultiSamples(0)  # samples at edges would mix colours of different depths
        self._window.AddRenderer(self._renderer)
        self._renderer.GetCullers().RemoveAllItems()  # all is seen, and they look at each triangle
        self._renderer.AddObserver(vtkCommand.StartEvent, self._blend)
        self._is_opaque = True
        _light(self._renderer)

    def _blend(self, *_: Any) -> None:
        """VTK mixes the colours of each pixel with what is behind it, also where nothing shows through."""
        if self._is_opaque:
            self._window.GetState().vtkglDisable(_GL_BLEND)  # type: ignore[attr-defined] # it is one of OpenGL

    def draw(self, request: dict[str, Any]) -> None:
        """Draw one picture, and write its colours and depths."""
        self._renderer.RemoveAllViewProps()
        self._is_opaque = not any(layer["kind"] == "volume" for layer in request["layers"])
        clear = request["background"] is None
        self._renderer.SetBackground(*(request["background"] or (0, 0, 0)))
        self._renderer.SetBackgroundAlpha(0.0 if clear else 1.0)
        _look(self._renderer, request["camera"])
        for layer in request["layers"]:
            _KINDS[layer["kind"]](self._renderer, self._folder, layer)
        if request["box"]:
            _add_box(self._renderer, request["box"], request["lines"])
        left, top, right, bottom = request["cut"]
        self._window.SetSize(right - left, bottom - top)
        _cut(self._renderer, request["cut"], request["size"])
        self._window.Render()
        self._write(right - left, bottom - top)

    def _write(self, columns: int, rows: int) -> None:
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkFloatArray, vtkUnsignedCharArray

        colours, depths = vtkUnsignedCharArray(), vtkFloatArray()
        self._window.GetRGBACharPixelData(0, 0, columns - 1, rows - 1, 0, colours)  # type: ignore[call-overload]
        self._window.GetZbufferData(0, 0, columns - 1, rows - 1, depths)
        np.save(
            self._folder / "colours.npy", np.ascontiguousarray(vtk_to_numpy(colours).reshape(rows, columns, 4)[::-1])
        )
        np.save(self._folder / "depths.npy", np.ascontiguousarray(vtk_to_numpy(depths).reshape(rows, columns)[::-1]))


def _light(renderer: Any) -> None:
    """A strong light from above the camera and a weak one from below; each light more costs a tenth of a picture."""
    from vtkmodules.vtkRenderingCore import vtkLight

    lights = (((0.1, 0.8, 0.6), 0.75, (1.0, 0.97, 0.9)), ((0.2, -0.5, 0.85), 0.4, (0.93, 0.97, 1.0)))
    for place, intensity, colour in lights:
        light = vtkLight()
        light.SetLightTypeToCameraLight()
        light.SetPosition(*place)
        light.SetFocalPoint(0.0, 0.0, 0.0)
        light.SetIntensity(intensity)
        light.SetColor(*colour)
        renderer.AddLight(light)


def _add_surface(renderer: Any, folder: Path, layer: dict[str, Any]) -> None:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData
    from vtkmodules.vtkFiltersCore import vtkFlyingEdges3D

    values, colour = (np.load(folder / layer[name], "c") for name in ("values", "colour"))
    places = [np.load(folder / layer[axis]) for axis in "xyz"]
    first, apart, uneven = _even(places)
    image = vtkImageData()
    image.SetDimensions(*reversed(values.shape))
    image.SetOrigin(*first)
    image.SetSpacing(*apart)
    about = image.GetPointData()
    about.SetScalars(numpy_to_vtk(values.ravel()))
    added = numpy_to_vtk(colour.ravel())
    added.SetName("colour")
    about.AddArray(added)
    contour = vtkFlyingEdges3D()
    contour.SetInputData(image)
    contour.ComputeNormalsOn()
    contour.ComputeGradientsOff()
    contour.ComputeScalarsOff()
    contour.InterpolateAttributesOn()
    for number, value in enumerate(layer["levels"]):
        contour.SetValue(number, value)
    contour.Update()
    surface = contour.GetOutput()
    if surface.GetNumberOfPoints() > 0:
        own = [first[d] + apart[d] * np.array(ends) for d, ends in enumerate(layer["own"])]
        _keep(surface, own, 1e-3 * np.array(apart), _ends_nearest(places, renderer.GetActiveCamera().GetPosition()))
        _place(surface, places, uneven)
        _add(renderer, surface, folder, layer, lit=True)


def _even(places: list[Any]) -> tuple[list[float], list[float], list[int]]:
    """The first node and the distance of nodes in x, y, z; 0 and 1 where it changes, and the directions of these."""
    first, apart = np.zeros(3), np.ones(3)
    uneven = []
    for d, along in enumerate(places):
        between = np.diff(along)
        if np.ptp(between) <= 1e-6 * between[0]:
            first[d], apart[d] = along[0], between[0]
        else:
            uneven.append(d)
    return first.tolist(), apart.tolist(), uneven


def _keep(surface: Any, own: list[Any], little: Any, is_turned: bool) -> None:
    """Keep the triangles of this part's own cells; the others belong to neighbours, and are there for their slopes.

    :param own: the first and the last place of the cells that are kept, in x, y, z.
    :param little: a small part of a cell in x, y, z.
    :param is_turned: the last triangles are to be drawn first.
    """
    from vtkmodules.util.numpy_support import numpy_to_vtkIdTypeArray, vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    nodes = vtk_to_numpy(surface.GetPoints().GetData())
    triangles = vtk_to_numpy(surface.GetPolys().GetConnectivityArray()).reshape(-1, 3)
    inside = np.ones(len(nodes), bool)
    for d, (first, last) in enumerate(own):
        inside &= (nodes[:, d] >= first - little[d]) & (nodes[:, d] <= last + little[d])
    a, b, c = (inside[triangles[:, corner]] for corner in range(3))
    kept = np.flatnonzero(a & b & c)
    if is_turned:
        kept = kept[::-1]
    cells = vtkCellArray()
    corners = np.take(triangles, kept, axis=0).astype(np.int64, copy=False).ravel()
    cells.SetData(3, numpy_to_vtkIdTypeArray(corners, deep=True))  # older VTK does not keep the memory of `corners`
    surface.SetPolys(cells)


def _place(surface: Any, places: list[Any], uneven: list[int]) -> None:
    """Move a surface that was found in numbers of nodes along some directions to their places."""
    from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy

    if not uneven:
        return
    points = vtk_to_numpy(surface.GetPoints().GetData()).copy()
    slopes = vtk_to_numpy(surface.GetPointData().GetNormals()).copy()
    for d in uneven:
        along, numbers = places[d], np.arange(len(places[d]))
        slopes[:, d] /= np.interp(points[:, d], numbers, np.gradient(along))
        points[:, d] = np.interp(points[:, d], numbers, along)
    lengths = np.sqrt(np.einsum("nd,nd->n", slopes, slopes))[:, None]
    surface.GetPoints().SetData(numpy_to_vtk(points, deep=True))
    surface.GetPointData().SetNormals(numpy_to_vtk(slopes / np.where(lengths > 0, lengths, 1), deep=True))


def _ends_nearest(places: list[Any], eye: Sequence[float]) -> bool:
    """Whether the last triangles are nearest to the camera: they come plane by plane in z, in it row by row in y.

    A pixel whose nearest triangle is drawn first is coloured once, and drawing takes half of the time.
    """
    away = [at - 0.5 * (along[0] + along[-1]) for at, along in zip(eye, places, strict=True)]
    if abs(away[2]) < 0.1 * max(map(abs, away)):
        return bool(max(away[:2], key=abs) > 0)
    return bool(away[2] > 0)


def _add_slice(renderer: Any, folder: Path, layer: dict[str, Any]) -> None:
    from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter

    faces = vtkGeometryFilter()
    faces.SetInputData(_grid(folder, layer))
    faces.Update()
    _add(renderer, faces.GetOutput(), folder, layer, lit=False)


def _add_cut(renderer: Any, folder: Path, layer: dict[str, Any]) -> None:
    from vtkmodules.vtkCommonDataModel import vtkPlane
    from vtkmodules.vtkFiltersCore import vtkCutter

    plane = vtkPlane()
    plane.SetNormal(*layer["normal"])
    plane.SetOrigin(*layer["through"])
    cutter = vtkCutter()
    cutter.SetCutFunction(plane)
    cutter.SetInputData(_grid(folder, layer))
    cutter.Update()
    if cutter.GetOutput().GetNumberOfPoints() > 0:
        _add(renderer, cutter.GetOutput(), folder, layer, lit=False)


def _grid(folder: Path, layer: dict[str, Any]) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid

    values = np.load(folder / layer["values"])
    grid = vtkRectilinearGrid()
    grid.SetDimensions(*reversed(values.shape))
    for set_along, axis in ((grid.SetXCoordinates, "x"), (grid.SetYCoordinates, "y"), (grid.SetZCoordinates, "z")):
        set_along(numpy_to_vtk(np.load(folder / layer[axis]), deep=True))
    colour = numpy_to_vtk(values.ravel(), deep=True)
    colour.SetName("colour")
    grid.GetPointData().AddArray(colour)
    return grid


def _add_arrows(renderer: Any, folder: Path, layer: dict[str, Any]) -> None:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkPolyData
    from vtkmodules.vtkFiltersCore import vtkGlyph3D
    from vtkmodules.vtkFiltersSources import vtkArrowSource

    vectors = np.load(folder / layer["vectors"]).astype(np.float64)
    points, cloud = vtkPoints(), vtkPolyData()
    points.SetData(numpy_to_vtk(np.load(folder / layer["points"]), deep=True))
    cloud.SetPoints(points)
    cloud.GetPointData().SetVectors(numpy_to_vtk(vectors, deep=True))
    colour = numpy_to_vtk(np.linalg.norm(vectors, axis=1), deep=True)
    colour.SetName("colour")
    cloud.GetPointData().AddArray(colour)
    arrow = vtkArrowSource()
    arrow.SetTipResolution(16)
    arrow.SetShaftResolution(12)
    arrow.SetTipLength(0.4)  # thick enough to be seen in a picture of the whole box
    arrow.SetTipRadius(0.17)
    arrow.SetShaftRadius(0.06)
    glyphs = vtkGlyph3D()
    glyphs.SetSourceConnection(arrow.GetOutputPort())
    glyphs.SetInputData(cloud)
    glyphs.SetScaleModeToScaleByVector()
    glyphs.SetScaleFactor(layer["length"])
    glyphs.Update()
    _add(renderer, glyphs.GetOutput(), folder, layer, lit=True)


def _add_volume(renderer: Any, folder: Path, layer: dict[str, Any]) -> None:
    """Rays through the values: colours of the table, opaque by the size of the values."""
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData, vtkPiecewiseFunction
    from vtkmodules.vtkRenderingCore import vtkColorTransferFunction, vtkVolume, vtkVolumeProperty
    from vtkmodules.vtkRenderingVolume import vtkFixedPointVolumeRayCastMapper

    places = [np.load(folder / layer[axis]) for axis in "xyz"]
    low, high = layer["range"]
    values = np.nan_to_num(_evenly(np.load(folder / layer["values"]), places[1]), nan=low, posinf=high, neginf=low)
    image = vtkImageData()
    image.SetDimensions(*reversed(values.shape))
    image.SetOrigin(*(float(along[0]) for along in places))
    apart = [float(along[-1] - along[0]) / (len(along) - 1) for along in places]
    image.SetSpacing(*apart)
    image.GetPointData().SetScalars(numpy_to_vtk(np.ascontiguousarray(values).ravel(), deep=True))
    mapper = vtkFixedPointVolumeRayCastMapper()
    mapper.SetInputData(image)
    mapper.SetAutoAdjustSampleDistances(False)
    mapper.SetSampleDistance(0.5 * min(apart))
    mapper.SetNumberOfThreads(1)  # the other processors belong to other ranks
    opacity, colours = vtkPiecewiseFunction(), vtkColorTransferFunction()
    both = low == -high  # then small values are clear, of either sign
    for value, share in ((low, float(both)), (0.5 * (low + high), 0.0 if both else 0.5), (high, 1.0)):
        opacity.AddPoint(value, share * layer["opacity"])
    table = np.load(folder / layer["table"])[:, :3] / 255.0
    for value, colour in zip(np.linspace(low, high, len(table)), table, strict=True):
        colours.AddRGBPoint(value, *colour)
    looks = vtkVolumeProperty()
    looks.SetScalarOpacity(opacity)
    looks.SetColor(colours)
    looks.SetInterpolationTypeToLinear()
    looks.SetScalarOpacityUnitDistance(layer["unit"])
    volume = vtkVolume()
    volume.SetMapper(mapper)
    volume.SetProperty(looks)
    renderer.AddVolume(volume)


def _evenly(values: Any, y: Any) -> Any:
    """Values (nz, ny, nx) at as many nodes in y that are equally far apart, which rays need."""
    wanted = np.linspace(y[0], y[-1], len(y))
    below = np.clip(np.searchsorted(y, wanted, side="right") - 1, 0, len(y) - 2)
    share = ((wanted - y[below]) / (y[below + 1] - y[below])).astype(values.dtype)[None, :, None]
    return (1 - share) * values[:, below] + share * values[:, below + 1]


_KINDS = {
    "surface": _add_surface,
    "slice": _add_slice,
    "cut": _add_cut,
    "arrows": _add_arrows,
    "volume": _add_volume,
}


def _add(renderer: Any, surface: Any, folder: Path, layer: dict[str, Any], *, lit: bool) -> None:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkLookupTable
    from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

    table = vtkLookupTable()
    table.SetTable(numpy_to_vtk(np.load(folder / layer["table"]), deep=True))
    table.SetTableRange(*layer["range"])
    table.SetNanColor(0.6, 0.6, 0.6, 1.0)
    mapper = vtkPolyDataMapper()
    mapper.SetInputData(surface)
    mapper.SetScalarModeToUsePointFieldData()
    mapper.SelectColorArray("colour")
    mapper.SetLookupTable(table)
    mapper.SetUseLookupTableScalarRange(True)
    mapper.SetInterpolateScalarsBeforeMapping(not lit)  # triangles of lit surfaces are small
    actor = vtkActor()
    actor.SetMapper(mapper)
    looks = actor.GetProperty()
    looks.SetAmbient(0.35 if lit else 1.0)
    looks.SetDiffuse(0.85 if lit else 0.0)
    looks.SetSpecular(0.2 if lit else 0.0)
    looks.SetSpecularPower(30)
    if lit:
        looks.SetInterpolationToPhong()
    renderer.AddActor(actor)


def _add_box(renderer: Any, lengths: list[float], colour: list[float]) -> None:
    from vtkmodules.vtkFiltersSources import vtkOutlineSource
    from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

    outline = vtkOutlineSource()
    outline.SetBounds(0, lengths[0], 0, lengths[1], 0, lengths[2])
    mapper = vtkPolyDataMapper()
    mapper.SetInputConnection(outline.GetOutputPort())
    actor = vtkActor()
    actor.SetMapper(mapper)
    looks = actor.GetProperty()
    looks.SetColor(*colour)
    looks.SetLighting(False)
    looks.SetLineWidth(2.0)
    renderer.AddActor(actor)


def _look(renderer: Any, told: dict[str, Any]) -> None:
    camera = renderer.GetActiveCamera()
    camera.SetPosition(*told["position"])
    camera.SetFocalPoint(*told["focus"])
    camera.SetViewUp(*told["up"])
    camera.SetParallelProjection(told["height"] > 0)
    camera.SetParallelScale(told["height"] / 2 or 1.0)
    camera.SetViewAngle(told["angle"])
    camera.SetClippingRange(told["near"], told["far"])  # the same on all ranks, or depths could not be compared


def _cut(renderer: Any, cut: list[int], size: list[int]) -> None:
    """See a part of the picture only, columns and rows from the upper left corner, with the pixels of the whole."""
    from vtkmodules.vtkCommonTransforms import vtkTransform

    left, top, right, bottom = cut
    columns, rows = size
    wide, high = (right - left) / columns, (bottom - top) / rows
    seen = vtkTransform()  # VTK takes the window, a part here, for the whole width
    seen.Translate(-((left + right) / columns - 1) / wide, -(1 - (top + bottom) / rows) / high, 0)
    seen.Scale(1 / high, 1 / high, 1)
    renderer.GetActiveCamera().SetUserTransform(seen)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
