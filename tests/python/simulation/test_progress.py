"""The progress and the table at the end."""

import fcntl
import io
import os
import pty
import re
import struct
import termios

import pytest

from tailrace.consumers.output_table import output_table
from tailrace.io.series import PhaseSummary
from tailrace.simulation.progress import Live, busy_processors, summary_table
from tailrace.text import is_terminal


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


def test_no_time_has_passed_yet():
    line = drive(io.StringIO(), 1, 0.0, io_bytes=2 << 30)[-1]
    assert line.startswith("step 1/1 (100%)")
    assert "I/O" not in line


def test_time_left_follows_the_speed_of_late_and_counts_from_the_checkpoint():
    lines = drive(io.StringIO(), 300, 1.0, first_step=100, steps=100)
    assert lines[-1].startswith("step 200/300 (50%)")
    assert "left 1 min 40 s" in lines[-1]


def test_open_end():
    lines = drive(io.StringIO(), None, 1.0, steps=25)
    assert lines[-1].startswith("step 25  t ")
    assert "left" not in lines[-1]


def at(seconds, *, total=1000, **more):
    """Show a step at each of these seconds; the lines."""
    stream, clock = io.StringIO(), Clock()
    with Live(total, stream, now=clock, **more) as live:
        for step, now in enumerate(seconds, 1):
            clock.now = now
            live.update(step, 0.01 * step, 0.01)
    return stream.getvalue().splitlines()


def test_the_next_line_comes_after_ten_seconds_and_not_before():
    assert [line.split()[1] for line in at([9.99, 10.0, 19.99, 20.0, 21.0])] == ["2/1000", "4/1000", "5/1000"]


def test_late_lines_are_a_twentieth_of_the_run_apart():
    """After an hour that is three minutes."""
    lines = at([3600.0, 3779.0, 3789.0, 3790.0, 3791.0])
    assert [line.split()[1] for line in lines] == ["1/1000", "4/1000", "5/1000"]


def test_the_speed_is_that_of_the_last_ten_seconds():
    """The start is left out as soon as it lies more than ten seconds back."""
    assert "steps/s 0.2  " in at([5.0, 10.0])[-1] + "  "
    assert "steps/s 0.7  " in at([8.0, 9.0, 10.0, 11.0, 11.5, 11.75, 12.0, 18.0])[-1] + "  "
    assert "steps/s 0.01  " in at([100.0, 200.0])[-1] + "  ", "two states are needed, however old they are"
    assert "steps/s 0  " in at([0.0])[-1] + "  "


def test_a_run_to_a_time_goes_by_that_time():
    lines = at([1.0, 2.0], total=None, end=0.05, first_time=0.01)
    assert [line.split("  ")[0] for line in lines] == ["step 2 (25%)", "step 2 (25%)"]
    assert "left 6 s" in lines[-1]
    assert at([1.0], total=None, end=0.01, first_time=0.01)[-1].startswith("step 1 (0%)")
    assert at([1.0], total=None, end=0.005)[-1].startswith("step 1 (100%)")


def test_what_is_not_known_has_no_number():
    (line,) = at([4.0])
    assert [part.split(" ")[0] for part in line.split("  ")] == ["step", "t", "dt", "steps/s", "left"]


def test_a_run_without_a_step_has_no_line():
    assert at([]) == []


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


