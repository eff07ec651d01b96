"""What a page is told of a stream: its steps, their values in a table, and how it ended."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.core import Error, InputError, IoError
from tailrace.io.time_series import read_time_series
from tailrace.live_run.board import BoardReader, board_of
from tailrace.replay import shown_stream
from tailrace.replay.shown_stream import ShownStream
from tailrace.replay.source import SeriesSource

GRID = tr.UniformGrid((8, 9, 10), spacing=(1 / 8, 1 / 9, 1 / 10), boundaries=("periodic",) * 3)
CASE = "[case]\nreynolds = 100.0\n"


class Stream(SeriesSource):
    """The steps of a file, as those of a stream."""

    fails: Exception | None = None
    opened: list[Stream]

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        Stream.opened.append(self)

    def stream(self, chosen: slice) -> Any:
        for at in self.positions(chosen):
            if at == 2 and self.fails is not None:
                raise self.fails
            yield self.read(at)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three steps of two fields, and a list."""
    monkeypatch.setattr(shown_stream, "SeriesSource", Stream)
    monkeypatch.setattr(Stream, "fails", None)
    Stream.opened = []
    values = np.linspace(-1, 3, 720).reshape(10, 9, 8)
    with tr.open(tmp_path / "run.h5", "w", grid=GRID) as out:
        out.set_attribute("case", CASE)
        for index in range(3):
            fields = {"ux": values * (index + 1), "p": values - index}
            out.write_step(0.5 * index, fields, index=10 * index, lists={"k": np.arange(4.0)})
    return str(tmp_path / "run.h5")


def test_a_stream_is_followed_to_its_end(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shown_stream.Publisher, "wants", lambda self, index, time: index != 10)
    shown = ShownStream(source, tmp_path, MPI.COMM_SELF)
    shown.run()
    rows = read_time_series(tmp_path / "time_series.csv")
    names = [f"{name} {what}" for name in ("p", "ux") for what in ("mean", "least", "largest")]
    assert sorted(rows) == sorted(["step", "time", *names, "k mean", "k least", "k largest"])
    assert rows["step"].tolist() == [0, 20] and rows["time"].tolist() == [0.0, 1.0]
    np.testing.assert_allclose([rows[name][1] for name in names], [-1, -3, 1, 3, -3, 9], atol=1e-12)
    assert np.isnan(rows["k mean"]).all()
    facts = BoardReader(board_of(tmp_path / "time_series.csv")).facts()
    assert facts is not None
    assert (facts.state, facts.step, facts.time, facts.case) == ("finished", 20, 1.0, CASE)
    assert facts.title == f"stream {source}" and facts.process == os.getpid()
    assert facts.consumers == [{"stream": source, "steps": 3, "dropped": 0}]
    with pytest.raises((tr.InputError, IoError, ValueError), match="closed"):
        Stream.opened[0].read(0)["ux"]
    with pytest.raises(ValueError, match="closed"):
        shown._rows.append(dict.fromkeys(rows, 30.0))


@pytest.mark.parametrize("kind", [Error, IoError, InputError])
def test_a_stream_that_breaks_is_told(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch, kind):
    monkeypatch.setattr(Stream, "fails", kind("the run is gone"))
    with pytest.raises(kind, match="the run is gone"):
        ShownStream(source, tmp_path, MPI.COMM_SELF).run()
    facts = BoardReader(board_of(tmp_path / "time_series.csv")).facts()
    assert facts is not None and facts.state == "failed: the run is gone"


@pytest.mark.parametrize("fails", [False, True])
def test_the_program(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch, fails: bool):
    """It lets the run go first, and says why it ends."""
    said: list[str] = []

    class Screen(io.StringIO):
        def flush(self) -> None:
            said.append(self.getvalue())

    nice: list[int] = []
    monkeypatch.setattr(os, "nice", nice.append)
    monkeypatch.setattr(Stream, "fails", IoError("the run is gone") if fails else None)
    monkeypatch.setattr(sys, "stderr", Screen())
    monkeypatch.setattr(sys, "argv", ["shown_stream", source, str(tmp_path)])
    assert shown_stream.main() == (1 if fails else 0)
    assert nice == [19] and (said[-1:] == [f"{source}: the run is gone\n"]) == fails
    assert len(read_time_series(tmp_path / "time_series.csv")["step"]) > 0
