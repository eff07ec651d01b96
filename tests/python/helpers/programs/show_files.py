"""What VTK's readers find in files, as a line of JSON for each: run by ParaView's pvbatch, or by Python with the wheel.

pvbatch show_files.py paraview FILE ...     each opened as by a double click
python show_files.py wheel FILE ...         each by the reader for its ending
"""

from __future__ import annotations

import json
import sys


def by_paraview(path):
    from paraview import simple

    # of two readers for BP, of which the program asks its user for one; it opens the other by itself
    source = simple.ADIOS2VTXReader(FileName=path) if path.endswith((".bp", ".bp4")) else simple.OpenDataFile(path)
    source.UpdatePipeline()
    times = getattr(source, "TimestepValues", None)
    for time in [times] if isinstance(times, float) else list(times or [None]):
        source.UpdatePipeline(time) if time is not None else source.UpdatePipeline()
        # not servermanager.Fetch: in ParaView 5.11 of Debian 12 it gives rectilinear grids without their values
        yield source.SMProxy.GetXMLName(), time, source.GetClientSideObject().GetOutputDataObject(0)


def by_wheel(path):
    import vtk

    kinds = {
        "xdmf": vtk.vtkXdmfReader,
        "xdmf2": vtk.vtkXdmfReader,
        "vti": vtk.vtkXMLImageDataReader,
        "vtr": vtk.vtkXMLRectilinearGridReader,
    }
    reader = kinds.get(path.rsplit(".", 1)[-1], vtk.vtkHDFReader)()
    reader.SetFileName(path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    for time in times or [None]:
        reader.Update() if time is None else reader.UpdateTimeStep(time)
        yield reader.GetClassName(), time, reader.GetOutputDataObject(0)


def first_leaf(data):
    while data.IsA("vtkCompositeDataSet"):
        leaves = data.NewIterator()
        data = leaves.GetCurrentDataObject()
    return data


def arrays(data):
    from vtkmodules.util.numpy_support import vtk_to_numpy

    found = (data.GetArray(number) for number in range(data.GetNumberOfArrays()))
    return {one.GetName(): [str(vtk_to_numpy(one).dtype), vtk_to_numpy(one).tolist()] for one in found if one}


def show(path, steps):
    shown = []
    for reader, time, data in steps(path):
        leaf = first_leaf(data)
        points = [leaf.GetPoint(number) for number in range(leaf.GetNumberOfPoints())]
        shown.append({
            "reader": reader, "time": time, "kind": leaf.GetClassName(), "points": points,
            "arrays": arrays(leaf.GetPointData()), "cells": arrays(leaf.GetCellData()),
            "field": arrays(leaf.GetFieldData()),
        })  # fmt: skip
    print("shown: " + json.dumps([path, shown]), flush=True)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        show(name, by_paraview if sys.argv[1] == "paraview" else by_wheel)
