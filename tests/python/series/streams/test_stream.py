"""Streams between programs: what arrives, what is refused. TAILRACE_TEST_STREAMS: see helpers/harness/streams.py."""

import re
import signal
import sys

import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.program import LIMIT
from helpers.harness.streams import ALL, ENDLESS, FOREIGN, more, slow
from helpers.inputs import cases
from helpers.programs.series import streamed
from tailrace import core as _core

pytestmark = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")


@pytest.mark.parametrize(("writers", "readers"), [(None, None), *more((2, 1), (1, 2), (2, 3)), (3, 2)])
@pytest.mark.parametrize("buffers", [0, 2])
def test_everything_arrives(stream, tmp_path, writers, readers, buffers):
    writer = stream("write", writers, "wait_for_reader=60", f"buffers={buffers}")
    reader = stream("read", readers)
    assert writer.finish()[-1].startswith("closed")
    assert reader.finish()[-1] == "end 5"
    assert reader.indices() == ALL
    assert not list(tmp_path.iterdir()), "no contact file stays"


@pytest.mark.parametrize(
    ("writers", "aggregators", "readers", "options"),
    [
        (3, "2", 2, []),
        (4, "node", 1, ["policy=drop_oldest", "QueueLimit=9"]),  # held by the ranks that send them
        (2, "one", 1, ["buffers=2", "shape=96x64x256"]),  # 12 MB: a block of several messages
        *more((6, "2", 3, []), (6, "4", 2, ["policy=drop_oldest", "QueueLimit=9"]), (2, "2", 1, [])),
    ],
)
def test_some_ranks_send_the_blocks_of_all(stream, writers, aggregators, readers, options):
    writer = stream("write", writers, "wait_for_reader=60", f"aggregators={aggregators}", *options)
    reader = stream("read", readers)
    assert writer.finish()[-1].startswith("closed")
    assert reader.finish()[-1] == "end 5"
    assert reader.indices() == ALL


def test_readers_can_connect_only_to_the_ranks_that_send(stream):
    writer = stream("write", 4, "aggregators=2")
    writer.finish()
    assert writer.told("listens") == [True, False, True, False]


def test_planes_cannot_send(stream):
    writer = stream("write", 2, "aggregators=plane")
    assert "a stream needs the same ranks for all variables" in writer.finish(code=3)[-1]


def test_a_step_with_wrong_arguments_leaves_the_stream_as_it_was(stream):
    writer = stream("write", 2, "wait_for_reader=60", "fails=yes")
    reader = stream("read", 1)
    assert writer.finish()[-1].startswith("closed")
    assert reader.finish()[-1] == "end 5"
    assert reader.indices() == ALL and "written" not in writer.seen


def test_a_step_is_abandoned_before_its_first_value_only(stream):
    """ADIOS2 cannot drop a step that has one."""
    writer = stream.program(None, sys.executable, streamed.__file__, "abandon")
    reader = stream.program(None, sys.executable, streamed.__file__, "take")
    assert writer.finish()[-1].endswith("is out of use since an error; ADIOS2 cannot drop the step it was in")
    assert reader.finish()[-1] == "lost"
    assert reader.indices() == [0, 2]


def test_lists_arrive_beside_fields(stream):
    """Names are in the order of the alphabet, as in files."""
    writer = stream.program(None, sys.executable, streamed.__file__, "send_lists")
    reader = stream.program(None, sys.executable, streamed.__file__, "take_lists")
    writer.finish()
    assert reader.finish()[-1] == "end"
    assert reader.indices() == [0, 1, 2]


@slow
def test_reader_early(stream):
    reader = stream("read", 2)
    reader.until("opening")
    writer = stream("write", 2, "wait_for_reader=60")
    writer.finish()
    reader.finish()
    assert reader.indices() == ALL


def test_reader_late_gets_the_steps_from_then_on(stream):
    writer = stream("write", 2, "steps=0", "pause=0.05")
    writer.until("wrote 30")
    reader = stream("read", 1)
    for _ in range(3):
        reader.until("read")
    stream.stop()
    writer.finish()
    reader.finish()
    found = reader.indices()
    assert found[0] > 30
    assert found == list(range(found[0], writer.indices("wrote")[-1] + 10, 10))


@slow
def test_two_readers_get_the_same(stream):
    writer = stream("write", 2, *ENDLESS)
    readers = [stream("read", 1), stream("read", 2)]
    for reader in readers:
        for _ in range(3):
            reader.until("read")
    stream.stop()
    writer.finish()
    for reader in readers:
        reader.finish()
        found = reader.indices()
        assert found == list(range(found[0], writer.indices("wrote")[-1] + 10, 10))


