"""A stream as a source of the page: it is read beside the run, which does not wait for viewers."""

from __future__ import annotations

import signal
import time

import numpy as np

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series
from tailrace.live_page.stream_program import StreamProgram
from tailrace.live_page.watched_run import WatchedRun
from tailrace.live_run.wanted import Wanted

OUTPUT = """
[[output]]
name = "beside"
fields = ["ux", "uy", "uz"]
every = 1
engine = "sst"
path = "stream"
parameters = { wait_for_reader = 60 }
"""


def test_a_stream_is_shown(tmp_path):
    # The run lasts until it is stopped: on a busy machine any number of steps may end before the first look.
    case = cases.write_case(tmp_path, "periodic", steps=1_000_000, dt=1e-7, extra=OUTPUT)
    job = mpi_run.start(mpi_run.tailrace_command("run", case.name), tmp_path)
    program = StreamProgram(f"sst:{tmp_path / 'stream'}")
    try:
        run = WatchedRun(program.directory, "stream")
        wanted, end, answer = Wanted("plane", "q", "z", 4), time.monotonic() + 240, None
        while answer is None:
            assert time.monotonic() < end
            time.sleep(0.2)
            run.update()
            if run.board is not None and run.facts is not None:
                run.board.want(wanted)
                answer = run.board.answer(wanted)
        assert answer.values.shape == (1, 12, 16) and np.ptp(answer.values) > 0
        mpi_run.kill_session(job, signal.SIGTERM)
        mpi_run.finish(job, 120)
        while run.facts.state != "finished":
            assert time.monotonic() < end + 60
            time.sleep(0.2)
            run.update()
        rows = read_time_series(program.directory / "time_series.csv")
        assert (rows["ux least"] < rows["ux mean"]).all() and (rows["ux mean"] < rows["ux largest"]).all()
        assert len(rows["step"]) >= 2
    finally:
        mpi_run.kill_session(job)
        program.close()
    assert not program.directory.exists()
