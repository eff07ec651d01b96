"""openPMD in BP directories, in its three encodings. openPMD-api 0.17.1 has written those in tests/data/openpmd."""

import pickle
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from tailrace.formats.generic import dataset_at
from tailrace.io.placement import Box

DATA = Path(__file__).parents[3] / "data" / "openpmd"
NUMBERS = (4, 8)
POINTS = np.arange(24.0).reshape(2, 3, 4)
WHOLE = ["groups.bp", "groups.bp4", "variables.bp", "variables.bp4"]


@pytest.fixture(params=[*WHOLE, "files_*.bp"])
def series(request):
    with tr.open(DATA / request.param) as found:
        yield found


def test_iterations_are_the_steps_and_all_is_in_units_of_the_si(series):
    is_bp4_of_variables = series.path.endswith("variables.bp4")  # it keeps only the last number and time
    times = [0.0, 1.0] if is_bp4_of_variables else [2.0, 4.0]  # 0.25 * number * timeUnitSI
    assert list(series.times) == times
    assert [step.index for step in series] == ([0, 1] if is_bp4_of_variables else list(NUMBERS))
    for step, number in zip(series, NUMBERS, strict=True):
        for factor, axis in zip((1, 2, 3), "xyz", strict=True):
            np.testing.assert_array_equal(np.asarray(step[f"E_{axis}"]), 3 * (factor * POINTS + number))
        assert step["rho"].dtype == np.float32
        np.testing.assert_array_equal(np.asarray(step["rho"]), POINTS + number)
        np.testing.assert_array_equal(np.asarray(step["e_position_x"]).ravel(), 2 * (np.arange(3) + number))
        assert step.vectors == {"E": ("E_x", "E_y", "E_z")} and step.scalars == {"mean": 7.0}


def test_the_grid_has_the_axes_of_the_labels(series):
    assert series.grid.points == (4, 3, 2)
    assert series.grid.origin == pytest.approx((30, 20, 10)) and series.grid.spacing == pytest.approx((3, 2, 1))


def test_what_the_library_keeps_for_itself_is_not_shown(series):
    assert not [name for name in series.attributes if "__openPMD" in name or "snapshot" in name]
    assert series.attributes["openPMD"] == "1.1.0"
    assert not [
        name for name in series.attributes if name.startswith("E_") and name.endswith("unitSI")
    ]  # it is applied


@pytest.mark.parametrize("name", WHOLE)
def test_parts_of_arrays_and_pickles(name):
    found = pickle.loads(pickle.dumps(dataset_at(DATA / name)))
    out = np.empty((1, 3, 2))
    found.read(1, "E_y", Box((1, 0, 1), (2, 3, 1)), out)
    np.testing.assert_array_equal(out, 3 * (2 * POINTS + 8)[1:2, :, 1:3])
    said = " ".join(found.notes)
    assert "the iterations in '/data' are the steps; values, places and times are in units of the SI" in said
    assert ("BP4 keeps only the last number and time" in said) == (name == "variables.bp4")
    assert found.timed == (name != "variables.bp4")


def test_commands_take_it(tmp_path):
    target = tmp_path / "all.h5"
    said = tr.convert(DATA / "groups.bp", target)
    assert said.verified and said.steps == 2
    with tr.open(target) as found:
        np.testing.assert_array_equal(np.asarray(found[1]["E_z"]), 3 * (3 * POINTS + 8))
    shown = mpi_run.tailrace("info", str(DATA / "variables.bp"), cwd=tmp_path, limit=60)
    assert shown.code == 0 and "2: index 4 to 8, time 2 to 4" in shown.out
    checked = mpi_run.tailrace("verify", str(DATA / "files_*.bp"), cwd=tmp_path, limit=60)
    assert checked.code == 0, checked.text


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_was_cut_off_is_an_error(tmp_path, name):
    shutil.copytree(DATA / name, tmp_path / name)
    data = tmp_path / name / "data.0"
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    with pytest.raises(tr.IoError), tr.open(tmp_path / name, comm=MPI.COMM_SELF) as found:
        for step in found:
            for array in step.names:
                np.asarray(step[array])


def test_an_operator_that_our_adios2_lacks_is_no_damage(tmp_path):
    with pytest.raises(tr.InputError, match=r"packed by blosc, without which .* not damaged. To fix this, write them"):
        tr.open(DATA / "blosc.bp")
    said = mpi_run.tailrace("verify", str(DATA / "blosc.bp"), str(DATA / "groups.bp"), cwd=tmp_path, limit=60)
    assert said.code == 2 and "packed by blosc" in said.err and "damaged:" not in said.text
    assert "groups.bp: 2 steps" in said.out


def test_constant_records_and_iterations_with_zeros_before_their_numbers(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as out:
        out.attrs.update({"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "meshes/"})
        for number in ("0100", "0200"):
            out[f"data/{number}/meshes/rho"] = POINTS
            out[f"data/{number}"].attrs["time"] = float(number) / 1000
            charge = out.create_group(f"data/{number}/particles/e/charge")
            charge.attrs.update({"value": -1.0, "shape": np.array([3]), "unitSI": 1.6e-19})
    with tr.open(tmp_path / "a.h5") as found:
        assert [(step.index, step.time) for step in found] == [(100, 0.1), (200, 0.2)]
        for step in found:
            np.testing.assert_array_equal(step.read("rho"), POINTS)
            assert step.scalars["e_charge"] == -1.6e-19
