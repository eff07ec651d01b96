"""How an analysis beside a run learns that its stream is there, or will not come: by files in the folder of the stream.

The ranks of a large run may need minutes until they open it.
"""

from __future__ import annotations

import time
from pathlib import Path

from tailrace.core import IoError  # does not start MPI

_LONGEST = 3600.0  # seconds, if the command that started both was killed and tells nothing


def tell_end(stream: Path) -> None:
    """Tell the analysis that the run has ended. Local."""
    _ended(stream).touch()


def await_stream(source: str) -> None:
    """Wait until the run opens its stream, `sst:NAME`, or ends. Local.

    :raises IoError: it ended before it opened it, or the analysis came too late.
    """
    stream = Path(source.removeprefix("sst:"))
    contact, deadline = Path(f"{stream}.sst"), time.monotonic() + _LONGEST
    while not contact.exists() and time.monotonic() < deadline:
        if _ended(stream).exists():
            raise IoError(f"{source}: the run has ended, and its stream is not there")
        time.sleep(0.05)


def _ended(stream: Path) -> Path:
    return Path(f"{stream}.ended")
