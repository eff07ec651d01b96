"""What a run tells of itself, as a page reads it: a file of somebody else may hold anything."""

from __future__ import annotations

import os
import socket
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MARK: Literal["a run that shows itself"] = "a run that shows itself"


class Facts(BaseModel):
    """The state of a run when it has told something last.

    :param begun, told: when the run began and when it told this, in seconds since 1970.
    :param state: "running", "finished", "stopped", or "failed" and why.
    :param control: whether a page may ask the run to stop.
    :param elapsed: seconds since it began.
    :param names: those of the fields that can be asked for.
    :param phases: the least, mean and largest seconds of the ranks in each phase.
    :param memory: the same of the bytes that the ranks have used at most.
    :param consumers: what outputs, checkpoints, pictures and analyses have done; the first entry names it.
    :param written: the bytes of all outputs and checkpoints.
    :param end: the step or the time at which it ends.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    tailrace: Literal["a run that shows itself"]
    begun: float
    told: float
    state: str
    control: bool = False
    ranks: int = 1
    elapsed: float = 0.0
    step: int | None = Field(None, ge=0, le=2**63)
    time: float | None = None
    dt: float | None = None
    names: list[str] = Field(default_factory=list)
    phases: dict[str, tuple[float, float, float]] = Field(default_factory=dict)
    memory: tuple[float, float, float] | None = None
    written: float = 0.0
    consumers: list[dict[str, int | float | str]] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    log: list[str] = Field(default_factory=list)
    end: dict[str, float | None] = Field(default_factory=dict)
    case: str = ""
    title: str = ""
    host: str = ""
    process: int = 0
    machine: str = ""
    directory: str = ""

    def has_died(self) -> bool:
        """Whether a run that tells that it computes has no process any more, as far as this machine can see. Local."""
        if self.state != "running" or self.host != socket.gethostname() or self.process < 1:
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):  # of another user, or no number of a process
            return False
        return False
