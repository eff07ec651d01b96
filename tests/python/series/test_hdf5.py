"""What only hdf5 series have: filters, variables that come and go, stretched grids; and damage, looked at with h5py and
VTK."""

from __future__ import annotations

import os
import pickle
import random
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.harness.kept import KEPT
from helpers.programs.series import hdf5_programs
from tailrace.core import InputError
from tailrace.io import series as tr

h5py = pytest.importorskip("h5py")

DAMAGES = max(10, int(os.environ.get("TAILRACE_TEST_DAMAGES", "4")))  # see test_faults.py
SHAPE = (17, 12, 9)
NX, NY, NZ = SHAPE
GRID = tr.UniformGrid(SHAPE, (0.5, -1.0, 2.0), (0.1, 0.2, 0.3))


def field(salt: float = 0.0) -> np.ndarray:
    return np.arange(NX) + 100.0 * np.arange(NY)[:, None] + 10000.0 * np.arange(NZ)[:, None, None] + salt


def vtk_array(reader, moment: float, name: str) -> np.ndarray | None:
    from vtk.util.numpy_support import vtk_to_numpy

    reader.UpdateTimeStep(moment)
    data = reader.GetOutputDataObject(0)
    while data.IsA("vtkMultiBlockDataSet"):
        data = data.GetBlock(0)
    return vtk_to_numpy(data.GetPointData().GetArray(name)).reshape(NZ, NY, NX)


def test_variables_come_and_go(tmp_path):
    path = tmp_path / "run.h5"
    with tr.open(path, "w", grid=GRID) as out:
        out.write_step(0.0, index=0, ux=field())
        out.write_step(1.0, index=1, ux=field(1), pp=field(11))
        out.write_step(2.0, index=2, ux=field(2))
        out.write_step(3.0, index=3, ux=field(3), pp=field(13))
    with tr.open(path, "a", rewind_to=2) as out:  # the place of a dropped value must not show it
        out.write_step(3.0, index=4, ux=field(4))
    series = tr.open(path)
    assert [sorted(step.names) for step in series] == [["ux"], ["pp", "ux"], ["ux"], ["ux"]]
    np.testing.assert_array_equal(series[1]["pp"], field(11))
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["VTKHDF/PointData/pp"][1], field(11))
        for absent in (0, 2, 3):
            assert not file["VTKHDF/PointData/pp"][absent].any()
    vtk = pytest.importorskip("vtk")
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    np.testing.assert_array_equal(vtk_array(reader, 1.0, "pp"), field(11))
    np.testing.assert_array_equal(vtk_array(reader, 2.0, "ux"), field(2))


