"""Averages, slices, particles, stalkers and time series of the Pencil Code, from files written from the layout."""

import os
import pickle
import random
import shutil
import struct
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.pencil_data import AVERAGES, HISTORY, TIMES, Run
from tailrace import core as _core
from tailrace.formats.pencil.auxiliary import auxiliary_at, auxiliary_in
from tailrace.formats.pencil.run.dimensions import read_dim
from tailrace.formats.pencil.run.sources import source_at
from tailrace.formats.pencil.snapshots.hdf5 import Hdf5Snapshot
from tailrace.formats.pencil.time_series import read_time_series
from tailrace.io.placement import Box
from tailrace.render.tables import read_table

NAMES = {"names": ",".join(AVERAGES)}


@pytest.fixture(params=[("<", "f8"), (">", "f4")], ids=["little double", "big single"])
def run(request, tmp_path):
    return Run(tmp_path / "data", *request.param)


def opened(path, parameters=None):
    """The dataset as other ranks get it."""
    return pickle.loads(pickle.dumps(auxiliary_at(Path(path), parameters or {})))


def whole(dataset, position, name):
    stored = dataset.variables(position)[name]
    out = np.full(tuple(reversed(stored.shape)), 7, stored.dtype)
    dataset.read(position, name, Box((0, 0, 0), stored.shape), out)
    return out


def test_slices_of_processes_are_put_together(run):
    planes = run.add_slices()
    for plane, values in planes.items():
        found = opened(next(run.data.glob(f"proc*/slice_bb1.{plane}")))
        assert found.steps == [(1, 0.0), (2, 0.25), (3, 0.5)]
        for at in range(3):
            got = whole(found, at, "bb1")
            assert got.dtype == run.real[1:]
            np.testing.assert_array_equal(got.squeeze(), values[at])
        assert found.scalars(1)["coordinate"] == 4  # the first point behind three ghost zones
        assert found.check(2) == []


def test_a_box_of_a_slice_crosses_processes(run):
    values = run.add_slices()["xz"]
    found = opened(run.data / "proc0" / "slice_bb1.xz")
    out = np.zeros((2, 1, 5), run.real[1:])
    found.read(2, "bb1", Box((2, 0, 1), (5, 1, 2)), out)
    np.testing.assert_array_equal(out[:, 0], values[2, 1:3, 2:7])


def test_averages_of_processes_and_as_text(run):
    over_z, lines = run.add_averages()
    found = opened(run.data / "proc1" / "zaverages.dat", NAMES)
    assert [time for _, time in found.steps] == list(TIMES)
    for at, name in enumerate(AVERAGES):
        np.testing.assert_array_equal(whole(found, 1, name)[0], over_z[1, at])
    text = opened(run.data / "xyaverages.dat", {"names": "bxmz,bymz"})
    np.testing.assert_array_equal(whole(text, 2, "bymz").ravel(), lines[2, 1].astype(run.real[1:]))
    part = np.zeros((2, 1, 1), run.real[1:])
    text.read(0, "bymz", Box((0, 0, 1), (1, 1, 2)), part)
    np.testing.assert_array_equal(part.ravel(), lines[0, 1, 1:3].astype(run.real[1:]))
    assert list(opened(run.data / "xyaverages.dat").variables(0)) == ["average1", "average2"]


def test_names_come_from_the_list_of_the_run(run):
    run.add_averages()
    (run.data.parent / "zaver.in").write_text("bxmxy(e12.4)\n# no name\nbymxy\n bzmxy  ! last\n")
    assert list(opened(run.data / "proc0" / "zaverages.dat").variables(0)) == list(AVERAGES)
    with pytest.raises(_core.InputError, match="3 averages at each time; found 2 names"):
        auxiliary_at(run.data / "proc0" / "zaverages.dat", {"names": "a,b"})
    with pytest.raises(_core.InputError, match="'name' is unknown; there is names"):
        auxiliary_at(run.data / "proc0" / "zaverages.dat", {"name": "a,b"})


def test_a_restart_from_an_older_snapshot_replaces_what_came_later(run):
    times = (0.0, 0.25, 0.5, 0.75, 0.25, 0.625)
    over_z, _ = run.add_averages(times)
    planes = run.add_slices(times=times)
    found = opened(run.data / "proc0" / "zaverages.dat", NAMES)
    assert [time for _, time in found.steps] == [0.0, 0.25, 0.625]
    np.testing.assert_array_equal(whole(found, 1, "bzmxy")[0], over_z[4, 2])
    assert any("3 of 6 records" in note for note in found.notes)
    slices = opened(run.data / "proc1" / "slice_bb1.xy")
    np.testing.assert_array_equal(whole(slices, 2, "bb1")[0], planes["xy"][5])
    assert [index for index, _ in slices.steps] == [1, 2, 3]


