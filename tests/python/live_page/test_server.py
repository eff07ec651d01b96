"""Who can see the page: who knows its address, from this machine, and nobody can change anything."""

from __future__ import annotations

import asyncio
import http.client
import re
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("bokeh")
from bokeh.models import Div
from bokeh.util.token import generate_jwt_token
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

import tailrace as tr
from helpers.harness import mpi_run
from tailrace.io.time_series import TimeSeries
from tailrace.live_page.run_state import RunState
from tailrace.live_page.state_panel import StatePanel


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("served") / "run"
    directory.mkdir()
    (directory.parent / "secret.csv").write_text("mine")
    with TimeSeries(directory / "time_series.csv", columns=("step", "time", "<b>x</b>")) as out:
        out.append({"step": 0, "time": 0.0, "<b>x</b>": 1.0})
    return directory


@pytest.fixture(scope="module")
def address(place):
    command = mpi_run.tailrace_command("live", "--port", "0", str(place))
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield program.stdout.readline().strip()
    program.send_signal(signal.SIGINT)
    assert program.wait(120) == 0
    program.stdout.close()


def ask(address, path, method="GET", **headers):
    at = urlsplit(address)
    line = http.client.HTTPConnection(at.hostname, at.port, timeout=240)
    line.request(method, path, headers=headers)
    answer = line.getresponse()
    found = answer.status, answer.read()
    line.close()
    return found


def test_only_who_knows_the_address_sees_anything(address):
    path = urlsplit(address).path
    assert ask(address, path)[0] == 200
    wrong = path[:-2] + ("A" if path[-2] != "A" else "B") + "/"
    for other in ("/", wrong, "/static/js/bokeh.min.js", f"{wrong}ws", f"{wrong}static/js/bokeh.min.js", "/metadata"):
        assert ask(address, other)[0] == 404, other
    for outside in ("..", "../..", "%2e%2e/%2e%2e", "..%2f..%2f..", "/etc/passwd", "js/../../../../../../etc/passwd"):
        code, text = ask(address, f"{path}static/{outside}/secret.csv")
        assert code in (403, 404) and b"mine" not in text, outside
    for method in ("POST", "PUT", "DELETE"):
        assert ask(address, path, method)[0] in (403, 405), method


def test_requests_that_are_too_large_are_refused(address):
    path = urlsplit(address).path
    at = urlsplit(address)
    with socket.create_connection((at.hostname, at.port), 30) as line:
        line.sendall(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000)
        line.settimeout(30)
        try:
            answer = line.recv(1000)
        except ConnectionResetError:
            answer = b""
    assert not answer or b" 4" in answer[:20]
    assert ask(address, path)[0] == 200, "it goes on"


def upgraded(address, origin):
    """The answer to a script of a page of `origin` that asks for the socket of the page."""
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Origin": origin}
    return ask(address, f"{urlsplit(address).path}ws", **headers, **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})


def answers_to(address, message, token=None):
    """What follows on the socket of a page, by default of our own: "closed", or what it says."""
    at = urlsplit(address)
    token = token or re.search(r'"token":"([^"]+)"', ask(address, at.path)[1].decode())[1]

    async def run():
        request = HTTPRequest(f"ws://{at.netloc}{at.path}ws", headers={"Origin": f"http://{at.netloc}"})
        line = await websocket_connect(request, subprotocols=["bokeh", token])
        first = now = await line.read_message()
        if message is None:
            line.close()
        else:
            await line.write_message(message)
        while now is not None:  # until it is closed
            now = await line.read_message()
        line.close()
        return first if message is None else "closed"

    return asyncio.run(asyncio.wait_for(run(), 60))


def test_pages_of_others_cannot_connect(address):
    assert "ACK" in answers_to(address, None), "a page of our own can"
    at = urlsplit(address)
    for host in ("evil.example", f"evil.example:{at.port}"):  # a name of theirs that leads here
        assert ask(address, at.path, Host=host)[0] == 404
    assert ask(address, at.path, Host=f"127.0.0.1:{at.port}")[0] == 200
    for origin in ("http://localhost", "http://evil.example", f"http://evil.example:{at.port}", "null"):
        assert upgraded(address, origin)[0] == 403, origin


def test_a_session_that_is_made_up_is_refused(address):
    """Only the page itself begins sessions; otherwise each request could leave one behind."""
    path = urlsplit(address).path
    assert ask(address, f"{path}?bokeh-session-id=made-up")[0] == 403
    assert ask(address, path, **{"Bokeh-Session-Id": "made-up"})[0] == 403
    for token in (generate_jwt_token("made-up"), generate_jwt_token("made-up", b"a guessed key", signed=True)):
        assert answers_to(address, None, token) is None
    assert "ACK" in answers_to(address, None), "it goes on"