@pytest.mark.parametrize("compression", ["gzip", "szip"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_filters(tmp_path, compression, ranks):
    path = tmp_path / "run.h5"
    KEPT.ranks(ranks).results(hdf5_programs.write_filtered, limit=100, path=str(path), compression=compression)
    expected = [field(), field(1), field(50)]
    series = tr.open(path)
    assert not any(step.verify() for step in series)
    for step, values in zip(series, expected, strict=True):
        np.testing.assert_array_equal(step["ux"], values)
    with h5py.File(path) as file:
        data = file["VTKHDF/PointData/ux"]
        assert data.compression == compression and data.shape[0] == 3
        for row, values in enumerate(expected):
            np.testing.assert_array_equal(data[row], values)
    vtk = pytest.importorskip("vtk")
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    if compression == "gzip":  # VTK's own HDF5 has no szip
        np.testing.assert_array_equal(vtk_array(reader, 2.0, "ux"), field(50))


def test_filtered_chunks_of_more_than_one_round(tmp_path):
    """Ranks compress 32 MiB at once; what is left after the last whole round is stored, too."""
    values = np.add.outer(np.arange(160, dtype=np.float32), np.zeros((256, 256), np.float32))
    with tr.open(tmp_path / "run.h5", "w", parameters={"compression": "gzip", "chunk_bytes": 1 << 20}) as out:
        out.write_step(0.0, ux=values)
    np.testing.assert_array_equal(tr.open(tmp_path / "run.h5")[0]["ux"], values)


@pytest.mark.parametrize("compression", ["gzip", "szip"])
def test_values_that_no_compression_makes_smaller(tmp_path, compression):
    """The library stores a chunk that would grow as it is, and the file says so: szip leaves it out here."""
    values = np.frombuffer(np.random.default_rng(1).bytes(4096)).reshape(8, 8, 8)
    with tr.open(tmp_path / "run.h5", "w", parameters={"compression": compression, "checksums": True}) as out:
        out.write_step(0.0, ux=values)
    series = tr.open(tmp_path / "run.h5")
    assert series[0]["ux"].tobytes() == values.tobytes()
    assert not series.verify()
    with h5py.File(tmp_path / "run.h5") as file:
        left_out = file["VTKHDF/PointData/ux"].id.get_chunk_info(0).filter_mask
    assert left_out or compression == "gzip"


def test_gzip_makes_files_smaller(tmp_path):
    sizes = {}
    for name, parameters in {"none": {}, "gzip": {"compression": "gzip", "level": 1}}.items():
        with tr.open(tmp_path / f"{name}.h5", "w", parameters=parameters) as out:
            out.write_step(0.0, ux=np.tile(field(), (8, 8, 8)), index=0)
        sizes[name] = (tmp_path / f"{name}.h5").stat().st_size
    assert sizes["gzip"] < sizes["none"] / 3


@pytest.mark.parametrize(
    ("parameters", "shape", "multiple"),
    [({}, (67, 256, 256), 2 << 20), ({"alignment": 1 << 18}, (3, 256, 256), 1 << 18)],
)
def test_large_chunks_begin_at_multiples(tmp_path, parameters, shape, multiple):
    path = tmp_path / "run.h5"
    with tr.open(path, "w", parameters=parameters) as out:
        for step in range(3):
            out.write_step(float(step), index=step, p=np.full(shape, 0.5 + step), ux=np.full(shape, 10.0 + step))
    with h5py.File(path) as file:
        for name, base in (("p", 0.5), ("ux", 10.0)):
            data = file[f"VTKHDF/PointData/{name}"]
            places = [data.id.get_chunk_info(chunk).byte_offset for chunk in range(data.id.get_num_chunks())]
            assert len(places) == 3 and not any(place % multiple for place in places)
            for step in range(3):
                np.testing.assert_array_equal(data[step], base + step)
    assert path.stat().st_size < 6.4 * shape[0] * shape[1] * shape[2] * 8 + 6 * multiple * bool(parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"compression": "gzip", "transfer": "collective"}, "transfer"),
        ({"compression": "gzip", "level": 10}, "levels 1 to 9"),
        ({"shuffle": True}, "compression = gzip"),
        ({"level": 3}, "level"),
    ],
)
def test_refuses_what_makes_no_sense(tmp_path, parameters, message):
    with pytest.raises(InputError, match=message):
        tr.open(tmp_path / "run.h5", "w", parameters=parameters)


@pytest.mark.parametrize("name", ["run.h5", "run", "run.bp", "run.sion"])
def test_stretched_grid(tmp_path, name):
    y = np.tanh(np.linspace(-1.0, 1.0, NY))
    grid = tr.StretchedGrid(SHAPE, (0.0, -1.0, 0.0), (0.5, 0.1, 0.25), ((), tuple(y), ()))
    path = tmp_path / name
    for first in (0, 1):
        with tr.open(path, "a" if first else "w", grid=grid) as out:
            out.write_step(float(first), index=first, ux=field(first))
    found = tr.open(path).grid
    assert isinstance(found, tr.StretchedGrid)
    np.testing.assert_array_equal(found.coordinates[1], y)
    assert found.uneven[0] == () and len(found.coordinates[0]) == NX
    drawing = {"run.h5": tmp_path / "run.h5.xdmf2", "run": path / "series.xdmf"}.get(name)
    if drawing is None:
        return
    if name == "run.h5":
        with h5py.File(path) as file:
            assert "Type" not in file["VTKHDF"].attrs, "ImageData would have all points at wrong places"
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkXdmfReader()
    reader.SetFileName(str(drawing))
    reader.UpdateInformation()
    for step in (0, 1):
        np.testing.assert_array_equal(vtk_array(reader, float(step), "ux"), field(step))
    data = reader.GetOutputDataObject(0)
    while data.IsA("vtkMultiBlockDataSet"):
        data = data.GetBlock(0)
    np.testing.assert_allclose(vtk_to_numpy(data.GetYCoordinates()), y)
    np.testing.assert_allclose(vtk_to_numpy(data.GetXCoordinates()), 0.5 * np.arange(NX))


