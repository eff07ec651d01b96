"""Streams between programs: whatever happens to one end, the other goes on or ends with one clear message in time.

TAILRACE_TEST_STREAMS (0): 1 for all of the tests, before a release and after changes of the engine.
"""

import json
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest
import tailrace as tr
from helpers import cases, mpi_run
from helpers.program import LIMIT, Program
from tailrace import _core

pytestmark = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")

ENDS = Path(__file__).parent / "helpers" / "stream_ends.py"
FOREIGN = Path(__file__).parents[2] / "build/python/tests/cpp/foreign_stream"

ALSO_SLOW = os.environ.get("TAILRACE_TEST_STREAMS", "0") != "0"
slow = pytest.mark.skipif(not ALSO_SLOW, reason="only with TAILRACE_TEST_STREAMS=1")


def more(*values):
    """Variants for TAILRACE_TEST_STREAMS=1."""
    return [pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=slow) for value in values]


@pytest.fixture
def program(tmp_path):
    """Starts programs in the directory of the test: program(ranks or None, *command)."""
    programs = []

    def begin(ranks, *command):
        programs.append(Program(tmp_path, ranks, *command))
        return programs[-1]

    yield begin
    for one in programs:
        one.end()


@pytest.fixture
def start(program):
    """Starts an end of the stream `run`: start("write" or "read", ranks or None, *options)."""
    return lambda what, ranks, *options: program(ranks, sys.executable, ENDS, what, "sst:run", *options)


@pytest.fixture
def stop(tmp_path):
    """Lets the writers that go on end."""
    return lambda: (tmp_path / "stop").touch()


ALL = [0, 10, 20, 30, 40]
ENDLESS = ("steps=0", "pause=0.05", "wait_for_reader=60")


@pytest.mark.parametrize(("writers", "readers"), [(None, None), *more((2, 1), (1, 2), (2, 3)), (3, 2)])
@pytest.mark.parametrize("buffers", [0, 2])
def test_everything_arrives(start, tmp_path, writers, readers, buffers):
    writer = start("write", writers, "wait_for_reader=60", f"buffers={buffers}")
    reader = start("read", readers)
    assert writer.finish()[-1].startswith("closed")
    assert reader.finish()[-1] == "end 5"
    assert reader.indices() == ALL
    assert not list(tmp_path.iterdir()), "no contact file stays"


@slow
def test_reader_early(start):
    reader = start("read", 2)
    reader.until("opening")
    writer = start("write", 2, "wait_for_reader=60")
    writer.finish()
    reader.finish()
    assert reader.indices() == ALL


def test_reader_late_gets_the_steps_from_then_on(start, stop):
    writer = start("write", 2, "steps=0", "pause=0.05")
    writer.until("wrote 30")
    reader = start("read", 1)
    for _ in range(3):
        reader.until("read")
    stop()
    writer.finish()
    reader.finish()
    found = reader.indices()
    assert found[0] > 30
    assert found == list(range(found[0], writer.indices("wrote")[-1] + 10, 10))


def test_no_reader_ever(start):
    writer = start("write", 2, "steps=50", "wait_for_reader=2")
    seconds = float(writer.finish()[-1].split()[1])
    assert 2 <= seconds < 30, "far from any other time limit"


@pytest.mark.parametrize("policy", ["block", *more("drop_newest")])
def test_reader_killed(start, stop, policy):
    writer = start("write", 2, *ENDLESS, f"policy={policy}")
    reader = start("read", 2)
    for _ in range(3):
        reader.until("read")
    reader.signal_all(signal.SIGKILL)
    writer.goes_on()
    stop()
    assert writer.finish()[-1].startswith("closed")


@pytest.mark.parametrize("ranks", [*more(1), 2])
def test_reader_stopped_under_block_is_dropped(start, stop, ranks):
    writer = start("write", 2, *ENDLESS, "timeout=3")
    reader = start("read", ranks)
    reader.until("read 20")
    reader.signal_all(signal.SIGSTOP)
    writer.goes_on()
    stop()
    assert writer.finish()[-1].startswith("closed")
    assert sum("is dropped" in line for line in writer.errors if line) == 1
    reader.signal_all(signal.SIGCONT)
    assert "the connection is lost" in reader.finish(code=3)[-1]