@pytest.mark.parametrize("told", ["by the grid", "by a snapshot", "by no file"])
def test_files_of_io_mpi2_have_no_records(run, told):
    order, real = run.order, run.real
    if told != "by the grid":
        (run.data / "allprocs" / "grid.dat").unlink()
    if told == "by a snapshot":
        run.add_snapshot()
    plane, averages = run.values(2, 4, 8), run.values(2, 3, 6, 8)
    raw = [
        np.concatenate([values.ravel(), [time, 1.5]]).astype(real) for values, time in zip(plane, TIMES, strict=False)
    ]
    (run.data / "allprocs" / "slice_uu2.xz").write_bytes(b"".join(one.tobytes() for one in raw))
    raw = [np.concatenate([[time], values.ravel()]).astype(real) for values, time in zip(averages, TIMES, strict=False)]
    (run.data / "allprocs" / "zaverages.dat").write_bytes(b"".join(one.tobytes() for one in raw))
    ids, values = np.array([4, 2, 9], f"{order}i4"), run.values(2, 3)
    raw = struct.pack(f"{order}i", 3) + ids.tobytes() + values.tobytes() + np.array([0.75], real).tobytes()
    (run.data / "allprocs" / "PVAR7").write_bytes(raw)
    found = opened(run.data / "allprocs" / "slice_uu2.xz")
    np.testing.assert_array_equal(whole(found, 1, "uu2")[:, 0], plane[1])
    assert any("as its times look best so" in note for note in found.notes) == (told == "by no file")
    assert found.scalars(0)["position"] == 1.5
    found = opened(run.data / "allprocs" / "zaverages.dat", NAMES)
    np.testing.assert_array_equal(whole(found, 1, "bymxy")[0], averages[1, 1])
    found = opened(run.data / "allprocs" / "PVAR7")
    assert found.steps == [(7, 0.75)]
    np.testing.assert_array_equal(whole(found, 0, "property2").ravel(), values[1])
    assert any("as its times look best so" in note for note in found.notes) == (told == "by no file")


def test_particles_and_stalkers_of_all_processes(run):
    ids, values = run.add_particles()
    found = opened(run.data / "proc2" / "PVAR2")
    assert found.steps == [(2, 1.5)]
    np.testing.assert_array_equal(whole(found, 0, "ID").ravel(), ids)
    np.testing.assert_array_equal(whole(found, 0, "zp").ravel(), values[2])
    assert whole(found, 0, "distribution").ravel().tolist() == [2, 0, 3, 1]
    rows = np.zeros((1, 4, 1), run.real[1:])
    found.read(0, "yp", Box((0, 1, 0), (1, 4, 1)), rows)
    np.testing.assert_array_equal(rows.ravel(), values[1, 1:5])
    ids, values = run.add_stalkers()
    found = opened(run.data / "proc0" / "particles_stalker.dat")
    assert [time for _, time in found.steps] == list(TIMES)
    np.testing.assert_array_equal(whole(found, 2, "ID").ravel(), ids)
    np.testing.assert_array_equal(whole(found, 1, "ux").ravel(), values[1, :, 1])


def test_bounds_of_processes_that_are_too_many_are_not_read(run):
    run.add_particles()
    with (run.data / "proc_bounds.dat").open("wb") as file:
        file.truncate(1 << 28)
    tracemalloc.start()
    assert "bounds_x" not in opened(run.data / "proc0" / "PVAR2").variables(0)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_time_series_are_tables(tmp_path):
    path = tmp_path / "time_series.dat"
    path.write_text(HISTORY + "#--it-----t------brms---\n    6   0.3   1.5\n    8   0.15   2.5\n   10   0.3")
    columns = read_table(path)
    assert columns["step"].tolist() == [0, 2, 8]  # those of 0.227 and 0.3 were computed again after a restart
    assert columns["time"].tolist() == [0.0, 0.115, 0.15]
    np.testing.assert_array_equal(columns["brms"], [np.nan, np.nan, 2.5])
    path.write_text(HISTORY)
    assert read_table(path)["urms"][2] == 0.41e-101
    found = opened(path)
    np.testing.assert_array_equal(whole(found, 0, "dt").ravel(), [5.83e-2, 5.6e-2, 5.42e-2])
    for text, what in (("    0  0.1 5\n", "line 2 must have 4 numbers"), ("a b c d\n", "line 2 must have 4 numbers")):
        path.write_text(HISTORY.splitlines(keepends=True)[0] + text)
        with pytest.raises(_core.IoError, match=what):
            auxiliary_at(path, {})


