"""Checkpoints as a consumer of steps, and what consumers have in common."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from mpi4py import MPI

from tailrace.consumers.checkpoint import Checkpoints, CheckpointSchedule
from tailrace.consumers.consumer import Consumer
from tailrace.consumers.warnings import Resolution
from tailrace.flow.checkpoint import Packed


class Plain(Consumer):
    """A consumer that says nothing of itself."""

    def take(self, step: Any) -> None:
        self.taken = step

    def close(self) -> None:
        self.closed = True


def test_what_a_consumer_is_by_default():
    one = Plain("plain")
    assert one.wants(7, 0.7) and one.next_time(0.0) is None
    assert (one.bytes_written, one.progress(), one.incomplete) == (0, {}, False)
    assert one.state() is None and one.state_is_whole


def test_a_checkpoint_has_the_states_of_those_that_have_one(tmp_path):
    told: list[Any] = []
    section = SimpleNamespace(every=2, minutes=0)
    model = SimpleNamespace(
        comm=MPI.COMM_SELF, bytes_checkpoints=0, store=SimpleNamespace(path=tmp_path),
        timed=lambda phase: told.append(phase) or nullcontext(),
        write_checkpoint=lambda packed, files: told.append((packed.about, files)),
    )  # fmt: skip
    plain, other = Plain("plain"), Plain("other")
    other.state = lambda: Packed({}, {}, {"key": "value"})  # type: ignore[method-assign]
    other.flush = lambda: told.append("flush")  # type: ignore[method-assign]
    rhythm = CheckpointSchedule(section, 0)
    checkpoints = Checkpoints(model, rhythm, [plain, other], lambda: {"files": "[]"})
    assert checkpoints.phase == "checkpoint" and checkpoints.state_is_whole
    assert checkpoints.progress() == {"checkpoint": str(tmp_path)}
    checkpoints.take(SimpleNamespace(index=0))
    assert told == [], "the state that a run begins with is stored already, or can be computed again"
    checkpoints.take(SimpleNamespace(index=3))
    assert told == ["plain", "other", "flush", ({"key": "value"}, {"files": "[]"})]
    model.bytes_checkpoints = 12
    assert checkpoints.progress() == {"checkpoint": str(tmp_path), "step": 3, "bytes of rank 0": 12}
    assert (checkpoints.bytes_written, rhythm.stored) == (12, 3)
    section.every = 0
    assert checkpoints.progress() == {}


def test_what_was_found_is_not_changed():
    with pytest.raises(AttributeError, match="cannot assign"):
        Resolution(1.0, 0.0).disagreement = 0.5  # type: ignore[misc]
