"""BP directories of other programs. Those in tests/data/bp were written with the Python package adios2 2.12.1."""

import os
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.of_dataset import read
from tailrace import core as _core
from tailrace.formats.generic import bp
from tailrace.formats.generic import dataset_at as recognised_at
from tailrace.io.placement import Box

DATA = Path(__file__).parents[3] / "data" / "bp"
SHAPE = (4, 3, 5)


@pytest.fixture(scope="module", params=["bp4", "bp5"])
def found(request):
    return pickle.loads(pickle.dumps(recognised_at(DATA / f"foreign.{request.param}")))


def test_steps_have_the_times_and_numbers_of_their_variables(found):
    assert found.steps == [(0, 0.0), (10, 0.5), (20, 1.0)]
    assert found.scalars(2) == {"iteration": 20}
    assert found.attributes == {"title": "a run", "nu": 0.25, "flow_ux/units": "m/s"}


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_texts_of_steps(tmp_path, engine):
    with tr.open(tmp_path / "run", "w", engine=engine) as out:
        for said in ("first", "second"):
            out.write_step(0.0, scalars={"said": said, "count": 3})
    file = _core.ForeignBp(str(tmp_path / "run"))
    assert [file.value(step, "said") for step in (0, 1)] == ["first", "second"] and file.value(1, "count") == 3


def test_boxes_of_arrays(found):
    whole = np.arange(60.0).reshape(SHAPE) + 200
    assert np.array_equal(read(found, 2, "flow_ux"), whole)
    box = Box((1, 2, 0), (3, 1, 4))
    assert np.array_equal(read(found, 2, "flow_ux", box), whole[:, 2:3, 1:4])
    assert np.array_equal(read(found, 2, "flow_ux", box, "float32"), whole[:, 2:3, 1:4].astype("f4"))
    assert found.vectors(0) == {"v": ("v_x", "v_y", "v_z")}
    assert np.array_equal(read(found, 1, "v_y", box), (np.arange(60.0).reshape(SHAPE) + 61)[:, 2:3, 1:4])


def test_a_variable_that_early_steps_do_not_have(found):
    assert "late" not in found.variables(0)
    assert np.array_equal(read(found, 2, "late")[0], np.arange(6).reshape(2, 3) + 2)
    assert read(found, 1, "late", Box((1, 1, 0), (2, 1, 1))).ravel().tolist() == [5, 6]


def test_blocks_without_places_are_joined(found):
    blocks = [np.arange(6.0).reshape(3, 2) + 10 + add for add in (0, 5)]
    assert np.array_equal(read(found, 1, "part")[0], np.concatenate(blocks))
    assert read(found, 1, "part", Box((1, 2, 0), (1, 2, 1))).ravel().tolist() == [15, 16]


def test_types_that_are_not_ours(found):
    assert found.variables(0)["i8"].dtype == "int8"
    assert read(found, 0, "i8").ravel().tolist() == [-3, -2, -1, 0, 1, 2]
    assert not any("'i8'" in note for note in found.notes)
    assert any("'cplx' has the type float complex" in note for note in found.notes)


def test_the_core_refuses_what_is_not_there():
    file = _core.ForeignBp(str(DATA / "foreign.bp5"))
    out = np.zeros((1, 1, 2))
    with pytest.raises(_core.InputError, match=r"shape \(4, 3, 5\)"):
        file.read(0, "flow/ux", 0, [0, 0, 4], out)
    with pytest.raises(_core.InputError, match="asked for were float32"):
        file.read(0, "flow/ux", 0, [0, 0, 0], out.astype("f4"))
    with pytest.raises(_core.InputError, match="no variable 'late' in step 0"):
        file.read(0, "late", 0, [0, 0], out[0])
    with pytest.raises(_core.InputError, match="has 2 blocks"):
        file.read(0, "part", 2, [0, 0], np.empty((1, 1), "f4"))
    with pytest.raises(_core.InputError, match="is an array"):
        file.value(0, "part")


@pytest.mark.parametrize("name", ["md.idx", "mmd.0"])
def test_a_cut_file_is_an_error_or_has_fewer_steps(tmp_path, name):
    whole = shutil.copytree(DATA / "foreign.bp5", tmp_path / "x.bp")
    for file in whole.iterdir():
        file.chmod(0o644)
    os.truncate(whole / name, (whole / name).stat().st_size - 40)
    if name == "md.idx":
        assert len(bp.dataset_at(whole).steps) == 2
    else:
        with pytest.raises(_core.IoError, match=r"x\.bp"):
            bp.dataset_at(whole)


def test_values_that_are_cut_off_are_found_when_it_is_opened(tmp_path, monkeypatch):
    whole = shutil.copytree(DATA / "foreign.bp4", tmp_path / "x.bp")
    (whole / "data.0").chmod(0o644)
    os.truncate(whole / "data.0", (whole / "data.0").stat().st_size - 40)
    monkeypatch.setattr("tailrace.io.guard._SECONDS", 3)
    with pytest.raises(_core.IoError, match="did not return within 3 s"):
        bp.dataset_at(whole)


def test_links_that_lead_out_are_refused(tmp_path):
    whole = shutil.copytree(DATA / "foreign.bp4", tmp_path / "x.bp")
    (whole / "data.0").rename(tmp_path / "data")
    (whole / "data.0").symlink_to(tmp_path / "data")
    with pytest.raises(_core.IoError, match=r"data\.0: expected a file of the BP directory, found a link"):
        bp.dataset_at(whole)


def test_series_of_ours_are_none(tmp_path):
    path = tmp_path / "x.bp"
    with tr.open(path, "w", engine="bp5") as series:
        series.write_step(0.5, index=0, u=np.zeros(SHAPE))
    assert bp.dataset_at(path) is None
    (path / "tailrace.json").unlink()
    assert bp.dataset_at(path) is None