def test_a_step_that_failed_is_not_drawn(tmp_path):
    """Its scalar of another type is found after the drawing was made."""
    grid = tr.StretchedGrid(SHAPE, coordinates=((), tuple(np.linspace(0.0, 1.0, NY) ** 2), ()))
    with tr.open(tmp_path / "run.h5", "w", grid=grid) as out:
        out.write_step(0.0, index=0, ux=field(), scalars={"energy": 0.5})
        with pytest.raises(InputError, match="'energy' is a float in the steps before"):
            out.write_step(1.0, index=1, ux=field(), scalars={"energy": "none"})
        out.write_step(2.0, index=2, ux=field(2), scalars={"energy": 0.25})
    drawn = ElementTree.parse(tmp_path / "run.h5.xdmf2").findall(".//Grid[@GridType='Uniform']")
    assert [(each.get("Name"), each.find("Time").get("Value")) for each in drawn] == [("0", "0"), ("2", "2")]
    rows = [each.findtext("Attribute/DataItem/DataItem").split()[0] for each in drawn]
    assert rows == ["0", "1"], "where the steps lie in the dataset"


def test_scalars_that_later_steps_lack(tmp_path):
    """Other programs find a value for each step, and the file is no damaged one to us."""
    path = tmp_path / "run.h5"
    for first in (0, 2):
        with tr.open(path, "a" if first else "w") as out:
            out.write_step(0.0, index=first, ux=field(), scalars={"energy": 0.5, "count": 3, "word": "yes"})
            out.write_step(1.0, index=first + 1, ux=field())
        with h5py.File(path) as file:
            stored = {name: data[:].tolist() for name, data in file["Tailrace/scalars"].items()}
        assert {len(values) for values in stored.values()} == {first + 2}
        assert np.isnan(stored["energy"][-1])
        assert (stored["count"][-1], stored["word"][-1]) == (0, b"")
        assert tr.open(path).verify() == []


@pytest.mark.parametrize("variables", [["ux"], ["ux", "pp"]])
def test_rewinding_cuts_what_other_programs_read(tmp_path, variables):
    path = tmp_path / "run.h5"
    with tr.open(path, "w", grid=GRID) as out:
        for step in range(4):
            arrays = {name: field(step) for name in variables}
            out.write_step(0.5 * step, index=step, scalars={"energy": 1.0 + step, "name": f"step {step}"}, **arrays)
    tr.open(path, "a", rewind_to=1).close()
    with h5py.File(path) as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 2
        np.testing.assert_array_equal(file["VTKHDF/Steps/Values"], [0.0, 0.5])
        np.testing.assert_array_equal(file["Tailrace/index"], [0, 1])
        np.testing.assert_array_equal(file["Tailrace/scalars/energy"], [1.0, 2.0])
        assert list(file["Tailrace/scalars/name"].asstr()) == ["step 0", "step 1"]


