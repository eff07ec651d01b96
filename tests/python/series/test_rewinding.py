"""A reader beside a writer that drops steps and writes them again: right values, or one clear message."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES
from helpers.harness.kept import KEPT
from helpers.programs.series import rewinding
from helpers.programs.series.rewinding import field, go_on
from tailrace.core import InputError, IoError
from tailrace.io import series as tr

CHANGED = "the series changed while it was read"
BP = [one for one in ENGINES if one.traits.family == "bp"]
LABELS = ("raw", "raw-dist", "mpiio", "mpiio-small", "sion", "adios_hdf5")
SIDECARS = [engine for engine in ENGINES if engine.label in LABELS]


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_step_that_was_dropped_and_written_again(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    with tr.open(path) as stored:
        np.testing.assert_array_equal(stored[3].read("ux"), field(3))
        go_on(engine, path, 1, ())
        with pytest.raises(IoError, match=f"{CHANGED}.* step 3 is not in it now"):
            stored[3].read("ux")
        np.testing.assert_array_equal(stored[1].read("ux"), field(1))
        go_on(engine, path, 1, (2, 3, 4))
        for step in range(4):
            np.testing.assert_array_equal(stored[step].read("ux"), field(step))
            assert stored[step].verify() == []


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_step_that_was_dropped(tmp_path, engine):
    """ADIOS2 waited for its bytes, and HDF5 told that an object is missing."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    with tr.open(path) as stored:
        assert stored[3].time == 1.5
        np.testing.assert_array_equal(stored[2].read("ux"), field(2))
        go_on(engine, path, 1, ())
        for step in (2, 3):
            with pytest.raises(IoError, match=f"{CHANGED}.* step {step} is not in it now"):
                stored[step].read("ux")


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_another_step_in_its_place(tmp_path, engine):
    """Of another index and with another variable: its values were returned as those of the step."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    with tr.open(path) as stored:
        np.testing.assert_array_equal(stored[2].read("ux"), field(2))
        with tr.open(path, "a", rewind_to=1, engine=engine.name, parameters=dict(engine.parameters)) as out:
            for index in (12, 13, 14):
                out.write_step(0.5 * index, index=index, vy=field(index), ux=field(index, 0.25))
        for step in (2, 3):
            with pytest.raises(IoError, match=CHANGED):
                stored[step].read("ux")


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_new_steps_are_no_change(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    with tr.open(path) as stored:
        go_on(engine, path, 3, range(4, 7))
        for step in range(4):
            np.testing.assert_array_equal(stored[step].read("ux"), field(step))


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_line_that_a_kill_cut_is_written_over(tmp_path, engine):
    """Then no line behind it is lost to readers."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(3))
    file = path / "series.jsonl"
    *kept, last, _ = file.read_bytes().splitlines(keepends=True)
    assert b'"index":2' in last
    file.write_bytes(b"".join(kept) + last[:-30])
    go_on(engine, path, 1, (2, 3))
    with tr.open(path) as stored:
        assert [step.index for step in stored] == [0, 1, 2, 3]
        assert stored.verify() == []
        assert stored.notes == []


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_rewind_that_fails_leaves_every_step(tmp_path, engine):
    """No file goes before the list without it is in its place; here there is no free name for its draft."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(3))
    for number in range(1, 1001):
        (path / f"series.jsonl.tmp{number if number > 1 else ''}").touch()
    with pytest.raises(IoError, match=r"series\.jsonl\.tmp1000"):
        go_on(engine, path, 0, ())
    with tr.open(path) as stored:
        assert [step.index for step in stored] == [0, 1, 2]
        assert stored.verify() == []


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_other_values_are_not_taken_for_those_of_before(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    with tr.open(path) as stored:
        for again in (
            lambda: go_on(engine, path, 1, (2, 3), salt=0.5),
            lambda: go_on(engine, path, None, (2, 3), salt=0.25),
        ):
            again()
            for _ in range(2):
                with pytest.raises(IoError, match=CHANGED):
                    stored[3].read("ux")
    with tr.open(path) as stored:
        np.testing.assert_array_equal(stored[1].read("ux"), field(3, 0.25))


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_series_that_is_gone(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(2))
    with tr.open(path) as stored:
        shutil.rmtree(path)
        with pytest.raises(IoError, match=str(path)):
            stored[1].read("ux")


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_all_ranks_find_the_steps_again(tmp_path, engine):
    """Rank 0 reads the list when it opens the series, the others their lines when they need them."""
    path = engine.path(tmp_path)
    with tr.open(path, "w", engine=engine.name, parameters=dict(engine.parameters)) as out:
        for step in range(4):
            out.write_step(0.5 * step, index=step, ux=field(step), scalars={"energy": step})
    _, said = KEPT.ranks(2).results(rewinding.lose_a_line, path=str(path))
    assert CHANGED in said
    assert "step 1 is not in it now" in said


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_line_that_is_damaged_after_the_open_is_said_to_be(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    with tr.open(path) as stored:
        text = (path / "series.jsonl").read_text()
        with (path / "series.jsonl").open("r+") as file:
            file.write(text.replace('"index":3', '"index":8'))
        for _ in range(2):
            with pytest.raises(IoError, match=r"the line at byte .* is damaged"):
                stored[3].read("ux")
        np.testing.assert_array_equal(stored[2].read("ux"), field(2))


READ_BESIDE = [one for one in ENGINES if one.name != "adios_hdf5"]  # engine: HDF5 keeps its files open


@pytest.mark.parametrize("engine", READ_BESIDE, ids=str)
def test_readers_beside_a_writer_that_rewinds(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(6))
    writer = mpi_run.start_module(rewinding, engine.label, path, 40, cwd=tmp_path)
    read, refusals = 0, []
    while writer.poll() is None:
        try:
            with tr.open(path) as stored:
                for step in stored:
                    values = step.read("ux")
                    np.testing.assert_array_equal(values, field(step.index))
                    read += 1
        except (IoError, InputError) as error:
            refusals.append(str(error))
    assert mpi_run.finish(writer, 60).code == 0
    assert read > 0
    others = [text for text in refusals if CHANGED not in text and "another program is writing" not in text]
    if engine in SIDECARS:
        assert not others, others[:3]
    print(engine, read, "read,", len(refusals), "refused:", *set(others), sep="\n")


@pytest.mark.parametrize("engine", BP, ids=str)
def test_another_step_in_the_same_tick_of_the_clock(tmp_path, engine):
    """Files of the same size and time: the clock of a file system goes in steps of some milliseconds."""
    path = engine.path(tmp_path)
    index = path / "md.idx"

    def at_one_time():
        os.utime(index, ns=(0, (int(time.time()) + 100) * 10**9))  # as if it were now, on a busy machine too

    go_on(engine, path, None, range(2))
    go_on(engine, path, 1, (2, 3))
    at_one_time()
    with tr.open(path) as stored:
        np.testing.assert_array_equal(stored[2].read("ux"), field(2))
        size = index.stat().st_size
        go_on(engine, path, 1, (12, 13))
        assert index.stat().st_size == size
        at_one_time()
        with pytest.raises(IoError, match=CHANGED):
            stored[2].read("ux")


MANY = range(300)  # steps, of which not all metadata are compared at each access


def in_the_future(path):
    """Give the index a time by which nobody can tell whether it has changed since."""
    os.utime(path / "md.idx", ns=(0, (int(time.time()) + 100) * 10**9))


@pytest.mark.parametrize("engine", BP, ids=str)
def test_many_steps_that_another_program_wrote_over(tmp_path, engine):
    """The files stay the same ones, of the same size and time, as when they are copied to their place."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, MANY)
    (tmp_path / "other").mkdir()
    other = engine.path(tmp_path / "other")
    go_on(engine, other, None, MANY, salt=0.5)
    in_the_future(path)
    with tr.open(path) as stored:
        for step in (0, 150, 299):
            np.testing.assert_array_equal(stored[step].read("ux"), field(step))
        for file in other.iterdir():
            (path / file.name).write_bytes(file.read_bytes())
        in_the_future(path)
        for step in (299, 1, 150, 0):
            with pytest.raises(IoError, match=CHANGED):
                stored[step].read("ux")


