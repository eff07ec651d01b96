"""The program that reads a stream for the page, and leaves what a run leaves."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

PREFIX = "sst:"


class StreamProgram:
    """Started at once; `close` ends it and removes what it has left. Its errors go to standard error.

    :param directory: what the page watches.
    """

    def __init__(self, stream: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tailrace-stream-", ignore_cleanup_errors=True)
        self.directory = Path(self._folder.name)
        command = [sys.executable, "-m", "tailrace.replay.shown_stream", stream, self._folder.name]
        self._program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        """End it."""
        self._program.terminate()
        try:
            self._program.wait(10)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        self._folder.cleanup()
