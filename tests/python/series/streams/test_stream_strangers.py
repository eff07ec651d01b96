"""Programs that connect to the ports of a stream and are no part of it. On other hosts: tests/cluster."""

import contextlib
import fcntl
import json
import resource
import socket
import struct
from pathlib import Path

import pytest

from helpers.harness import mpi_run
from helpers.harness.streams import ENDS, more
from tailrace import core as _core

pytestmark = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")

LISTENS = "0A"  # the state of a socket in /proc/net/tcp


@pytest.fixture
def crowd():
    """crowd(port, number): idle connections, a quarter of which end at once, the others with the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    with contextlib.ExitStack() as kept:

        def come(port, number):
            for count in range(number):
                one = kept.enter_context(socket.socket())
                one.setblocking(False)  # where the queue of the port is full, the system lets it wait
                one.connect_ex(("127.0.0.1", port))
                if count % 4 == 0:
                    one.close()  # without a word

        yield come
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def listeners_of(program):
    """All addresses and TCP ports at which the ranks of a program listen."""
    inodes = set()
    for process in mpi_run.rank_processes(program.process, str(ENDS)):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(str(entry.readlink()))
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == LISTENS and f"socket:[{words[9]}]" in inodes:
            address, port = words[1].split(":")
            found.add((socket.inet_ntoa(struct.pack("=I", int(address, 16))), int(port, 16)))
    return sorted(found)


def ports_of(program):
    return sorted({port for _, port in listeners_of(program)})


def interfaces():
    """The interfaces of this host that have an address, with it."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(any_socket, 0x8915, struct.pack("256s", name.encode()[:15]))  # SIOCGIFADDR
                found[name] = socket.inet_ntoa(answer[20:24])
    return found


@pytest.mark.parametrize("number", [100, *more(500)])
def test_idle_connections_to_every_port(stream, crowd, number):
    """ADIOS2 took each of them and waited for its first bytes, and a hundred ended the program."""
    writer = stream("write", 2, "steps=60", "pause=0.05", "wait_for_reader=60")
    writer.until("open")
    early = ports_of(writer)
    for port in early:
        crowd(port, number)
    reader = stream("read", 2)
    reader.until("read 20")
    ports = sorted({*ports_of(reader), *ports_of(writer)} - set(early))
    assert len(early) >= 3, "two of ADIOS2, and the control channel"
    assert len(ports) >= 2, "the reader's"
    for port in ports:
        crowd(port, number)
    writer.finish()
    reader.finish()
    assert reader.indices() == list(range(0, 600, 10))
    assert len(writer.told("coupling")["others"]) == 1


@pytest.mark.parametrize("name", interfaces())
def test_adios2_listens_at_the_chosen_interface_only(stream, tmp_path, name):
    """Also on a host with others, whose programs reach it there."""
    address = interfaces()[name]
    writer = stream("write", 2, "steps=20", "pause=0.05", "wait_for_reader=60", f"NetworkInterface={name}")
    writer.until("open")
    record = json.loads((tmp_path / "run.sst.writer").read_text())
    assert record["listens"] == address
    assert [one for one, port in listeners_of(writer) if port == record["listens_at"]] == [address]
    for other in {"127.0.0.1", *interfaces().values()} - {address}:
        with socket.socket() as stranger:
            assert stranger.connect_ex((other, record["listens_at"])) != 0, other
    reader = stream("read", 2)
    writer.finish()
    reader.finish()
    assert reader.indices() == list(range(0, 200, 10))


def test_files_of_a_stream_are_the_users_own(stream, tmp_path):
    """One of them holds the token."""
    writer = stream("write", 1, "steps=0", "pause=0.05")
    writer.until("wrote")
    for name in ("run.sst", "run.sst.writer"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600, name
    stream.stop()
    writer.finish()


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("hosts=no-such-host.invalid", "there is no host 'no-such-host.invalid'"),
        ("NetworkInterface=nothing7", "has no interface whose name begins so; it has"),
    ],
)
def test_wrong_names_of_hosts_and_networks(stream, parameter, says):
    assert says in stream("write", 2, parameter).finish(code=3)[-1]
