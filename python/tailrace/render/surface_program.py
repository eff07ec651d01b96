"""Draw isosurfaces with VTK: a separate program that `isosurface` starts, because VTK may crash.

python surface_program.py FOLDER   reads data.npy, x.npy, y.npy, z.npy and about.json there, and writes image.npy.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

NO_LIBRARY, NO_GRAPHICS = 3, 4  # exit codes
# VTK crashes if it must use a missing library, so the libraries are tried first.
_WINDOWS = {"vtkEGLRenderWindow": "libEGL.so.1", "vtkOSOpenGLRenderWindow": "libOSMesa.so.8"}


def main(folder: Path) -> None:
    """Draw. If something is missing, ends the program with an exit code and a line on standard error."""
    os.environ["VTK_DEFAULT_OPENGL_WINDOW"] = _window()
    try:
        import vtkmodules.vtkRenderingFreeType
        import vtkmodules.vtkRenderingOpenGL2  # noqa: F401 # registers the renderer
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkRenderingCore import vtkWindowToImageFilter
    except ImportError as error:
        _end(
            NO_LIBRARY,
            f"isosurfaces are drawn by VTK, which does not load ({error}); install the extra: pip install "
            "'tailrace[render]'",
        )
    window = _scene(folder)
    grab = vtkWindowToImageFilter()
    grab.SetInput(window)
    grab.ReadFrontBufferOff()
    grab.Update()
    image = grab.GetOutput()
    columns, rows, _ = image.GetDimensions()
    pixels = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(rows, columns, -1)
    np.save(folder / "image.npy", pixels[::-1, :, :3])


def _window() -> str:  # noqa: RET503 # the last line does not return
    for window, library in _WINDOWS.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return window
    _end(
        NO_GRAPHICS,
        f"isosurfaces need a library that draws without a display: {' or '.join(_WINDOWS.values())} (Debian: libegl1 "
        "and libgl1-mesa-dri)",
    )


def _end(code: int, text: str) -> NoReturn:
    print(text, file=sys.stderr)
    sys.exit(code)


def _scene(folder: Path) -> Any:
    """The window with the surfaces, the outline of the box and its axes."""
    from vtkmodules.vtkFiltersCore import vtkContourFilter
    from vtkmodules.vtkFiltersModeling import vtkOutlineFilter
    from vtkmodules.vtkRenderingAnnotation import vtkCubeAxesActor
    from vtkmodules.vtkRenderingCore import vtkLightKit, vtkRenderer, vtkRenderWindow

    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    grid = _grid(folder)
    renderer = vtkRenderer()
    renderer.SetBackground(1.0, 1.0, 1.0)
    for number, value in enumerate(about["values"]):
        contour = vtkContourFilter()
        contour.SetInputData(grid)
        contour.ComputeNormalsOn()
        contour.SetValue(0, value)
        colour = about["colours"][number % len(about["colours"])]
        renderer.AddActor(_actor(contour, colour, 1.0 if len(about["values"]) == 1 else 0.6))
    outline = vtkOutlineFilter()
    outline.SetInputData(grid)
    renderer.AddActor(_actor(outline, "#999999", 1.0))
    axes = vtkCubeAxesActor()
    axes.SetScreenSize(8.0)
    axes.SetLabelOffset(16)
    axes.SetTitleOffset([16, 16])
    axes.SetBounds(grid.GetBounds())
    axes.SetCamera(renderer.GetActiveCamera())
    axes.SetXTitle("x")
    axes.SetYTitle("y")
    axes.SetZTitle("z")
    axes.SetFlyModeToOuterEdges()
    for direction in range(3):
        for text in (axes.GetTitleTextProperty(direction), axes.GetLabelTextProperty(direction)):
            text.SetColor(0.0, 0.0, 0.0)
            text.SetFontSize(26)
    for line in (axes.GetXAxesLinesProperty(), axes.GetYAxesLinesProperty(), axes.GetZAxesLinesProperty()):
        line.SetColor(0.3, 0.3, 0.3)
    renderer.AddActor(axes)
    lights = vtkLightKit()
    lights.AddLightsToRenderer(renderer)
    _look(renderer)
    window = vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)  # depth peeling draws surfaces behind surfaces, and has no samples
    window.SetAlphaBitPlanes(1)
    window.SetSize(*about["size"])
    renderer.SetUseDepthPeeling(True)
    renderer.SetUseFXAA(True)
    window.AddRenderer(renderer)
    window.Render()
    return window


def _grid(folder: Path) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid

    data = np.load(folder / "data.npy")
    grid = vtkRectilinearGrid()
    grid.SetDimensions(*reversed(data.shape))
    for set_along, axis in (
        (grid.SetXCoordinates, "x"),
        (grid.SetYCoordinates, "y"),
        (grid.SetZCoordinates, "z"),
    ):
        set_along(numpy_to_vtk(np.load(folder / f"{axis}.npy"), deep=True))
    grid.GetPointData().SetScalars(numpy_to_vtk(data.ravel(), deep=True))
    return grid


def _actor(source: Any, colour: str, opacity: float) -> Any:
    from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

    mapper = vtkPolyDataMapper()
    mapper.SetInputConnection(source.GetOutputPort())
    mapper.ScalarVisibilityOff()
    actor = vtkActor()
    actor.SetMapper(mapper)
    looks = actor.GetProperty()
    looks.SetColor(*(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)))
    looks.SetOpacity(opacity)
    looks.SetAmbient(0.25)
    looks.SetSpecular(0.25)
    looks.SetSpecularPower(25)
    return actor


def _look(renderer: Any) -> None:
    """Set the camera: from the front, the right and above, with z upwards."""
    camera = renderer.GetActiveCamera()
    camera.SetPosition(1.4, -2.2, 1.3)
    camera.SetFocalPoint(0.0, 0.0, 0.0)
    camera.SetViewUp(0.0, 0.0, 1.0)
    renderer.ResetCamera()
    camera.Zoom(0.92)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