@pytest.mark.parametrize("engine", BP, ids=str)
def test_metadata_of_another_step_are_compared_from_time_to_time(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, MANY)
    in_the_future(path)
    with tr.open(path) as stored:
        np.testing.assert_array_equal(stored[5].read("ux"), field(5))
        with (path / "md.0").open("r+b") as file:
            file.seek(-200, os.SEEK_END)
            file.write(bytes(200))
        with pytest.raises(IoError, match=CHANGED):
            stored[299].read("ux")
        with pytest.raises(IoError, match=CHANGED):
            for _ in MANY:
                np.testing.assert_array_equal(stored[5].read("ux"), field(5))


@pytest.mark.parametrize("engine", BP, ids=str)
def test_metadata_that_are_cut_under_an_index_that_stays(tmp_path, engine):
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(2))
    with tr.open(path) as stored:
        np.testing.assert_array_equal(stored[1].read("ux"), field(1))
        metadata, index = path / "md.0", path / "md.idx"
        os.truncate(metadata, metadata.stat().st_size - 1)
        os.utime(index, ns=(0, (int(time.time()) + 100) * 10**9))
        with pytest.raises(IoError, match=CHANGED):
            stored[1].read("ux")


@pytest.mark.parametrize("engine", BP, ids=str)
def test_steps_that_were_replaced_and_put_back(tmp_path, engine):
    """The metadata are those of the beginning again, and a reader may have read the values in between."""
    for attempt in range(20):  # ADIOS2 notes the second in which a step was written: it must be the same one again
        (tmp_path / str(attempt)).mkdir()
        path = engine.path(tmp_path / str(attempt))
        go_on(engine, path, None, range(2))
        go_on(engine, path, 1, (2, 3))
        with tr.open(path) as stored:
            np.testing.assert_array_equal(stored[2].read("ux"), field(2))
            metadata = [(path / name).read_bytes() for name in ("md.idx", "md.0")]
            go_on(engine, path, 1, (12, 13))
            go_on(engine, path, 1, (2, 3))
            if [(path / name).read_bytes() for name in ("md.idx", "md.0")] == metadata:
                with pytest.raises(IoError, match=CHANGED):
                    stored[2].read("ux")
                return
    pytest.fail("the metadata were never those of the beginning")