def test_reader_stopped_under_drop_policy_costs_nothing(start, stop):
    """Only `close` gives the reader its time, and then goes on."""
    writer = start("write", 2, *ENDLESS, "timeout=3", "policy=drop_newest")
    reader = start("read", 1)
    for _ in range(3):
        reader.until("read")
    reader.signal_all(signal.SIGSTOP)
    writer.goes_on(lines=15)
    stop()
    writer.finish()
    said = [line for line in writer.errors if line and "is dropped" in line]
    last = writer.indices("wrote")[-1]
    assert len(said) == 1 and f"step {last}: a reader" in said[0], said


def test_slow_reader_under_drop_policy_misses_steps(start, stop):
    writer = start("write", 1, *ENDLESS, "policy=drop_newest")
    reader = start("read", 1, "pause=0.3")
    while len(reader.indices()) < 3 or reader.indices()[-1] < 10 * len(reader.indices()):
        reader.until("read")
    stop()
    writer.finish()
    reader.finish()
    found = reader.indices()
    assert found[0] == 0
    assert found == sorted(set(found))


@slow
def test_slow_reader_under_block_gets_everything(start):
    writer = start("write", 1, "steps=6", "wait_for_reader=60")
    reader = start("read", 1, "pause=0.2")
    writer.finish()
    reader.finish()
    assert reader.indices() == [0, 10, 20, 30, 40, 50]


def test_buffers_hide_the_reader(start):
    """The steps cost a copy each, even when nobody has come yet to read them."""
    writer = start("write", 2, "steps=6", "wait_for_reader=60", "buffers=6")
    writer.until("closing")
    reader = start("read", 1)
    writer.finish()
    reader.finish()
    assert reader.indices() == [0, 10, 20, 30, 40, 50]


@slow
def test_two_readers_get_the_same(start, stop):
    writer = start("write", 2, *ENDLESS)
    readers = [start("read", 1), start("read", 2)]
    for reader in readers:
        for _ in range(3):
            reader.until("read")
    stop()
    writer.finish()
    for reader in readers:
        reader.finish()
        found = reader.indices()
        assert found == list(range(found[0], writer.indices("wrote")[-1] + 10, 10))


@slow
def test_one_of_two_readers_stopped(start, stop):
    """The other one goes on."""
    writer = start("write", 2, *ENDLESS, "timeout=3")
    good, bad = start("read", 1), start("read", 1)
    good.until("read")
    for _ in range(2):
        bad.until("read")
    bad.signal_all(signal.SIGSTOP)
    writer.goes_on()
    stop()
    writer.finish()
    good.finish()
    assert good.indices()[-1] == writer.indices("wrote")[-1]


@slow
def test_reader_attaches_again(start, stop):
    writer = start("write", 2, *ENDLESS)
    first = start("read", 1, "most=3")
    first.finish()
    second = start("read", 2, "most=3")
    second.finish()
    assert first.indices() == [0, 10, 20]
    assert second.indices()[0] > 20
    assert len(second.indices()) == 3
    stop()
    writer.finish()


@pytest.mark.parametrize("ranks", [*more(1), 2])
def test_writer_killed(start, ranks):
    writer = start("write", 2, *ENDLESS)
    reader = start("read", ranks)
    reader.until("read 20")
    writer.signal_all(signal.SIGKILL)
    assert "the connection is lost" in reader.finish(code=3)[-1]


