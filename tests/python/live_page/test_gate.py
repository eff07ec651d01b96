"""Floods and strangers: they get nothing, and who knows the address is served."""

from __future__ import annotations

import contextlib
import http.client
import resource
import signal
import socket
import subprocess
import time
from urllib.parse import quote, urlsplit

import numpy as np
import pytest

pytest.importorskip("bokeh")

from helpers.harness import mpi_run
from tailrace.io.time_series import TimeSeries
from tailrace.live_page.scenes import Scenes

COLUMN = "time_series.csv: energy"


@pytest.fixture
def page(tmp_path):
    """The page of a run of three rows, by its program."""
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret.csv").write_text("mine")
    with TimeSeries(run / "time_series.csv", columns=("step", "time", "energy")) as out:
        for step in range(3):
            out.append({"step": step, "time": 0.1 * step, "energy": 1.0 / (1 + step)})
    program = subprocess.Popen(
        mpi_run.tailrace_command("live", "--port", "0", str(run)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield program.stdout.readline().strip()
    program.send_signal(signal.SIGTERM)
    assert program.wait(120) == 0
    program.stdout.close()


def ask(address, path=None, limit=20):
    at = urlsplit(address)
    line = http.client.HTTPConnection(at.hostname, at.port, timeout=limit)
    try:
        line.request("GET", at.path if path is None else path)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def reload(address, limit=120):
    """Ask until there is an answer, as a viewer does: during a flood the kernel may put off one connection."""
    until = time.monotonic() + limit
    while True:
        try:
            return ask(address, limit=10)
        except OSError:
            assert time.monotonic() < until, "viewers are kept out"


def connections(address, count):
    at = urlsplit(address)
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
    return [socket.create_connection((at.hostname, at.port), 20) for _ in range(min(count, room))]


def test_connections_that_ask_for_nothing_do_not_keep_viewers_out(page):
    held = connections(page, 900)
    assert reload(page)[0] == 200
    for line in held:
        line.close()


def test_requests_that_never_end_do_not_keep_viewers_out(page):
    held = connections(page, 300)
    for line in held:
        with contextlib.suppress(OSError):  # closed already: there are too many
            line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
    assert reload(page)[0] == 200
    for line in held:
        with contextlib.suppress(OSError):
            line.sendall(b"a")
    assert reload(page)[0] == 200
    for line in held:
        line.close()


def test_a_flood_is_put_off_and_one_of_strangers_counts_not(page):
    assert {ask(page, f"/wrong-{number}/")[0] for number in range(400)} == {404}
    at = urlsplit(page)
    request = f"HEAD {at.path}static/js/bokeh.min.js HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n"
    with socket.create_connection((at.hostname, at.port), 60) as line:
        line.sendall((request * 600).encode())
        line.shutdown(socket.SHUT_WR)
        answers = b"".join(iter(lambda: line.recv(65536), b""))
    assert answers.startswith(b"HTTP/1.1 200") and b"HTTP/1.1 429" in answers


def test_a_curve_has_all_rows(page):
    code, text = ask(page, f"{urlsplit(page).path}curve.csv?column={quote(COLUMN)}")
    assert code == 200
    lines = text.decode().splitlines()
    assert lines[0] == "run,time,value" and len(lines) == 4
    values = np.array([[float(word) for word in line.split(",")[1:]] for line in lines[1:]])
    np.testing.assert_array_equal(values[:, 1], [1.0, 0.5, 1 / 3])


def test_nothing_else_can_be_asked_for(page):
    for path in (
        "curve.csv", "curve.csv?column=nothing", "curve.csv?column=../secret.csv: mine", "scene/none.vtksz",
        "scene/../../secret.csv", "film/..%2Fsecret.csv", "film/%2Fetc%2Fpasswd", "film/run: time_series.csv", "film/",
    ):  # fmt: skip
        code, text = ask(page, urlsplit(page).path + quote(path, safe="%/?=&"))
        assert code in (403, 404) and b"mine" not in text and b"root:" not in text, path


def test_old_surfaces_are_forgotten():
    scenes = Scenes()
    names = [scenes.add(bytes([number])) for number in range(40)]
    assert scenes.get(names[-1]) == b"\x27" and scenes.get(names[0]) is None
    assert sum(scenes.get(name) is not None for name in names) == 16 and len(set(names)) == 40