@pytest.mark.parametrize("engine", BP, ids=str)
def test_who_could_read_the_steps_can_read_those_that_are_kept(tmp_path, engine):
    """Another file takes the place of the index."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(3))
    for mode in (0o640, 0o664):
        (path / "md.idx").chmod(mode)
        go_on(engine, path, 1, (2,))
        assert (path / "md.idx").stat().st_mode & 0o777 == mode


def opened(path):
    """How many descriptors of this process lead to a file."""
    return sum(fd.is_file() and fd.samefile(path) for fd in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize("engine", [one for one in ENGINES if one.traits.journal], ids=str)
def test_a_file_that_a_reader_keeps_open(tmp_path, engine):
    """It does so where the time of the file says that nobody is writing it. A writer comes all the same."""
    path = engine.path(tmp_path)
    go_on(engine, path, None, range(4))
    os.utime(path, (1e9, 1e9))
    with tr.open(path) as stored:
        for step in range(4):
            np.testing.assert_array_equal(stored[step].read("ux"), field(step))
        assert opened(path) == 1
        go_on(engine, path, 3, range(4, 7))
        os.utime(path, (1e9 + 1, 1e9 + 1))
        for step in range(4):
            np.testing.assert_array_equal(stored[step].read("ux"), field(step))
        go_on(engine, path, 1, (2, 13), salt=0.5)
        for step in (2, 3, 2):
            with pytest.raises(IoError, match=CHANGED):
                stored[step].read("ux")
        np.testing.assert_array_equal(stored[1].read("ux"), field(1))
    assert opened(path) == 0
