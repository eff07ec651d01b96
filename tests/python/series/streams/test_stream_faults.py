"""For every failure of one end of a stream, the other continues or ends with one clear message within a stated time.

See helpers/harness/streams.py for TAILRACE_TEST_STREAMS: 20 runs each of these tests twenty times.
"""

import contextlib
import itertools
import json
import re
import resource
import signal
import socket
import time
from pathlib import Path

import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.program import LIMIT
from helpers.harness.streams import ALL, ENDLESS, ENDS, POLICIES, TIMES, more, slow
from tailrace import core as _core

pytestmark = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")


@pytest.fixture(autouse=True, params=range(max(1, TIMES)))
def repeat(request):
    """Every test of this file so many times."""
    return request.param


def test_no_reader_ever(stream):
    writer = stream("write", 2, "steps=50", "wait_for_reader=2", "timeout=1000")  # it ends long before that
    assert float(writer.finish()[-1].split()[1]) >= 2


@pytest.mark.parametrize("policy", ["block", *more(*POLICIES[1:])])
def test_reader_killed(stream, policy):
    writer = stream("write", 2, *ENDLESS, f"policy={policy}")
    reader = stream("read", 2)
    for _ in range(2):
        reader.until("read")
    reader.signal_all(signal.SIGKILL)
    writer.goes_on()
    stream.stop()
    assert writer.finish()[-1].startswith("closed")
    assert writer.told("coupling")["others"][0]["state"] == "lost"


@pytest.mark.parametrize("ranks", [*more(1), 2])
def test_reader_stopped_under_block_is_dropped(stream, ranks):
    writer = stream("write", 2, *ENDLESS, "timeout=3")
    reader = stream("read", ranks)
    reader.until("read 20")
    reader.signal_all(signal.SIGSTOP)
    writer.goes_on()
    stream.stop()
    assert writer.finish()[-1].startswith("closed")
    assert sum("is dropped" in line for line in writer.errors if line) == 1
    assert writer.told("coupling")["others"][0]["state"] == "dropped"
    reader.signal_all(signal.SIGCONT)
    assert "the connection is lost" in reader.finish(code=3)[-1]


@pytest.mark.parametrize("policy", ["drop_oldest", *more("drop_newest", "adapt")])
def test_reader_stopped_costs_nothing_where_steps_are_dropped(stream, policy):
    """Only `close` waits for the reader, and then continues."""
    writer = stream("write", 2, *ENDLESS, "timeout=15", f"policy={policy}", "share=0.5")
    reader = stream("read", 1)
    for _ in range(3):
        reader.until("read")
    reader.signal_all(signal.SIGSTOP)
    writer.goes_on(lines=15)
    assert not any("is dropped" in line for line in writer.errors if line)
    stream.stop()
    writer.finish()
    said = [line for line in writer.errors if line and "is dropped" in line]
    last = writer.indices("wrote")[-1]
    assert len(said) == 1, said
    assert f"step {last}: a reader" in said[0], said
    assert writer.told("cost")["most"] < 15, "no step waits for the time limit"


@pytest.mark.parametrize("policy", [*more("block", *POLICIES[2:]), "drop_newest"])
def test_reader_hangs_alive(stream, policy):
    """It keeps its step without end, and its connections work."""
    writer = stream("write", 2, *ENDLESS, "timeout=3", f"policy={policy}", "share=0.5")
    reader = stream("read", 2, "hang=yes")
    for _ in range(3):
        reader.until("read")
    writer.goes_on()
    stream.stop()
    assert writer.finish()[-1].startswith("closed")
    assert writer.told("coupling")["others"][0]["state"] == "dropped"


def test_one_of_two_readers_stopped(stream):
    """That one is dropped; the other one continues."""
    writer = stream("write", 2, *ENDLESS, "timeout=3")
    good, bad = stream("read", 1), stream("read", 1)
    good.until("read")
    for _ in range(2):
        bad.until("read")
    bad.signal_all(signal.SIGSTOP)
    writer.goes_on()
    stream.stop()
    writer.finish()
    good.finish()
    assert good.indices()[-1] == writer.indices("wrote")[-1]


@slow
def test_reader_attaches_again(stream):
    writer = stream("write", 2, *ENDLESS)
    first = stream("read", 1, "most=3")
    first.finish()
    second = stream("read", 2, "most=3")
    second.finish()
    assert first.indices() == [0, 10, 20]
    assert second.indices()[0] > 20
    assert len(second.indices()) == 3
    stream.stop()
    writer.finish()