@pytest.mark.parametrize("verify", ["yes", *more("")])
@pytest.mark.parametrize(
    ("number", "says"),
    [(signal.SIGKILL, "the connection is lost"), (signal.SIGSTOP, "the writer did not answer for 3 s")],
    ids=["killed", "stopped"],
)
def test_writer_lost_while_a_step_is_looked_at(start, tmp_path, number, says, verify):
    """Neither reading nor verifying takes that for damage."""
    writer = start("write", 2, *ENDLESS)
    reader = start("read", 2, "timeout=3", "hold=yes", f"verify_only={verify}")
    reader.until("got 0")
    writer.signal_all(number)
    (tmp_path / "go").touch()
    assert says in reader.finish(code=3)[-1]


@slow
def test_writer_stopped(start):
    writer = start("write", 2, *ENDLESS)
    reader = start("read", 2, "timeout=3")
    reader.until("read 20")
    writer.signal_all(signal.SIGSTOP)
    assert re.search("no step came in 3 s|did not answer for 3 s", reader.finish(code=3)[-1])


def leave_contact(start):
    """A writer that was killed, and could not tidy up."""
    writer = start("write", 1, "steps=0", "pause=0.1")
    writer.until("wrote 10")
    writer.signal_all(signal.SIGKILL)
    writer.process.wait(LIMIT)


def test_contact_left_by_a_killed_writer(start, tmp_path):
    leave_contact(start)
    assert (tmp_path / "run.sst").exists()
    reader = start("read", 2, "OpenTimeoutSecs=1")
    assert "was left by process" in reader.finish(code=3)[-1]


@slow
def test_reader_waits_beside_a_contact_left(start):
    leave_contact(start)
    reader = start("read", 2)
    reader.until("opening")
    writer = start("write", 2, "wait_for_reader=60")
    writer.finish()
    reader.finish()
    assert reader.indices() == ALL


@slow
def test_contact_of_nobody_knows_whom(start, tmp_path):
    """Without our record only trying helps."""
    leave_contact(start)
    (tmp_path / "run.sst.writer").unlink()
    reader = start("read", 1, "timeout=3")
    assert "nobody answers" in reader.finish(code=3)[-1] or "has died" in reader.seen[-1]


@slow
def test_writer_that_never_ends_a_step(start):
    writer = start("write", 1, "steps=1", "pause=1000")
    writer.until("wrote 0")
    reader = start("read", 1, "timeout=3")
    assert "no step came in 3 s" in reader.finish(code=3)[-1]


@slow
def test_another_grid_after_a_restart(start):
    for shape in ("6x5x12", "4x4x9"):
        writer = start("write", 2, "wait_for_reader=60", f"shape={shape}")
        reader = start("read", 1)  # which checks all values on the grid the stream tells
        writer.finish()
        reader.finish()
        assert reader.indices() == ALL


def test_two_writers_of_one_name(start):
    first = start("write", 1, "steps=0", "pause=0.1")
    first.until("wrote 10")
    second = start("write", 2)
    assert "is writing one of that name" in second.finish(code=3)[-1]
    first.goes_on(lines=2)


@pytest.mark.parametrize("ranks", [1, 3])
def test_foreign_writer(start, program, ranks):
    """Plain ADIOS2, without time, index or attributes."""
    if not FOREIGN.exists():
        pytest.skip(f"there is no {FOREIGN}. To build it, run tools/setup.sh and cmake --build build/python")
    writer = program(ranks, FOREIGN, "run", "5")
    reader = start("read", 2, "foreign=yes")
    writer.finish()
    lines = reader.finish()
    assert [line for line in lines if line.startswith("read")] == [
        f"read {step} {float(step)} (10, 9, 8)" for step in range(5)
    ]