def test_time_series_in_hdf5(tmp_path):
    with h5py.File(tmp_path / "time_series.h5", "w") as file:
        for step, time in ((0, 0.0), (2, 0.5), (4, 0.25)):
            file[f"t/{step}"] = time
            file[f"urms/{step}"] = step * 1.5
        file["last"] = np.array([4], "i4")
    columns, notes = read_time_series(tmp_path / "time_series.h5")
    assert columns["step"].tolist() == [0, 4]
    assert columns["urms"].tolist() == [0.0, 6.0]
    assert len(notes) == 1


def test_hdf5_groups_behind_the_last_do_not_count(tmp_path):
    run = Run(tmp_path / "data")
    (run.data / "averages").mkdir()
    values = run.values(3, 6, 8)
    path = run.data / "averages" / "z.h5"
    with h5py.File(path, "w") as file:
        for at in range(3):
            file[f"{at}/bxmxy"], file[f"{at}/time"] = values[at], TIMES[at]
        file["last"] = np.array([1], "i4")
    found = opened(path)
    assert found.steps == [(0, 0.0), (1, 0.25)]
    np.testing.assert_array_equal(whole(found, 1, "bxmxy")[0], values[1])
    for name, value, what in (("last", [9], "'last' is 9"), ("last", [-1], "'last' is -1")):
        with h5py.File(path, "r+") as file:
            file[name][...] = value
        with pytest.raises(_core.IoError, match=what):
            auxiliary_at(path, {})


def test_links_out_of_a_file_are_not_followed(tmp_path):
    run = Run(tmp_path / "data")
    (run.data / "slices").mkdir()
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["data"] = np.zeros((6, 8))
    with h5py.File(run.data / "slices" / "bb1_xy.h5", "w") as file:
        file["1/time"], file["1/position"], file["1/coordinate"] = 0.5, 1.0, np.array([4], "i4")
        file["1/data"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "data")
        file["last"] = np.array([1], "i4")
    with pytest.raises(_core.IoError, match="no array in the file itself"):
        auxiliary_at(run.data / "slices" / "bb1_xy.h5", {})


def test_what_is_there_is_listed_once(run):
    run.add_slices()
    run.add_averages()
    run.add_particles()
    (run.data / "time_series.dat").write_text(HISTORY)
    found = [Path(path).relative_to(run.data).as_posix() for path in auxiliary_in(run.data)]
    assert sorted(found) == [
        "proc0/PVAR2", "proc0/slice_bb1.xy", "proc0/slice_bb1.xz", "proc0/slice_bb1.yz", "proc0/zaverages.dat",
        "time_series.dat", "xyaverages.dat",
    ]  # fmt: skip


def damaged(run, path, raw):
    """Open and read all of a file with other bytes: an error of ours, or values; nothing else."""
    path.write_bytes(raw)
    try:
        found = auxiliary_at(path, NAMES if path.name == "zaverages.dat" else {})
        if found is None:
            return 0
        for at in range(len(found.steps)):
            found.scalars(at)
            for name, stored in found.variables(at).items():
                assert np.prod(stored.shape) <= 1000
                whole(found, at, name)
    except (_core.IoError, _core.InputError) as error:
        assert str(path.parent.parent) in str(error)
        return 1
    return 0