@slow
def test_another_grid_after_a_restart(stream):
    for shape in ("6x5x12", "4x4x9"):
        writer = stream("write", 2, "wait_for_reader=60", f"shape={shape}")
        reader = stream("read", 1)  # which checks all values on the grid the stream tells
        writer.finish()
        reader.finish()
        assert reader.indices() == ALL


@pytest.mark.parametrize("ranks", [1, 3])
def test_foreign_writer(stream, ranks):
    """Plain ADIOS2, without time, index or attributes."""
    if not FOREIGN.exists():
        pytest.skip(f"there is no {FOREIGN}. To build it, run tools/setup.sh and cmake --build build/python")
    writer = stream.program(ranks, FOREIGN, "run", "5")
    reader = stream("read", 2, "foreign=yes")
    writer.finish()
    lines = reader.finish()
    assert [line for line in lines if line.startswith("read")] == [
        f"read {step} {float(step)} (10, 9, 8)" for step in range(5)
    ]


def test_only_the_current_step_can_be_read(tmp_path, stream):
    writer = stream("write", 1, "wait_for_reader=60")
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
        ({"QueueFullPolicy": "Discard"}, "policy = block, drop_newest"),
        ({"ControlTransport": "x"}, "no parameter ControlTransport: the time limits and the guard of the ports rely"),
        ({"WANDataTransport": "enet"}, "rely on TCP, which is its default"),
        ({"ControlInterface": "lo"}, "Use NetworkInterface = NAME of the interface"),
        ({"policy": "newest"}, "expected one of block, drop_newest, drop_oldest, adapt"),
        ({"share": "2 %"}, "share = '2 %': expected a number between 0 and 1"),
        ({"share": 1}, "share = '1': expected a number between 0 and 1"),
        ({"OpenTimeoutSec": 3}, "did you mean 'OpenTimeoutSecs'"),
    ],
)
@pytest.mark.parametrize("mode", ["r", "w"])
def test_parameters_that_are_refused(tmp_path, parameters, text, mode):
    from mpi4py import MPI

    with pytest.raises(tr.InputError, match=re.escape(text)):
        tr.open(f"sst:{tmp_path}/run", mode, comm=MPI.COMM_SELF, parameters=parameters)


def test_adapt_takes_no_buffers(tmp_path):
    from mpi4py import MPI

    with pytest.raises(tr.InputError, match="leave out `buffers`"):
        tr.open(f"sst:{tmp_path}/run", "w", comm=MPI.COMM_SELF, parameters={"policy": "adapt", "buffers": 1})


def test_wrong_places_and_modes(tmp_path):
    from mpi4py import MPI

    with pytest.raises(tr.InputError, match="a stream keeps no steps"):
        tr.open("sst:run", "a", comm=MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match="No such file or directory"):
        tr.open(f"sst:{tmp_path}/none/run", "w", comm=MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match="so no writer has opened the stream"):
        tr.open(f"sst:{tmp_path}/run", parameters={"OpenTimeoutSecs": 1})


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


def test_a_run_streams_its_output(stream, tmp_path):
    """An [[output]] of a simulation, read by another program while it runs."""
    case = cases.write_case(tmp_path, steps=4)
    case.write_text(case.read_text() + OUTPUT.format(60))
    run = stream.program(None, *mpi_run.tailrace_command("run", case, ranks=2))
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
    assert not list(tmp_path.glob("*left-out.csv")), "nobody missed a step"
    rows = [line.split() for line in result.out[result.out.index("run: run") :].splitlines()]
    waited = next(float(row[-1]) for row in rows if row[:1] == ["wait"])
    assert waited < 60, f"the time limit of a stream\n{result.text}"


def test_a_step_that_is_not_there_yet_may_be_asked_for_again(stream, tmp_path):
    """With no time to wait, the answer comes at once, and the next step is not lost."""
    writer = stream("write", 2, *ENDLESS, "timeout=1000")
    with tr.open(f"sst:{tmp_path}/run", parameters={"timeout": LIMIT}) as series:
        found = [series.next_step().index]
        writer.signal_all(signal.SIGSTOP)
        with pytest.raises(tr.IoError, match="no step came in 0 s"):
            while True:
                found.append(series.next_step(timeout=0).index)
        writer.signal_all(signal.SIGCONT)
        found.append(series.next_step().index)
        stream.stop()
        found += [step.index for step in series]
    writer.finish()
    assert found == list(range(found[0], found[-1] + 10, 10))