@pytest.mark.skipif("TAILRACE_SAMPLES" not in os.environ, reason="TAILRACE_SAMPLES is not set")
def test_output_of_xcompact3d():
    sample = Path(os.environ["TAILRACE_SAMPLES"]) / "xcompact3d" / "bp4_33" / "data.bp4"
    found = bp.dataset_at(sample)
    assert len(found.steps) == 5
    ux = read(found, 0, "ux")
    assert ux.shape == (33, 33, 33)
    # The Taylor-Green vortex at the beginning, sin x cos y cos z, in an octant of its box.
    x = np.linspace(0, np.pi, 33)
    exact = np.cos(x)[:, None, None] * np.cos(x)[None, :, None] * np.sin(x)[None, None, :]
    assert abs(ux - exact).max() < 0.02
    box = Box((3, 5, 7), (9, 8, 2))
    assert np.array_equal(read(found, 4, "pp", box), read(found, 4, "pp")[7:9, 5:13, 3:12])


@pytest.fixture(scope="module", params=["bp4", "bp5"])
def gaps(request):
    """Overlapping blocks that leave a box out, blocks without values, uint64 beyond int64, names that become the same.

    In the step s: u = arange(60) + 100 s, (4, 3, 5), not at (1, 1, 2), count (1, 2, 3).
    """
    return pickle.loads(pickle.dumps(recognised_at(DATA / f"gaps.{request.param}")))


def test_what_no_process_has_written_is_an_error(gaps):
    whole = np.arange(60.0).reshape(SHAPE) + 100
    for box in (Box((0, 0, 0), (2, 3, 3)), Box((1, 0, 2), (4, 3, 2)), Box((0, 0, 0), (5, 1, 2))):
        (x, y, z), (nx, ny, nz) = box
        assert np.array_equal(read(gaps, 1, "u", box), whole[z : z + nz, y : y + ny, x : x + nx])
    with pytest.raises(_core.IoError, match=r"'u' was not written at \(1, 1, 2\), count \(1, 2, 3\)"):
        read(gaps, 1, "u", Box((0, 0, 0), (5, 3, 3)))
    with pytest.raises(_core.IoError, match=r"\(1, 2, 3\), count \(1, 1, 1\)"):
        read(gaps, 1, "u", Box((3, 2, 1), (1, 1, 2)))


def test_blocks_without_values_are_no_rows(gaps):
    assert read(gaps, 1, "p_a_2").ravel().tolist() == [10, 11, 10, 11, 12]
    assert np.array_equal(read(gaps, 1, "p_a")[0], [[1, 2], [3, 4]])
    if "late" in gaps.variables(1):  # ADIOS2 takes it for a single value, 0, in BP4, where the first block is empty
        assert read(gaps, 1, "late").ravel().tolist() == [20, 21]
    else:
        assert any("'late' has the type float64 in blocks of which the first is empty" in one for one in gaps.notes)


def test_whole_numbers_beyond_int64_are_left_out(gaps):
    assert gaps.scalars(1) == {"small": 8}
    assert any("'big' is 2^63 or more" in note for note in gaps.notes)
    assert any("the attributes large, larges are complex numbers, or 2^63 and more" in note for note in gaps.notes)
    with pytest.raises(_core.IoError, match="'big' is 9223372036854775813 in step 1"):
        _core.ForeignBp(gaps.path).value(1, "big")


def test_attributes_whose_names_become_the_same(gaps):
    assert gaps.attributes == {"a_b": 2.0, "a_b_2": 1.0}


def test_what_only_series_of_ours_can_do_is_refused():
    with tr.open(DATA / "foreign.bp5") as series:
        for call in (series.flush, series.end_step, lambda: series.set_attribute("case", "other")):
            with pytest.raises(_core.InputError, match=r"foreign\.bp5: is open to read"):
                call()


class OneTime:
    """A file whose steps have their time as an array of one value."""

    def __init__(self, times):
        self._times = times

    def steps(self):
        return len(self._times)

    def variables(self, step):
        found = [("fields/p", "float64", [2, 3, 4], [])]
        return found if self._times[step] is None else [*found, ("time", "float32", [1], [])]

    def read(self, step, name, block, start, out):
        assert (name, block, start, out.dtype) == ("time", 0, [0], np.float32)
        out[...] = self._times[step]


@pytest.mark.parametrize(
    ("times", "attributes", "steps", "timed"),
    [
        ((0.5,), {}, [(0, 0.5)], True),
        ((0.5, 0.75), {}, [(0, 0.5), (1, 0.75)], True),
        ((0.5, None), {}, [(0, 0.0), (1, 1.0)], False),
        ((None,), {}, [(0, 0.0)], False),
        ((None,), {"time": 2.5}, [(0, 2.5)], True),
        ((None,), {"time": "noon"}, [(0, 0.0)], False),
        ((None, None), {"time": 2.5}, [(0, 0.0), (1, 1.0)], False),
    ],
)
def test_times_that_are_arrays_of_one_value_or_an_attribute(times, attributes, steps, timed):
    parts = {"fields_p": SimpleNamespace(shape=(2, 3, 4))}
    if times[0] is not None:
        parts["time_stored"] = SimpleNamespace(shape=(1,))
    layouts = [SimpleNamespace(parts=parts) for _ in times]
    told = SimpleNamespace(scalars=[() for _ in times], layouts=layouts, attributes=attributes, timed=True)
    notes = {}
    assert bp._steps(OneTime(times), told, notes) == steps
    assert told.timed == timed and any("the number of the step stands for it" in one for one in notes) != timed