@pytest.mark.parametrize("ranks", [*more(1), 2])
def test_writer_killed(stream, ranks):
    writer = stream("write", 2, *ENDLESS)
    reader = stream("read", ranks)
    reader.until("read 20")
    writer.signal_all(signal.SIGKILL)
    *before, last = reader.finish(code=3)
    assert "the connection is lost" in last
    assert before[-1] == "closed after an error"


@pytest.mark.parametrize("verify", ["yes", *more("")])
@pytest.mark.parametrize(
    ("number", "says"),
    [(signal.SIGKILL, "the connection is lost"), (signal.SIGSTOP, "the writer did not answer for 3 s")],
    ids=["killed", "stopped"],
)
def test_writer_lost_while_a_step_is_looked_at(stream, tmp_path, number, says, verify):
    """Neither reading nor verifying takes that for damage."""
    writer = stream("write", 2, *ENDLESS)
    reader = stream("read", 2, "timeout=3", "hold=yes", f"verify_only={verify}")
    reader.until("got 0")
    writer.signal_all(number)
    (tmp_path / "go").touch()
    *before, last = reader.finish(code=3)
    assert says in last
    assert before[-1] == "closed after an error"


@slow
def test_writer_stopped(stream):
    writer = stream("write", 2, *ENDLESS)
    reader = stream("read", 2, "timeout=3")
    reader.until("read 20")
    writer.signal_all(signal.SIGSTOP)
    assert re.search("no step came in 3 s|did not answer for 3 s", reader.finish(code=3)[-1])


def leave_contact(stream):
    """A writer that was killed, and could not remove its files."""
    writer = stream("write", 1, "steps=0", "pause=0.1")
    writer.until("wrote 10")
    writer.signal_all(signal.SIGKILL)
    writer.process.wait(LIMIT)


def test_contact_left_by_a_killed_writer(stream, tmp_path):
    leave_contact(stream)
    assert (tmp_path / "run.sst").exists()
    reader = stream("read", 2, "OpenTimeoutSecs=1")
    assert "was left by process" in reader.finish(code=3)[-1]


@slow
def test_reader_waits_beside_a_contact_left(stream):
    leave_contact(stream)
    reader = stream("read", 2)
    reader.until("opening")
    writer = stream("write", 2, "wait_for_reader=60")
    writer.finish()
    reader.finish()
    assert reader.indices() == ALL


@slow
def test_contact_of_nobody_knows_whom(stream, tmp_path):
    """Without a record of the process, the reader can only try."""
    leave_contact(stream)
    (tmp_path / "run.sst.writer").unlink()
    reader = stream("read", 1, "timeout=3")
    assert "nobody answers" in reader.finish(code=3)[-1] or "has died" in reader.seen[-1]


@pytest.mark.parametrize("ranks", [*more(1), 2])
def test_writer_that_never_ends_a_step(stream, ranks):
    """It lets nobody in, so that ADIOS2 is never asked."""
    writer = stream("write", 1, "steps=1", "pause=1000")
    writer.until("wrote 0")
    reader = stream("read", ranks, "timeout=3")
    assert "no step came in 3 s" in reader.finish(code=3)[-1]


def test_two_writers_of_one_name(stream):
    first = stream("write", 1, "steps=0", "pause=0.1")
    first.until("wrote 10")
    second = stream("write", 2)
    assert "is writing one of that name" in second.finish(code=3)[-1]
    first.goes_on(lines=2)


def test_a_record_of_another_host_says_nothing(tmp_path):
    """Its processes cannot be seen from here, so that the reader can only try, within its time."""
    (tmp_path / "run.sst").write_text("#ADIOS2-SST v0\n")
    (tmp_path / "run.sst.writer").write_text(json.dumps({"host": "not" + socket.gethostname(), "process": 1}))
    with (
        tr.open(f"sst:{tmp_path}/run", parameters={"OpenTimeoutSecs": 1}) as series,
        pytest.raises(tr.IoError, match="no step came in 2 s"),
    ):
        series.next_step(2)


def record_of(place):
    return json.loads((place / "run.sst.writer").read_text())


def say_to(port, *texts):
    """Connect, send the text, and stay connected until all is sent."""
    sockets = []
    for text in texts:
        sockets.append(socket.create_connection(("127.0.0.1", port), 10))
        with contextlib.suppress(OSError):  # it closed the connection
            sockets[-1].sendall(text)
    return sockets