def test_rows_beyond_the_last_step_are_not_read(tmp_path):
    """Another program may write rows before it counts the step."""
    path = tmp_path / "run.h5"
    with tr.open(path, "w", grid=GRID) as out:
        for step in range(3):
            out.write_step(0.5 * step, {"ux": field(step)}, index=step, scalars={"energy": 1.0 + step})
    with h5py.File(path, "a") as file:
        for name in ("VTKHDF/Steps/Values", "Tailrace/index", "Tailrace/scalars/energy"):
            file[name].resize((5,))
    with tr.open(path) as stored:
        assert list(stored.times) == [0.0, 0.5, 1.0]
        assert [step.scalars["energy"] for step in stored] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("how", ["removed", "replaced"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_file_that_goes_away_is_an_error(tmp_path, how, ranks):
    path = tmp_path / "run.h5"
    for errors in KEPT.ranks(ranks).results(hdf5_programs.lose_the_file, path=str(path), how=how):
        assert len(errors) == 2 and all("removed, or replaced" in one and str(path) in one for one in errors), errors
    assert len(tr.open(path.with_name("run.h5.moved"), engine="hdf5")) == 1
    assert path.read_text() == "precious" if how == "replaced" else not path.exists()
    assert not path.with_name("run.h5.journal").exists()


def test_reads_while_a_step_is_written(tmp_path):
    path = tmp_path / "run.h5"
    out = tr.open(path, "w", grid=GRID)
    out.write_step(0.0, index=0, ux=field())
    out.begin_step(1, 1.0)
    out.write("ux", field(1))
    series = tr.open(path)  # had it to wait for the end of the step, it would give up
    np.testing.assert_array_equal(series[0]["ux"], field())
    with h5py.File(path) as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 1
    out.end_step()
    out.close()
    assert len(tr.open(path)) == 2


def write_small(path: Path) -> None:
    """A file that is metadata for the most part."""
    with tr.open(path, "w", grid=tr.UniformGrid((4, 3, 2))) as out:
        out.set_attribute("case", "tgv")
        out.set_attribute("reynolds", 1600.0)
        for step in range(3):
            values = np.full((2, 3, 4), float(step))
            out.write_step(0.5 * step, index=step, ux=values, scalars={"energy": 0.5 / (step + 1)})


def everything(path: Path) -> object:
    """All that our reader says of a file; an error is None."""
    try:
        series = tr.open(path)
        steps = [(s.index, s.time, s.scalars, {name: s[name].tolist() for name in s.names}) for s in series]
        return series.attributes, series.grid, steps
    except (OSError, RuntimeError):
        return None


def verify(path: Path) -> int:
    result = mpi_run.tailrace("verify", path, cwd=path.parent, limit=60)
    assert "Traceback" not in result.text
    return result.code


PROBE = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from series.test_hdf5 import everything
pickle.dump(everything(Path(sys.argv[2])), open(sys.argv[3], "wb"))
"""


def read_apart(path: Path) -> object:
    """`everything` in a process of its own, which a crash of HDF5 would end."""
    answer = path.with_suffix(".pickle")
    command = [sys.executable, "-c", PROBE, Path(__file__).parents[1], path, answer]
    result = mpi_run.finish(mpi_run.start(command, path.parent), 60)
    assert result.code == 0, result.text
    return pickle.loads(answer.read_bytes())


@pytest.mark.slow
def test_damage_is_found(tmp_path):
    whole, hurt = tmp_path / "whole.h5", tmp_path / "hurt.h5"
    write_small(whole)
    original, told = whole.read_bytes(), everything(whole)
    dice = random.Random(4)
    missed = []
    for _ in range(DAMAGES):
        at = dice.randrange(len(original))
        changed = bytearray(original)
        changed[at] ^= 1 << dice.randrange(8)
        hurt.write_bytes(changed)
        code = verify(hurt)
        assert code in (0, 1, 2)
        if code == 0 and read_apart(hurt) != told:
            missed.append(at)
    assert len(missed) <= 1, f"flips that change what is read and were not found: {missed}"
    for _ in range(DAMAGES):
        hurt.write_bytes(original[: dice.randrange(len(original))])
        assert verify(hurt) in (1, 2)


def test_blocks_that_leave_out_a_plane_are_an_error_on_all_ranks(tmp_path, three):
    """They overlap elsewhere, so that their number of points is right. No rank waits for the owner of a chunk."""
    for said, steps in three.results(hdf5_programs.leave_a_gap, path=str(tmp_path / "run.h5")):
        assert said.startswith(
            "no rank has the point (x, y, z) = (0, 0, 0): the blocks of the ranks must fill the whole"
        )
        assert steps == [1]
