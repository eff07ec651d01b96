"""Runs on several nodes, with what happens to nodes: equal process numbers, silence, an end without notice.

TAILRACE_TEST_CLUSTER (2): how often what depends on chance is tried; 50 before a release.
"""

import json
import os
import sys
from pathlib import Path

import pytest
from nodes import HOSTS, TAILRACE, cluster_of

from helpers.harness.engines import ENGINES
from helpers.harness.streams import ENDS
from helpers.inputs.analyses import assert_close, output, write_case
from tailrace import core as _core
from tailrace.io.time_series import read_time_series

TIMES = int(os.environ.get("TAILRACE_TEST_CLUSTER", "2"))
ENGINES_PROGRAM = Path(__file__).parent / "engine_program.py"
END = (sys.executable, ENDS)
BOTH = "n1:2,n2:2"

streams = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")


def test_run_and_resume_elsewhere(start, tmp_path):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    write_case(whole)
    write_case(halves, "[checkpoint]\nevery = 2")
    start("n1:2", 2, *TAILRACE, "run", "case.toml", cwd=whole).finish()
    start(BOTH, 4, *TAILRACE, "run", "case.toml", "--set=time.steps=4", cwd=halves).finish()
    start("n2:1,n3:2", 3, *TAILRACE, "run", "case.toml", "--resume", cwd=halves).finish()
    assert_close(halves / "time_series.csv", whole / "time_series.csv")


def test_a_node_that_reboots(start, cluster, tmp_path):
    """Its processes end without a word. The run ends, and goes on from its checkpoint on the other nodes."""
    case = write_case(
        tmp_path, "[checkpoint]\nevery = 5", output("h5", "hdf5", "run.h5"), output("bp", "bp5", "run.bp")
    )
    run = start(BOTH, 4, *TAILRACE, "run", case, "--set=time.steps=1000000", "--set=diagnostics.every=1")
    while not any((tmp_path / "checkpoints").glob("step-*[05]")):
        run.until("step")
    cluster.kill("n2")
    assert run.process.wait(60) != 0
    last = max(int(path.name[5:]) for path in (tmp_path / "checkpoints").glob("step-*[0-9]"))
    start("n1:2,n3:1", 3, *TAILRACE, "run", case, "--resume", f"--set=time.steps={last + 4}").finish()
    assert list(read_time_series(tmp_path / "time_series.csv")["step"])[-1] == last + 4
    start("n1:1", 1, *TAILRACE, "verify", "run.h5", "run.bp").finish()


def test_every_engine(start):
    program = start(BOTH, 4, sys.executable, "-m", "mpi4py", ENGINES_PROGRAM)
    assert [line for line in program.finish(limit=120) if line.startswith("done")] == [f"done {one}" for one in ENGINES]


@streams
@pytest.mark.parametrize("time", range(TIMES))
def test_beside_on_another_node(start, cluster, tmp_path, time):
    cluster.same_pids()
    case = write_case(tmp_path)
    command = (*TAILRACE, "run", case, "-n", 4, "--beside=budget", "--beside-ranks=2")
    start(BOTH, None, *command, analysis="n3:2").finish()
    assert_close(tmp_path / "analysis/budget.csv", tmp_path / "time_series.csv")


@streams
@pytest.mark.parametrize("time", range(TIMES))
def test_a_stream_of_ranks_with_equal_process_numbers(start, cluster, time):
    """ADIOS2 knew a rank by its process number and the time alone, and sent to the wrong one."""
    cluster.same_pids()
    writer = start(BOTH, 4, *END, "write", "sst:run", "steps=6", "wait_for_reader=60")
    readers = [start(hosts, 2, *END, "read", "sst:run") for hosts in ("n3:2", "n2:1,n3:1")[: 1 + time % 2]]
    writer.finish()
    for one in readers:
        one.finish()
        assert one.indices()[-1] == 50


@streams
def test_one_rank_of_each_node_sends_the_blocks_of_all(start):
    writer = start(BOTH, 4, *END, "write", "sst:run", "wait_for_reader=60", "aggregators=node")
    reader = start("n3:2", 2, *END, "read", "sst:run")
    writer.finish()
    reader.finish()
    assert writer.told("listens") == [True, False, True, False]
    assert reader.indices() == [0, 10, 20, 30, 40]


def reading(start, hosts, words):
    """A reader that has its first step. Now and then a daemon of mpiexec ends at its start, and mpiexec waits."""
    for last in (False, True):
        program = start(hosts, 2, *END, "read", "sst:run", words)
        try:
            program.until("read", 60 if last else 20)
        except pytest.fail.Exception:
            if last or program.seen:
                raise
            program.end()
        else:
            break
    return program


