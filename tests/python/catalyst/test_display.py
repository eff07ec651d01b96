"""A display of our own, with a program in the place of Xvfb."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tailrace.catalyst import display

FIND = "import os, sys, time; number = int(sys.argv[sys.argv.index('-displayfd') + 1]);"
ANSWERS = f"{FIND} os.write(number, b'7\\n'); time.sleep(60)"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The programs that were started."""
    found: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def keep(*words, **how):
        found.append(start(*words, **how))
        return found[-1]

    monkeypatch.setattr(display.subprocess, "Popen", keep)
    monkeypatch.setattr(display, "_SERVERS", [])
    yield found
    for one in found:
        one.kill()
        one.wait()


def test_a_server_that_answers_stays(started):
    assert display._serves([sys.executable, "-S", "-c", ANSWERS])
    assert started[0].poll() is None and started == display._SERVERS


@pytest.mark.parametrize("program", ["pass", f"{FIND} os.write(number, b'\\n'); time.sleep(60)", "silent"])
def test_a_server_that_does_not_answer_is_ended(started, monkeypatch, program):
    """And waited for, so that nothing of it is left."""
    if program == "silent":
        monkeypatch.setattr(display, "_LIMIT", 0.1)
        program = "import time; time.sleep(60)"
    assert not display._serves([sys.executable, "-S", "-c", program])
    assert started[0].returncode is not None and display._SERVERS == []


def test_its_cookie_is_for_this_user_only(tmp_path):
    path = display._cookie(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    assert content.startswith(b"\xff\xff\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x10") and len(content) == 44
