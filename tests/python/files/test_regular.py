"""Only regular files are opened; pipes, sockets and devices are refused at once, and nothing stays open."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from helpers.harness.descriptors import descriptors
from tailrace.files.regular import open_descriptor, open_regular, refuse_special


@pytest.fixture
def special(tmp_path):
    """A named pipe, a socket and a device, with what is said of each."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        yield {tmp_path / "pipe": "named pipe", tmp_path / "socket": "socket", Path("/dev/null"): "device"}


def test_special_files_are_refused(special):
    before = descriptors()
    for path, kind in special.items():
        for use in (refuse_special, open_descriptor, open_regular, lambda path: open_regular(path, "w")):
            with pytest.raises(OSError, match=rf"it is a {kind}; expected a regular file") as error:
                use(path)
            assert (error.value.errno, error.value.filename) == (errno.EINVAL, str(path))
    assert not descriptors() - before


def test_a_pipe_that_somebody_reads_is_refused_too(special):
    path = next(iter(special))
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    before = descriptors()
    with pytest.raises(OSError, match="it is a named pipe"):
        open_regular(path, "w")
    assert not descriptors() - before
    os.close(reader)


def test_regular_files_and_what_is_not_there(tmp_path):
    refuse_special(tmp_path / "none")
    refuse_special(tmp_path)
    with open_regular(tmp_path / "a", "w", encoding="utf-8") as file:
        file.write("text")
        assert os.get_blocking(file.fileno())
        assert not os.get_inheritable(file.fileno())
    assert (tmp_path / "a").stat().st_mode & 0o111 == 0
    descriptor = open_descriptor(tmp_path / "a")
    assert os.read(descriptor, 9) == b"text"
    with pytest.raises(OSError):
        os.write(descriptor, b"x")
    os.close(descriptor)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path, "w")
