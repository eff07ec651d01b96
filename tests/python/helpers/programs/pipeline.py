# script-version: 2.0
"""A pipeline of ParaView for tests; by hand, `pvbatch pipeline.py FILE OUT`, it draws the steps of a file as well."""

import argparse
import sys

from paraview import catalyst, simple

arguments = argparse.ArgumentParser()
arguments.add_argument("--value", type=float, default=0.1)
given, _ = arguments.parse_known_args(catalyst.get_args())
files = sys.argv[1:] if not catalyst.get_script_filename() else []

view = simple.CreateView("RenderView")
view.ViewSize = [320, 240]
view.OrientationAxesVisibility = 0
grid = simple.OpenDataFile(files[0]) if files else simple.TrivialProducer(registrationName="grid")

surface = simple.Contour(Input=grid)
surface.ContourBy = ["POINTS", "q"]
surface.Isosurfaces = [given.value]
shown = simple.Show(surface, view)
simple.ColorBy(shown, ("POINTS", "uz"))
simple.GetColorTransferFunction("uz").RescaleTransferFunction(-0.4, 0.4)
arrows = simple.Glyph(Input=grid, OrientationArray=["POINTS", "velocity"], ScaleFactor=0.4, GlyphMode="Every Nth Point")
arrows.Stride = 23
arrows.ScaleArray = ["POINTS", "velocity"]
simple.ColorBy(simple.Show(arrows, view), ("POINTS", "ux"))
simple.GetColorTransferFunction("ux").RescaleTransferFunction(-0.6, 0.6)
simple.Show(simple.Outline(Input=grid), view)
view.CameraPosition, view.CameraFocalPoint = [9.0, -11.0, 8.0], [1.5, 1.2, 1.0]
view.CameraViewUp = [0.0, 0.0, 1.0]

if files:
    simple.UpdatePipeline(proxy=grid)
    for number, time in enumerate(grid.TimestepValues):
        view.ViewTime = time
        simple.SaveScreenshot(f"{files[1]}/{number}.png", view, ImageResolution=[320, 240])
else:
    png = simple.CreateExtractor("PNG", view, registrationName="PNG")
    png.Trigger = "TimeStep"
    png.Trigger.Frequency = 2
    png.Writer.FileName = "s-{timestep:06d}.png"
    png.Writer.ImageResolution = [320, 240]
options = catalyst.Options()