def test_a_message_that_is_too_large_ends_its_connection_only(address):
    assert answers_to(address, "x" * 2**20) == "closed"
    assert ask(address, urlsplit(address).path)[0] == 200


def test_clients_that_say_nothing_keep_nobody_waiting(address):
    at = urlsplit(address)
    idle = [socket.create_connection((at.hostname, at.port), 30) for _ in range(300)]
    try:
        for line in idle:
            line.sendall(b"GET / HTTP/1.1\r\nX-a: ")
        begin = time.monotonic()
        assert ask(address, at.path)[0] == 200
        assert time.monotonic() - begin < 20
    finally:
        for line in idle:
            line.close()


def test_names_of_files_are_text_and_runs_of_one_name_are_told_apart(tmp_path):
    runs = []
    for parent in ("a", "b"):
        place = tmp_path / parent / "<b>run"
        place.mkdir(parents=True)
        with tr.open(place / "<i>out.h5", "w", grid=tr.UniformGrid((4, 3, 2))) as out:
            out.write_step(0.0, f=np.zeros((2, 3, 4)))
        runs.append(place)
    view = tr.live(*runs)
    try:
        watched = view._page._runs
        assert len({run.name for run in watched}) == 2
        panel = StatePanel(watched, [RunState(run) for run in watched])
        panel.update()
        text = "".join(one.text for one in panel.root.select({"type": Div}))
        assert "<b>" not in text and "<i>" not in text
        assert text.count("&lt;b&gt;run") == 2 and text.count("&lt;i&gt;out.h5") == 2
    finally:
        view.close()


def test_what_is_wrong_is_said(place, tmp_path):
    missing = mpi_run.finish(mpi_run.start(mpi_run.tailrace_command("live", "nothing"), tmp_path), 60)
    assert missing.code == 2 and "nothing: there is no such file or directory" in missing.err, missing.text
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = mpi_run.finish(mpi_run.start(mpi_run.tailrace_command("live", place, "--port", port), tmp_path), 60)
    assert result.code == 2 and f"port {port}" in result.err and "--port" in result.err, result.text
    block = tmp_path / "block"
    block.mkdir()
    (block / "bokeh.py").write_text("raise ImportError('none here')\n")
    started = mpi_run.start(mpi_run.tailrace_command("live", place), tmp_path, {"PYTHONPATH": str(block)})
    result = mpi_run.finish(started, 60)
    assert result.code == 1 and "tailrace[live]" in result.err, result.text
    assert [path.name for path in place.iterdir()] == ["time_series.csv"], "nothing is written"


# No timer of the server wakes the loop, so that only the signal can.
ASLEEP = """
import os, signal, sys, threading
from pathlib import Path
from tailrace.live_page.server import LivePage
page = LivePage([Path(sys.argv[1])], port=0)
signal.signal(signal.SIGTERM, lambda *_: page.stop())
def sleep():
    for job in (page._server._tornado._stats_job, page._server._tornado._cleanup_job, page._server._tornado._ping_job):
        job.stop()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
page._server.io_loop.add_callback(sleep)
page.run()
"""


def test_a_signal_wakes_the_server(place):
    assert subprocess.run([sys.executable, "-c", ASLEEP, str(place)], timeout=240).returncode == 0


def test_a_page_in_a_notebook(place, tmp_path):
    view = tr.live(place)
    try:
        assert ask(view.address, urlsplit(view.address).path)[0] == 200
        assert f'<iframe src="{view.address}"' in view._repr_html_()
    finally:
        view.close()
    with pytest.raises(ConnectionRefusedError):
        ask(view.address, "/")
    view.close()
    with pytest.raises(tr.InputError, match="no such file or directory"):
        tr.live(place / "nothing")
    (tmp_path / "link.h5").symlink_to(tmp_path / "gone.h5")
    with pytest.raises(tr.InputError, match=r"link\.h5: it is a link to .*/gone\.h5, which is not there"):
        tr.live(tmp_path / "link.h5")
    with pytest.raises(tr.InputError, match="a pattern is not taken here; give one file, or several without quotes"):
        tr.live(place / "*.csv")


def test_a_page_for_other_machines(place, tmp_path):
    command = mpi_run.tailrace_command("live", "--port", "0", "--host", "0.0.0.0", str(place))
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = urlsplit(program.stdout.readline().strip())
    try:
        assert address.hostname == socket.gethostname().lower()
        for name in ("localhost", "127.0.0.1"):  # as ssh -L carries it
            assert ask(f"http://{name}:{address.port}", address.path)[0] == 200
            assert upgraded(f"http://{name}:{address.port}{address.path}", f"http://{name}:{address.port}")[0] != 403
            assert upgraded(f"http://{name}:{address.port}{address.path}", "http://evil.example")[0] == 403
    finally:
        program.send_signal(signal.SIGTERM)
        said = program.communicate(timeout=240)[1]
    assert program.returncode == 0 and "everybody who can reach this address" in said