KINDS = ("slice_bb1.xy", "zaverages.dat", "PVAR2", "particles_stalker.dat", "xyaverages.dat", "time_series.dat")


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files(tmp_path, name):
    run = Run(tmp_path / "data")
    run.add_slices(), run.add_averages(), run.add_particles(), run.add_stalkers()
    (run.data / "time_series.dat").write_text(HISTORY)
    path = next(path for path in (run.data / "proc0" / name, run.data / name) if path.exists())
    good = path.read_bytes()
    dice = random.Random(name)
    cuts = range(0, len(good), max(1, len(good) // 40))
    failed = sum(damaged(run, path, good[:cut]) for cut in cuts)
    for _ in range(100):
        raw = bytearray(good)
        for _ in range(dice.randint(1, 3)):
            at = dice.choice((dice.randrange(min(len(raw), 60)), dice.randrange(len(raw))))
            raw[at] = dice.choice((0, 0x7F, 0xFF, dice.randrange(256)))
        failed += damaged(run, path, bytes(raw))
    assert failed > 20


def test_missing_parts_and_other_sizes_are_told(tmp_path):
    run = Run(tmp_path / "data")
    run.add_slices(), run.add_averages(), run.add_particles()
    (run.data / "proc1" / "slice_bb1.xy").unlink()
    with pytest.raises(_core.IoError, match="a file is missing"):
        auxiliary_at(run.data / "proc0" / "slice_bb1.xy", {})
    (run.data / "proc3" / "PVAR2").unlink()
    with pytest.raises(_core.IoError, match="proc3"):
        auxiliary_at(run.data / "proc0" / "PVAR2", {})
    shutil.copy(run.data / "proc0" / "slice_bb1.yz", run.data / "proc0" / "slice_bb1.xz")
    with pytest.raises(_core.IoError, match="its first record has"):
        auxiliary_at(run.data / "proc1" / "slice_bb1.xz", {})
    other = Run(tmp_path / "other" / "data")
    other.add_averages((0.0, 0.3, 0.5))
    shutil.copy(other.data / "proc1" / "zaverages.dat", run.data / "proc1" / "zaverages.dat")
    found = auxiliary_at(run.data / "proc0" / "zaverages.dat", NAMES)
    with pytest.raises(_core.IoError, match="has the time 0"):
        whole(found, 1, "bxmxy")
    assert found.check(0) == [] and len(found.check(1)) == 1


def samples():
    found = os.environ.get("TAILRACE_SAMPLES")
    if not found:
        pytest.skip("TAILRACE_SAMPLES is not set: the runs of the Pencil Code are not part of the tests")
    return Path(found) / "pencil"


def test_the_twins_have_the_same_slices_and_averages():
    base = samples()
    for path in sorted((base / "hdf5" / "data" / "slices").glob("*.h5")):
        field, plane = path.stem.rsplit("_", 1)
        one = auxiliary_at(next((base / "dist" / "data").glob(f"proc*/slice_{field}.{plane}")), {})
        two = auxiliary_at(path, {})
        assert one.steps == two.steps
        for at in range(len(one.steps)):
            assert one.scalars(at) == two.scalars(at)
            np.testing.assert_array_equal(whole(one, at, field), whole(two, at, field))
    one = auxiliary_at(base / "dist" / "data" / "proc0" / "zaverages.dat", NAMES)
    two = auxiliary_at(base / "hdf5" / "data" / "averages" / "z.h5", {})
    assert one.steps == two.steps
    for at in range(len(one.steps)):
        for name in AVERAGES:
            np.testing.assert_array_equal(whole(one, at, name), whole(two, at, name))


def test_averages_that_begin_or_end_while_a_run_goes_on(tmp_path):
    run = Run(tmp_path / "data")
    (run.data / "averages").mkdir()
    values = run.values(3, 6, 8)
    with h5py.File(run.data / "averages" / "z.h5", "w") as file:
        for at, names in enumerate((["a"], ["a", "b"], ["b"])):
            for name in names:
                file[f"{at}/{name}"] = values[at].astype("f4") if name == "b" else values[at]
            file[f"{at}/time"] = TIMES[at]
        file["last"] = np.array([2], "i4")
    found = opened(run.data / "averages" / "z.h5")
    seen = [{name: one.dtype for name, one in found.variables(at).items()} for at in range(3)]
    assert seen == [{"a": "float64"}, {"a": "float64", "b": "float32"}, {"b": "float32"}]
    np.testing.assert_array_equal(whole(found, 2, "b")[0], values[2].astype("f4"))
    with tr.open(run.data / "averages" / "z.h5") as series:
        assert list(series[1].variables) == ["a", "b"]


@pytest.mark.parametrize("where", ["averages/z.h5", "allprocs/PVAR1.h5", "allprocs/VAR1.h5"])
def test_chunks_that_need_much_memory_are_refused(tmp_path, where):
    run = Run(tmp_path / "data")
    path = run.data / where
    path.parent.mkdir(exist_ok=True)
    name, shape = {"z.h5": ("0/a", (6, 8)), "PVAR1.h5": ("part/xp", (5,)), "VAR1.h5": ("data/ux", (10, 12, 14))}[
        path.name
    ]
    with h5py.File(path, "w") as file:
        chunks = ((1 << 24) // int(np.prod(shape[1:])), *shape[1:])  # 128 MiB
        most = (None, *shape[1:])
        file.create_dataset(name, shape, "f8", chunks=chunks, maxshape=most, compression="gzip")
        file["0/time" if path.name == "z.h5" else "time"] = 0.5
        file["last"] = np.array([0], "i4")
    with pytest.raises(_core.IoError, match=rf"{path.name}: its /{name} has chunks of .* expected at most 67108864"):
        auxiliary_at(path, {}) or Hdf5Snapshot(source_at(path), read_dim(run.data / "dim.dat"))