@streams
@pytest.mark.parametrize("time", range((TIMES + 1) // 2))
def test_an_analysis_node_that_falls_silent(start, cluster, tmp_path, time):
    """The writer drops it after `timeout`, and goes on."""
    writer = start(BOTH, 4, *END, "write", "sst:run", "steps=0", "pause=0.02", "wait_for_reader=60", "timeout=4")
    reading(start, "n3:2", "timeout=4")
    cluster.silence("n3")
    try:
        writer.goes_on(lines=100)
        (tmp_path / "stop").touch()
        writer.finish()
    finally:
        cluster.silence("n3", silent=False)
    assert {one["state"] for one in writer.told("coupling")["others"]} == {"dropped"}


@streams
@pytest.mark.parametrize("time", range((TIMES + 1) // 2))
def test_a_reader_beside_one_that_falls_silent(start, cluster, tmp_path, time):
    """It stays, and gets all steps: ADIOS2 sends to both in one thread, so that it too waits a while."""
    writer = start(BOTH, 4, *END, "write", "sst:run", "steps=0", "pause=0.02", "wait_for_reader=60", "timeout=4")
    well = reading(start, "n1:1,n2:1", "timeout=60")
    reading(start, "n3:2", "timeout=60")
    cluster.silence("n3")
    try:
        writer.goes_on(lines=100)
        (tmp_path / "stop").touch()
        writer.finish()
        well.finish()
    finally:
        cluster.silence("n3", silent=False)
    assert sorted(one["state"] for one in writer.told("coupling")["others"]) == ["closed", "dropped"]
    indices = well.indices()
    assert indices == list(range(indices[0], indices[-1] + 10, 10))


CONNECT = """
import contextlib, socket, struct, sys
end = b""
with contextlib.suppress(OSError), socket.create_connection((sys.argv[1], int(sys.argv[2])), 2) as one:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.sendall(bytes(4))  # the first bytes of a program with ADIOS2, without which nobody is accepted
    try:
        one.recv(1)
    except TimeoutError:  # it is kept, and ADIOS2 waits for more
        end = b"reached"
sys.exit(not end)
"""


CROWD = """
import contextlib, socket, sys
for number in range(500):
    with contextlib.suppress(OSError), socket.create_connection((sys.argv[1], int(sys.argv[2])), 1) as one:
        one.sendall(bytes(4) + bytes(range(64)))
"""


def reaches(cluster, host, record):
    """Whether ADIOS2 listens to a program on a host, instead of closing its connection at once."""
    command = f"{sys.executable} -c '{CONNECT}' {record['listens']} {record['listens_at']} 2>/dev/null; echo $?"
    return cluster.on(host, command).strip() == "0"


def record_of(program, place):
    """The writer's record, when it is complete."""
    program.until("open")
    return json.loads((place / "run.sst.writer").read_text())


@streams
def test_only_hosts_that_know_the_token_reach_adios2(start, cluster, tmp_path):
    writer = start("n1:2", 2, *END, "write", "sst:run", "steps=0", "pause=0.02")
    record = record_of(writer, tmp_path)
    assert record["listens"] == HOSTS["n1"]
    assert reaches(cluster, "n1", record)
    assert not reaches(cluster, "n2", record)
    reader = start("n3:1,n2:1", 2, *END, "read", "sst:run")
    reader.until("read")
    assert reaches(cluster, "n2", record)
    assert reaches(cluster, "n3", record)
    assert not reaches(cluster, "head", record)
    (tmp_path / "stop").touch()
    writer.finish()
    reader.finish()


@streams
def test_strangers_in_a_crowd_disturb_nobody(start, cluster, tmp_path):
    """They say what a reader says first, and then garbage, again and again."""
    writer = start("n1:2", 2, *END, "write", "sst:run", "steps=0", "pause=0.02", "wait_for_reader=60")
    record = record_of(writer, tmp_path)
    reader = start("n3:1", 1, *END, "read", "sst:run")
    reader.until("read")
    cluster.on("n2", f"{sys.executable} -c '{CROWD}' {record['listens']} {record['listens_at']}")
    writer.goes_on(lines=100)
    (tmp_path / "stop").touch()
    writer.finish()
    reader.finish()
    assert len(writer.told("coupling")["others"]) == 1
    indices = reader.indices()
    assert indices == list(range(indices[0], indices[-1] + 10, 10))


@streams
def test_hosts_that_the_user_names(start, cluster, tmp_path):
    writer = start("n1:2", 2, *END, "write", "sst:run", "steps=0", "pause=0.02", "hosts=n2 10.66.0.13/32")
    record = record_of(writer, tmp_path)
    assert [reaches(cluster, host, record) for host in ("n2", "n3", "head")] == [True, True, False]
    (tmp_path / "stop").touch()
    writer.finish()


@streams
def test_nodes_with_several_networks(tmp_path):
    """ADIOS2 alone gives the address of the first, which leads nowhere."""
    with cluster_of(tmp_path, networks=True) as cluster:
        case = write_case(tmp_path / "run")
        command = (*TAILRACE, "run", "case.toml", "-n", 2, "--beside=budget", "--beside-ranks=2")
        cluster.start(case.parent, "n1:2", *command, analysis="n2:2").finish()
        more = ("--overwrite", "--beside-interface=fabric")
        cluster.start(case.parent, "n1:2", *command, *more, analysis="n2:2").finish()
        wrong = cluster.start(tmp_path, "n1:1", *END, "write", "sst:run", "steps=0", "NetworkInterface=eth0", ranks=1)
        assert record_of(wrong, tmp_path)["listens"] == "10.99.0.1"
        reader = cluster.start(tmp_path, "n2:1", *END, "read", "sst:run", "OpenTimeoutSecs=1", ranks=1)
        said = reader.finish(code=3)[-1]
        assert "the writer gives the address 10.99.0.1" in said
        assert f"this host (n2, with the addresses 10.99.0.2, 172.17.0.1, {HOSTS['n2']}, 127.0.0.1) does not" in said
        assert "NetworkInterface = NAME" in said
