"""The progress and the table at the end."""

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from tailrace.run.progress import Live, is_terminal, summary_table


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drive(stream, total, seconds_per_step, *, steps=None, first_step=0, **values):
    clock = Clock()
    with Live(total, stream, first_step=first_step, now=clock) as live:
        for step in range(first_step + 1, first_step + 1 + (steps or total - first_step)):
            clock.now += seconds_per_step
            live.update(step, 0.005 * step, 0.005, **values)
    return stream.getvalue().splitlines()


def test_a_file_gets_a_line_at_every_tenth():
    lines = drive(io.StringIO(), 1000, 0.001)
    assert len(lines) == 10
    assert lines[0].startswith("step 100/1000 (10%)  t 0.5000  dt 0.005")
    assert lines[-1].startswith("step 1000/1000 (100%)")
    assert not any("\x1b" in line for line in lines), "no control codes in a log"


def test_slow_steps_get_lines_in_between_but_ever_fewer():
    assert len(drive(io.StringIO(), 100, 2.0)) == pytest.approx(30, abs=10)
    assert len(drive(io.StringIO(), 36_000, 1.0)) < 200, "a night leaves a log that can be read"


def test_the_line_has_what_was_given():
    line = drive(io.StringIO(), 200, 0.5, energy=0.125, divergence=3e-14, cfl=0.31, io_bytes=2 << 30)[-1]
    for part in ("energy 0.125000", "max div 3.0e-14", "CFL 0.31", "steps/s 2", "I/O 20.5 MiB/s"):
        assert part in line


def test_time_left_follows_the_speed_of_late_and_counts_from_the_checkpoint():
    lines = drive(io.StringIO(), 300, 1.0, first_step=100, steps=100)
    assert lines[-1].startswith("step 200/300 (50%)")
    assert "left 1 min 40 s" in lines[-1]


def test_open_end():
    lines = drive(io.StringIO(), None, 1.0, steps=25)
    assert lines[-1].startswith("step 25  t ")
    assert "left" not in lines[-1]


def test_messages_keep_their_brackets():
    stream = io.StringIO()
    with Live(10, stream) as live:
        live.message("checkpoint [red]1000[/red] written")
    assert stream.getvalue() == "checkpoint [red]1000[/red] written\n"


def test_a_terminal_is_redrawn_in_place(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    with Live(100, stream) as live:
        live.update(40, 0.2, 0.005, energy=0.1249)
        live._live.refresh()
    text = stream.getvalue()
    assert "40/100" in text
    assert "40%" in text
    assert "\x1b[" in text


def test_a_pseudo_terminal_without_a_size_is_a_log():
    """Open MPI connects its processes in this way when its own output goes to a file."""
    leader, follower = pty.openpty()
    with os.fdopen(leader), os.fdopen(follower, "w") as stream:
        assert stream.isatty()
        assert not is_terminal(stream)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        assert is_terminal(stream)


def test_an_error_passes_through_and_leaves_a_last_line():
    stream = io.StringIO()
    with pytest.raises(RuntimeError, match="NaN"), Live(10, stream) as live:
        live.update(3, 0.3, 0.1)
        raise RuntimeError("NaN at step 4")
    assert stream.getvalue().splitlines()[-1].startswith("step 3/10")


def test_summary_has_shares_and_the_rest():
    stream = io.StringIO()
    summary_table({"output": (0.5, 1.0, 2.0), "convection": (5.0, 6.0, 7.0)}, 10.0, stream)
    lines = stream.getvalue().splitlines()
    rows = [line.split() for line in lines if line.strip()]
    assert ["convection", "5.00", "6.00", "7.00", "60.0%"] in rows
    assert rows.index(["convection", "5.00", "6.00", "7.00", "60.0%"]) < rows.index(
        ["output", "0.50", "1.00", "2.00", "10.0%"]
    )
    assert ["the", "rest", "3.00", "30.0%"] in rows


def test_summary_of_a_run_of_no_time():
    stream = io.StringIO()
    summary_table({"output": (0.0, 0.0, 0.0)}, 0.0, stream)
    assert "output" in stream.getvalue()