@pytest.mark.parametrize("policy", ["block", *more(*POLICIES[1:])])
def test_garbage_on_the_control_channel(stream, tmp_path, policy):
    """The port is open to all: what comes there does not stop the simulation."""
    writer = stream("write", 2, *ENDLESS, f"policy={policy}", "share=0.5")
    reader = stream("read", 1)
    reader.until("read")
    record = record_of(tmp_path)
    hello = {"token": record["token"], "version": 99}
    kept = say_to(
        record["port"],
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\x00\n" * 1000,
        b'{"token": "half a li',
        b"x" * 1_000_000,
        json.dumps({**hello, "token": "wrong", "version": 1}).encode() + b"\n",
        json.dumps(hello).encode() + b"\n",
    )
    for _ in range(3):
        reader.until("read")
    writer.goes_on()
    stream.stop()
    assert writer.finish()[-1].startswith("closed")
    reader.finish()
    for one in kept:
        one.close()
    assert len(writer.told("coupling")["others"]) == 1
    assert reader.indices()[-1] in writer.indices("wrote")[-30:]


@pytest.mark.parametrize("answer", [b"", *more(b"who are you?\n" * 1000, None)])
def test_somebody_else_at_the_port_of_the_channel(stream, tmp_path, answer):
    """It sends nothing, garbage, or disconnects: the reader works without it, as readers of other programs do."""
    writer = stream("write", 2, *ENDLESS, "policy=drop_newest")
    writer.until("open")
    with socket.create_server(("127.0.0.1", 0)) as other:
        record = {**record_of(tmp_path), "port": other.getsockname()[1]}
        (tmp_path / "run.sst.writer").write_text(json.dumps(record))
        reader = stream("read", 1)
        other.settimeout(LIMIT)
        visitor, _ = other.accept()
        if answer is None:
            visitor.close()
        else:
            visitor.sendall(answer)
        for _ in range(3):
            reader.until("read")
        writer.goes_on()
        stream.stop()
        writer.finish()
        reader.finish()
        visitor.close()
    assert writer.told("coupling")["others"] == []
    assert reader.told("coupling")["others"][0]["ranks"] == 2, "which came with the steps"


@slow
def test_nobody_at_the_port_of_the_channel(stream, tmp_path):
    """A firewall, for instance."""
    writer = stream("write", 2, *ENDLESS)
    writer.until("open")
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    (tmp_path / "run.sst.writer").write_text(json.dumps({**record_of(tmp_path), "port": port}))
    reader = stream("read", 1)
    for _ in range(3):
        reader.until("read")
    stream.stop()
    writer.finish()
    reader.finish()


def test_no_descriptor_left_for_a_reader(stream):
    """The writer says so at once, and lets it in when it can."""
    writer = stream("write", 1, "steps=0", "pause=0.05")
    writer.until("wrote")
    (process,) = mpi_run.rank_processes(writer.process, str(ENDS))
    used = {int(entry.name) for entry in Path(f"/proc/{process}/fd").iterdir()}
    lowest = next(number for number in itertools.count() if number not in used)
    soft, hard = resource.prlimit(process, resource.RLIMIT_NOFILE)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (lowest, hard))
    reader = stream("read", 1)
    end = time.monotonic() + LIMIT
    while not any("could not take a connection (Too many open files)" in line for line in writer.errors if line):
        assert time.monotonic() < end, writer.text()
        time.sleep(0.05)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (soft, hard))
    reader.until("read")
    stream.stop()
    writer.finish()
    reader.finish()
    assert sum("could not take" in line for line in writer.errors if line) == 1


def test_another_version(stream, tmp_path):
    """The reader says so; the writer goes on."""
    writer = stream("write", 1, "steps=0", "pause=0.05")
    writer.until("wrote")
    (tmp_path / "run.sst.writer").write_text(json.dumps({**record_of(tmp_path), "version": 99}))
    reader = stream("read", 2)
    assert "its steps are of version 99, and this Tailrace knows" in reader.finish(code=3)[-1]
    writer.goes_on()
    stream.stop()
    writer.finish()


@slow
def test_a_reader_attaches_again_to_another_grid(stream):
    """While it waits, the writer is killed and another takes its place."""
    first = stream("write", 1, *ENDLESS, "shape=6x5x12")
    early = stream("read", 1)
    early.until("read")
    first.signal_all(signal.SIGKILL)
    assert "the connection is lost" in early.finish(code=3)[-1]
    late = stream("read", 2)
    late.until("opening")
    second = stream("write", 2, "wait_for_reader=60", "shape=4x4x9")
    second.finish()
    late.finish()
    assert late.indices() == ALL
