"""What ParaView and VTK find in our files, opened as by a double click: all steps, places, arrays and vectors.

The real ParaView is asked where it is installed (tests/paraview/run.sh installs Debian's), in a program of its own: a
reader that does not take a file may abort it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run, paraview
from helpers.programs import show_files

SHAPE = (7, 5, 4)
PLACES = ((1.0, 2.0, 3.0), (0.5, 0.25, 0.125))  # origin and spacing
UNIFORM = tr.UniformGrid(SHAPE, *PLACES)
STRETCHED = tr.StretchedGrid(SHAPE, *PLACES, ((), (2.0, 2.1, 2.3, 2.7, 3.5), ()))
TIMES = (0.0, 0.5, 1.25)
PLANES = {"x": (1, 5, 4), "y": (7, 1, 4), "z": (7, 5, 1), "line": (1, 5, 1)}
BP = (("bp4", "bp4"), ("bp", "bp5"))
PROGRAMS = {"paraview": ["pvbatch"], "wheel": [sys.executable]}


def field(shape: tuple[int, int, int], salt: float, dtype: str = "float64") -> np.ndarray:
    """Asymmetric in all directions."""
    z, y, x = np.meshgrid(*map(np.arange, reversed(shape)), indexing="ij")
    return (salt + x + 10.0 * y**2 + 1000.0 * z**3).astype(dtype)


def write(
    path: Path, engine: str, grid: tr.UniformGrid, *, steps: int = 3, cells: bool = True, **parameters: object
) -> Path:
    """:param cells: an array on cells, too; series.xdmf leaves it out."""
    with tr.open(path, "w", engine=engine, grid=grid, parameters=parameters) as out:
        for step in range(steps):
            values = {name: field(grid.points, 100 * step + c) for c, name in enumerate(("ux", "uy", "uz"))}
            shape = tuple(n - 1 for n in grid.points)
            on_cells = {"pp": field(shape, step)} if cells and min(shape) > 0 else {}
            out.write_step(TIMES[step], **values, t=field(grid.points, step, "float32"), **on_cells)
    return path


def drawn(path: Path) -> Path:
    """The file to open of a series."""
    return (
        path / "series.xdmf" if path.is_dir() else Path(f"{path}.xdmf2") if path.suffix in (".h5", ".vtkhdf") else path
    )


def h5(path: Path, grid: tr.UniformGrid, **how: Any) -> Path:
    return write(path / "run.h5", "hdf5", grid, **how)


def converted(path: Path, source: Path, name: str, ranks: int = 1, **how: Any) -> Path:
    more = [f"--{key}={value}" for key, value in how.items()]
    words = ["convert", source, path / name, *(["-n", ranks] if ranks > 1 else []), *more]
    done = mpi_run.finish(mpi_run.start(mpi_run.tailrace_command(*words), path), 120)
    assert done.code == 0, done.text
    return path / name


# What is written for each case, and which file of it is opened.
CASES: dict[str, Callable[[Path], Path]] = {
    "hdf5": lambda at: h5(at, UNIFORM),
    "hdf5, one step": lambda at: h5(at, UNIFORM, steps=1),
    "hdf5, gzip": lambda at: h5(at, UNIFORM, compression="gzip", chunk_bytes=500),
    "hdf5, stretched": lambda at: h5(at, STRETCHED),
    "hdf5, of 2 ranks": lambda at: converted(at, write(at / "from", "raw", UNIFORM), "run.vtkhdf", ranks=2),
    "hdf5, every nth point": lambda at: converted(at, h5(at, STRETCHED), "n.h5", coarsen="2,1,3", precision="float32"),
    **{f"hdf5, {name}": lambda at, n=n: h5(at, tr.UniformGrid(n, *PLACES)) for name, n in PLANES.items()},
    "hdf5, y of a stretched grid": lambda at: h5(at, tr.StretchedGrid(PLANES["y"], *PLACES, ((), (2.0,), ()))),
    "raw": lambda at: write(at / "run", "raw", UNIFORM, cells=False),
    "raw, stretched": lambda at: write(at / "run", "raw", STRETCHED, cells=False),
    "raw, y": lambda at: write(at / "run", "raw", tr.UniformGrid(PLANES["y"], *PLACES), cells=False),
    "mpiio": lambda at: write(at / "run", "mpiio", UNIFORM, cells=False),
    "pvd of bp5, of 2 ranks": lambda at: converted(at, write(at / "run.bp", "bp5", UNIFORM), "run.pvd", ranks=2),
    "pvd of sion, stretched": lambda at: converted(at, write(at / "run.sion", "sion", STRETCHED), "run.pvd", ranks=2),
    "pvd of a plane": lambda at: converted(at, h5(at, tr.UniformGrid(PLANES["y"], *PLACES)), "run.pvd"),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name, make in CASES.items():
        at = tmp_path_factory.mktemp("files")
        found[name] = make(at)
    return found


def show(program: str, files: list[Path]) -> dict[Path, list[dict[str, Any]]]:
    """What a program finds in each file, in a process for all of them."""
    command = [*PROGRAMS[program], show_files.__file__, program, *map(str, files)]
    env = paraview.environment() if program == "paraview" else None
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=240, env=env, check=False)
    lines = [line.removeprefix("shown: ") for line in done.stdout.splitlines() if line.startswith("shown: ")]
    found = {Path(path): steps for path, steps in map(json.loads, lines)}
    left = [file for file in files if file not in found]
    assert not left, f"{left[0]}: {program} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return found


@pytest.fixture(scope="module", params=PROGRAMS)
def shown(request: pytest.FixtureRequest, written: dict[str, Path]) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    program = request.param
    if program == "paraview" and not paraview.is_there():
        pytest.skip(paraview.MISSING)
    if program == "wheel":
        pytest.importorskip("vtk")
    opened = {name: drawn(path) for name, path in written.items()}
    if program == "wheel":  # has no reader for collections: their files are opened
        opened = {name: path for name, path in opened.items() if path.suffix != ".pvd"}
    found = show(program, list(opened.values()))
    return program, {name: found[path] for name, path in opened.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_double_click_shows_all_of_it(
    name: str, written: dict[str, Path], shown: tuple[str, dict[str, list[dict[str, Any]]]]
) -> None:
    program, found = shown
    if name not in found:
        return
    source = tr.open(written[name])
    check(source, found[name], vectors="Xdmf3" not in found[name][0]["reader"])
    if program == "paraview":
        expected = {".xdmf2": "XdmfReader", ".pvd": "PVDReader", ".xdmf": "Xdmf3ReaderS"}
        assert found[name][0]["reader"] == expected[drawn(written[name]).suffix]


def check(source: Any, steps: list[dict[str, Any]], *, vectors: bool = True) -> None:
    """Compare what was shown with the series."""
    assert [step["time"] for step in steps] == [step.time for step in source]
    grid = source.grid
    places = np.stack(np.meshgrid(*reversed(grid.coordinates), indexing="ij"), axis=-1)[..., ::-1].reshape(-1, 3)
    for step, stored in zip(steps, source, strict=True):
        # VTK's image of a plane normal to y has its axes in another order, and its points in the same
        np.testing.assert_allclose(step["points"], places, rtol=0, atol=1e-12)
        points = {name for name, one in stored.variables.items() if one.shape == grid.points}
        wanted = points | ({"velocity"} if vectors else set())
        assert set(step["arrays"]) == wanted
        for name in points:
            dtype, values = step["arrays"][name]
            assert dtype == stored.variables[name].dtype
            np.testing.assert_array_equal(values, stored.read(name).ravel())
        if vectors:
            joined = np.stack([stored.read(name).ravel() for name in ("ux", "uy", "uz")], axis=-1)
            np.testing.assert_array_equal(step["arrays"]["velocity"][1], joined)
        cells = tuple(n - 1 for n in grid.points)
        for name in (name for name, one in stored.variables.items() if one.shape == cells):
            np.testing.assert_array_equal(step["cells"][name][1], stored.read(name).ravel())


def test_vtk_reads_the_vtkhdf_files_themselves(written: dict[str, Path]) -> None:
    """As ParaView 5.12 and newer do under the name .vtkhdf; one step alone, and a stretched grid, it cannot."""
    pytest.importorskip("vtk")
    names = [name for name in CASES if name.startswith("hdf5") and name.rsplit(", ")[-1] not in (
        "one step", "stretched", "every nth point"
    )]  # fmt: skip
    found = show("wheel", [written[name] for name in names])
    for name in names:
        check(tr.open(written[name]), found[written[name]])


def test_a_newer_paraview_opens_vtkhdf_and_bp(tmp_path: Path) -> None:
    if not paraview.is_there():
        pytest.skip(paraview.MISSING)
    if paraview.version() < (5, 12):
        pytest.skip("this ParaView knows no .vtkhdf; 5.12 and newer do")
    # not planes normal to x and y, on which VTK 9.4 aborts if it is built with its assertions, as by Debian
    of_hdf5 = [write(tmp_path / f"{name}.vtkhdf", "hdf5", tr.UniformGrid(PLANES[name], *PLACES)) for name in "z"]
    of_hdf5.append(write(tmp_path / "run.vtkhdf", "hdf5", UNIFORM))
    of_bp = [write(tmp_path / f"run.{end}", engine, UNIFORM, cells=False) for end, engine in BP]
    found = show("paraview", [*of_hdf5, *of_bp])
    for path in of_hdf5:
        check(tr.open(path), found[path])
    for path in of_bp:
        check(tr.open(path), found[path], vectors=False)


def test_each_file_of_a_collection_is_whole(written: dict[str, Path]) -> None:
    pytest.importorskip("vtk")
    for name in (one for one in CASES if one.startswith("pvd")):
        files = [Path(file) for file in tr.open(written[name]).files if not file.endswith(".pvd")]
        found = show("wheel", files)
        steps = [found[file][0] for file in files]
        for step in steps:
            assert step["time"] == step["field"]["TimeValue"][1][0]
        check(tr.open(written[name]), steps)


def test_lists_are_field_data(tmp_path: Path) -> None:
    rows = np.arange(12.0).reshape(4, 3)
    with tr.open(tmp_path / "run.bp", "w", grid=UNIFORM) as out:
        for step in range(2):
            out.begin_step(step, float(step))
            out.write("t", field(SHAPE, step))
            out.write_list("particles", rows[: 4 - step] + step)
            out.end_step()
    done = tr.convert(tmp_path / "run.bp", tmp_path / "run.pvd")
    assert done.verified
    with tr.open(tmp_path / "run.pvd") as found:
        assert [step.read("particles").tolist() for step in found] == [rows.tolist(), (rows[:3] + 1).tolist()]
    pytest.importorskip("vtk")
    shown = show("wheel", [tmp_path / "run.pvd.steps" / "step-000001.vti"])
    ((step,),) = shown.values()
    assert step["field"]["particles"][1] == (rows[:3] + 1).tolist()
