# script-version: 2.0
"""A pipeline of ParaView: surfaces of the Q criterion, coloured by a velocity, in the box of the flow, with the time.

ParaView writes such scripts, too: File, Save Catalyst State. A block of a case executes it during the run:

    [[catalyst]]
    script = "pipeline.py"
    every = 10
    parameters = { value = 0.3 }
"""

import argparse

from paraview import catalyst
from paraview.simple import (
    ColorBy,
    Contour,
    CreateExtractor,
    CreateView,
    GetColorTransferFunction,
    GetScalarBar,
    Outline,
    ResetCamera,
    Show,
    Text,
    TrivialProducer,
)

parser = argparse.ArgumentParser()
parser.add_argument("--value", type=float, default=0.3)  # of the surfaces
given, _ = parser.parse_known_args(catalyst.get_args())

view = CreateView("RenderView")
view.ViewSize = [1280, 720]
view.UseColorPaletteForBackground = 0
view.Background = [1.0, 1.0, 1.0]
view.OrientationAxesLabelColor = [0.1, 0.1, 0.1]

grid = TrivialProducer(registrationName="grid")  # the steps of the simulation

box = Show(Outline(Input=grid), view)
box.AmbientColor = box.DiffuseColor = [0.4, 0.4, 0.4]

surfaces = Contour(Input=grid)
surfaces.ContourBy = ["POINTS", "q"]
surfaces.Isosurfaces = [given.value]
shown = Show(surfaces, view)
ColorBy(shown, ("POINTS", "uz"))
colours = GetColorTransferFunction("uz")
colours.RescaleTransferFunction(-0.5, 0.5)  # fixed, so that pictures can be compared
bar = GetScalarBar(colours, view)
bar.Title, bar.ComponentTitle = "uz", ""
bar.TitleColor = bar.LabelColor = [0.1, 0.1, 0.1]
shown.SetScalarBarVisibility(view, True)

words = Text()
Show(words, view).Color = [0.1, 0.1, 0.1]

view.CameraPosition, view.CameraFocalPoint = [0.52, -0.78, 0.48], [0.0, 0.0, 0.0]  # a direction
view.CameraViewUp = [0.0, 0.0, 1.0]
ResetCamera(view)

png = CreateExtractor("PNG", view, registrationName="PNG")
png.Trigger = "TimeStep"
png.Trigger.Frequency = 1  # of the steps that the block gives
png.Writer.FileName = "q-{timestep:06d}.png"
png.Writer.ImageResolution = [1280, 720]

options = catalyst.Options()
options.ExtractsOutputDirectory = "."  # in a block of a case: catalyst/pipeline
# options.EnableCatalystLive = 1       # lets ParaView connect: Catalyst, Connect


def catalyst_execute(info):
    """Called before the extractors work."""
    words.Text = f"t = {info.time:.3f}"
