"""The command where nobody can read what it prints: a run goes on, other commands end with one message."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.cli.streams import WatchedStream
from tailrace.io.time_series import read_time_series

WAYS = {
    "closed": "tailrace: standard output: it is closed",
    "full": "tailrace: standard output: No space left on device",
    "unread": "tailrace: standard output: Broken pipe",
}
GOES_ON = "; the work goes on, and what it prints there is lost\n"


@contextlib.contextmanager
def unreadable(way: str) -> Iterator[int | None]:
    """A standard output that nobody can read; None where it is to be closed."""
    if way == "closed":
        yield None
    elif way == "full":
        with Path("/dev/full").open("wb") as file:
            yield file.fileno()
    else:
        reading, writing = os.pipe()
        os.close(reading)
        yield writing
        os.close(writing)


def tailrace(*words: object, cwd: Path, way: str, closed: tuple[int, ...] = (), limit: float = 60) -> tuple[int, str]:
    """The exit code of `tailrace WORDS`, and its messages."""
    with unreadable(way) as out:
        numbers = {*closed, *([1] if out is None else [])}
        done = subprocess.run(
            mpi_run.tailrace_command(*words), cwd=cwd, env=mpi_run.environment(), stdout=out, stderr=subprocess.PIPE,
            preexec_fn=lambda: [os.close(number) for number in numbers], timeout=limit, text=True,
        )  # fmt: skip
    return done.returncode, done.stderr


def assert_whole(case: Path, steps: int) -> None:
    """Check that a run has ended, and that nothing that it prints has got into a file."""
    assert cases.checkpoints(case.parent)[-1] == steps
    assert read_time_series(case.parent / "time_series.csv")["step"].tolist() == list(range(steps + 1))
    with tr.open(case.parent / "out.h5") as stored:
        assert stored[-1].index == steps and stored.verify() == []


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_a_run_goes_on(tmp_path: Path, way: str, ranks: int):
    case = cases.write_case(tmp_path, steps=4, every=2, outputs=("hdf5",))
    assert tailrace("run", case, "-n", ranks, cwd=tmp_path, way=way) == (0, WAYS[way] + GOES_ON)
    assert_whole(case, 4)


def test_a_run_without_any_stream(tmp_path: Path):
    """As a daemon starts it: the first files that a program opens would get the numbers of the streams."""
    case = cases.write_case(tmp_path, steps=4, every=2, outputs=("hdf5",))
    assert tailrace("run", case, cwd=tmp_path, way="closed", closed=(0, 2)) == (0, "")
    assert_whole(case, 4)


def test_a_run_and_its_analysis(tmp_path: Path):
    case = cases.write_case(tmp_path, steps=4, every=2, outputs=("hdf5",))
    words = ("run", case, "-n", 2, "--beside", "enstrophy")
    code, said = tailrace(*words, cwd=tmp_path, way="unread")
    assert code == 0 and WAYS["unread"] + GOES_ON in said, said
    assert_whole(case, 4)
    assert read_time_series(tmp_path / "analysis" / "enstrophy.csv")["step"].tolist() == list(range(5))


@pytest.mark.parametrize("words", [["info", "out.csv"], ["case", "case.toml"], ["case", "--keys"], ["--version"]])
@pytest.mark.parametrize("way", WAYS)
def test_other_commands_end(tmp_path: Path, way: str, words: list[str]):
    """A reader that has had enough, as `head`, needs no message."""
    cases.write_case(tmp_path, steps=2)
    if words[0] == "info":
        words = ["info", "out.h5"]
        with tr.open(tmp_path / "out.h5", "w") as out:
            out.write_step(0.0)
    expected = "" if way == "unread" else WAYS[way] + "\n"
    assert tailrace(*words, cwd=tmp_path, way=way) == (1, expected)


def test_a_command_that_prints_nothing_needs_no_output(tmp_path: Path):
    code, said = tailrace("info", "nothing.h5", cwd=tmp_path, way="closed")
    assert code == 2 and "nothing.h5" in said and "standard output" not in said


def test_lost_messages_change_no_exit_code(tmp_path: Path):
    with Path("/dev/full").open("wb") as full:
        for words, code in ((["info", "nothing.h5"], 2), (["--version"], 0)):
            command = mpi_run.tailrace_command(*words)
            done = subprocess.run(
                command, cwd=tmp_path, env=mpi_run.environment(), stdout=subprocess.DEVNULL, stderr=full, timeout=60
            )
            assert done.returncode == code


class Refusing(io.StringIO):
    """A stream that takes nothing, and is no file whose place another one could take."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_stream_is_lost_once(is_closed: bool):
    told: list[str | None] = []
    stream = WatchedStream(None if is_closed else Refusing(), lambda error: told.append(error.strerror))
    stream.flush()
    assert stream.is_lost == (not is_closed), "a closed stream fails when something is written"
    for _ in range(2):
        assert stream.write("text") == 4
        stream.flush()
    assert told == ["it is closed" if is_closed else "Input/output error"] and stream.is_lost
    stream.close()