def redrawn(monkeypatch, total, *, columns=100, **more):
    """The lines that a terminal shows in place, and what comes after them."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    with Live(total, stream, **more) as live:
        live.update(40, 0.2, 0.005, energy=0.1249, cfl=0.5)
        live._live.refresh()
        text = stream.getvalue()
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text[text.rindex("\x1b[2K") :] if "\x1b[2K" in text else text)
    return shown.strip("\r\n").splitlines(), stream.getvalue()[len(text) :]


def test_a_bar_and_a_line_of_numbers(monkeypatch):
    (bar, numbers), after = redrawn(monkeypatch, 100)
    assert bar.startswith("step 40/100 ") and bar.rstrip().endswith(" 40%")
    assert sum(bar.count(part) for part in "━╸╺") == 40
    assert numbers.startswith("t 0.2000   dt 0.005   energy 0.124900   CFL 0.50   steps/s ")
    rest = after[after.rindex("━") :] if "━" in after else after
    assert "\x1b[2K" in rest and "\x1b[?25h" in rest, "the bar is removed, and the cursor is back"
    assert re.search(r"step 40/100 \(40%\)  t 0\.2000", after)


def test_a_bar_by_the_time_and_none_where_the_end_is_not_known(monkeypatch):
    (bar, _), _ = redrawn(monkeypatch, None, end=0.8)
    assert bar.startswith("step 40 ") and "━" in bar and bar.rstrip().endswith(" 25%")
    (bar, _), _ = redrawn(monkeypatch, None)
    assert bar.split() == ["step", "40"]


def test_numbers_that_do_not_fit_are_cut(monkeypatch):
    (_, numbers), _ = redrawn(monkeypatch, 100, columns=40)
    assert numbers.startswith("t 0.2000") and numbers.rstrip().endswith("…")


def test_a_log_is_not_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = drive(io.StringIO(), 20, 1.0, energy=0.125, divergence=3e-14, cfl=0.31)
    assert len(lines) == 10 and all(line.startswith("step ") for line in lines)
    stream = io.StringIO()
    with Live(10, stream) as live:
        live.message("a word, " * 20)
    assert len(stream.getvalue().splitlines()) == 1


def test_what_is_written_in_less_than_a_second():
    line, _ = at([0.5], total=2)
    assert "left" in line
    clock, stream = Clock(), io.StringIO()
    with Live(2, stream, now=clock) as live:
        clock.now = 0.5
        live.update(1, 0.1, 0.1, io_bytes=1 << 20)
    assert "I/O 2.0 MiB/s" in stream.getvalue()


def test_two_states_of_late_give_the_speed():
    assert "steps/s 0.0952  " in at([100.0, 110.5])[-1] + "  "


@pytest.mark.parametrize(
    ("waited", "total", "said"),
    [
        (1.0, 5.0, "20.0%"),
        (3.0, 4.99, ""),
        (0.99, 5.0, ""),
        (0.1, 1.0, ""),
        (9.0, 10.0, "90.0%"),
        (5.02, 5.0, "100.0%"),
    ],
)
def test_a_run_that_waited_for_processors_says_so(waited, total, said):
    found = busy_processors(waited, total)
    assert (f"a rank waited {said} of the time for a processor" in found) if said else found == ""


def test_the_table_of_the_time_has_its_columns_and_the_longest_first():
    stream = io.StringIO()
    summary_table({"output": (0.0, 0.125, 0.5), "convection": (0.0, 0.25, 0.25)}, 0.5, stream)
    title, head, *rows = stream.getvalue().splitlines()
    assert title.strip() == "Where the 0.50 s went"
    assert head.split() == ["phase", "min", "s", "mean", "s", "max", "s", "share"]
    assert head.index("min s") - head.index("phase") == len("convection") + 2 * 2
    assert [row.split() for row in rows] == [
        ["convection", "0.00", "0.25", "0.25", "50.0%"],
        ["output", "0.00", "0.12", "0.50", "25.0%"],
        ["the", "rest", "0.12", "25.0%"],
    ]


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
    assert [line.split() for line in stream.getvalue().splitlines()][-2:] == [
        ["output", "0.00", "0.00", "0.00", "-"],
        ["the", "rest", "0.00", "-"],
    ]


@pytest.mark.parametrize(("total", "words"), [(9.994, "9.99 s"), (10.0, "10 s"), (75.0, "1 min 15 s")])
def test_summary_says_how_long_it_took(total, words):
    stream = io.StringIO()
    summary_table({"output": (0.5, 80.0, 90.0)}, total, stream)
    lines = stream.getvalue().splitlines()
    assert lines[0].strip() == f"Where the {words} went"
    assert lines[-1].split() == ["the", "rest", "0.00", "0.0%"], "times of phases overlap a little"


def test_the_table_of_an_output(capsys):
    output_table("h5: out.h5", [PhaseSummary("write", 3, 2048, 0.5, 1.0, 2.25), PhaseSummary("wait", 4, 0, 0, 0, 0)],
                 ["a note [with brackets]" + " of many words" * 20])  # fmt: skip
    title, head, *rows, note = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert head.index("calls") - head.index("phase") == len("phase") + 2 * 2, "two spaces on each side of a column"
    assert title.strip() == "h5: out.h5"
    assert head.split() == ["phase", "calls", "bytes", "min", "s", "mean", "s", "max", "s"]
    assert [row.split() for row in rows] == [
        ["write", "3", "2.0", "KiB", "0.50", "1.00", "2.25"],
        ["wait", "4", "0.00", "0.00", "0.00"],
    ]
    assert note.startswith("  a note")
    assert note.endswith("words")