def test_only_the_current_step_can_be_read(tmp_path, start):
    writer = start("write", 1, "wait_for_reader=60")
    with tr.open(f"sst:{tmp_path}/run", parameters={"timeout": LIMIT}) as series:
        assert series.streaming
        assert len(series) == 0
        first = series.next_step(60)
        assert series.next_step(60).index == series[-1].index == 10
        with pytest.raises(tr.InputError, match="only the current step can be read, step 10"):
            first["ux"]
        assert "streaming" not in repr(series)
        assert len(list(series)) == 3
        assert series.next_step() is None
        with pytest.raises(tr.InputError, match="there is none"):
            series[-1]["ux"]
    writer.finish()


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"QueueLimit": 0}, "QueueLimit = '0': expected a whole number, at least 1"),
        ({"AlwaysProvideLatestTimestep": True}, "reader crashes"),
        ({"rendezvousreadercount": 1}, "wait_for_reader = SECONDS"),
        ({"QueueFullPolicy": "Discard"}, "policy = drop_newest"),
        ({"policy": "drop_oldest"}, "cannot be taken back"),
        ({"policy": "newest"}, "expected one of block, drop_newest"),
        ({"OpenTimeoutSec": 3}, "did you mean 'OpenTimeoutSecs'"),
    ],
)
@pytest.mark.parametrize("mode", ["r", "w"])
def test_parameters_that_are_refused(tmp_path, parameters, text, mode):
    from mpi4py import MPI

    with pytest.raises(tr.InputError, match=re.escape(text)):
        tr.open(f"sst:{tmp_path}/run", mode, comm=MPI.COMM_SELF, parameters=parameters)


def test_wrong_places_and_modes(tmp_path):
    from mpi4py import MPI

    with pytest.raises(tr.InputError, match="a stream keeps no steps"):
        tr.open("sst:run", "a", comm=MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match="No such file or directory"):
        tr.open(f"sst:{tmp_path}/none/run", "w", comm=MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match="so no writer has opened the stream"):
        tr.open(f"sst:{tmp_path}/run", parameters={"OpenTimeoutSecs": 1})


def test_a_record_of_another_host_says_nothing(tmp_path):
    """Its processes cannot be seen from here, so only trying helps, within its time."""
    (tmp_path / "run.sst").write_text("#ADIOS2-SST v0\n")
    (tmp_path / "run.sst.writer").write_text(json.dumps({"host": "not" + socket.gethostname(), "process": 1}))
    with (
        tr.open(f"sst:{tmp_path}/run", parameters={"OpenTimeoutSecs": 1}) as series,
        pytest.raises(tr.IoError, match="no step came in 2 s"),
    ):
        series.next_step(2)


def test_info_says_that_streams_are_not_stored(tmp_path):
    for path in ("sst:run", "run.sst"):
        result = mpi_run.tailrace("info", path, cwd=tmp_path)
        assert result.code == 2
        assert "a stream is not stored" in result.text


OUTPUT = """
[[output]]
name = "run"
fields = ["ux"]
every = 1
engine = "sst"
parameters = {{ wait_for_reader = {} }}
"""


def test_a_run_streams_its_output(program, tmp_path):
    """An [[output]] of a simulation, read by another program while it runs."""
    case = cases.write_case(tmp_path, steps=4)
    case.write_text(case.read_text() + OUTPUT.format(60))
    run = program(None, *mpi_run.tailrace_command("run", case, ranks=2))
    with tr.open(f"sst:{tmp_path}/run", parameters={"timeout": LIMIT}) as series:
        found = [(step.index, step["ux"].shape, step.verify()) for step in series]
    run.finish()
    shape = tuple(reversed(cases.BOXES["mixed"][0]))
    assert found == [(index, shape, []) for index in range(5)]


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_run_that_nobody_reads_does_not_wait(tmp_path, ranks):
    """More steps than the queue holds; at its full speed to a clean end."""
    steps = 20
    case = cases.write_case(tmp_path, steps=steps)
    case.write_text(case.read_text() + OUTPUT.format(0))
    result = mpi_run.tailrace("run", case, cwd=tmp_path, ranks=ranks, limit=LIMIT)
    assert result.code == 0, result.text
    assert "is dropped" not in result.text
    assert not list(tmp_path.glob("run.sst*"))
    rows = [line.split() for line in result.out[result.out.index("run: run") :].splitlines()]
    waited = next(float(row[-1]) for row in rows if row[:1] == ["wait"])
    assert waited < 5, f"all {steps + 1} steps together, far from any time limit\n{result.text}"
