"""The program of this rank that draws, and what it is asked. All is local."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_LIMIT = 300.0  # seconds that a picture may take


class PainterError(RuntimeError):
    """A picture, or this rank's part of it, could not be drawn."""


class Painter:
    """Draws with VTK in a process of its own, which starts at the first picture. Close it at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tailrace-picture-")
        self._program: subprocess.Popen[str] | None = None
        self._failure = ""  # why an array could not be handed over

    def keep(self, name: str, values: Any) -> str:
        """Hand over an array; returns its name in a request. What fails is raised by `draw`."""
        try:
            np.save(Path(self._folder.name) / f"{name}.npy", values)
        except OSError as error:
            self._failure = self._failure or f"cannot write to {self._folder.name}: {error.strerror or error}"
        return f"{name}.npy"

    def draw(self, request: dict[str, Any]) -> tuple[Any, Any]:
        """Colours (rows, columns, 3) and depths (rows, columns) of a request.

        :raises PainterError: VTK or its graphics library is missing or fails, or there is no space for the arrays. The
            next picture is tried again.
        """
        failure, self._failure = self._failure, ""
        if failure:
            raise PainterError(failure)
        program = self._program = self._program or self._begin()
        assert program.stdin is not None and program.stdout is not None
        try:
            program.stdin.write(json.dumps(request) + "\n")
            program.stdin.flush()
            ready = select.select([program.stdout], [], [], _LIMIT)[0]
            answer = program.stdout.readline() if ready else ""
        except OSError:
            answer = ""
        if not answer:
            raise PainterError(self._ended())
        if answer.strip():
            raise PainterError(answer.strip())
        folder = Path(self._folder.name)
        try:
            return np.load(folder / "colours.npy"), np.load(folder / "depths.npy")
        except (OSError, ValueError) as error:
            raise PainterError(f"cannot read what was drawn: {error}") from None

    def _begin(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", str(Path(__file__).with_name("painter_program.py")), self._folder.name]
        try:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError as error:
            raise PainterError(f"the program that draws does not start: {error.strerror}") from None

    def _ended(self) -> str:
        """Why the program does not answer; it is ended."""
        program, self._program = self._program, None
        assert program is not None
        code = program.poll()
        if code is None:
            program.kill()
            code = program.wait()
            if code == -signal.SIGKILL:
                return f"VTK did not draw the picture within {_LIMIT:g} s"
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"the program that draws {how}. Is the graphics library whole? Debian: libegl1 and libgl1-mesa-dri"

    def close(self) -> None:
        """End the program, and remove its files. Closing twice does nothing."""
        program, self._program = self._program, None
        if program is not None:
            assert program.stdin is not None and program.stdout is not None
            program.stdin.close()
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
            program.stdout.close()
        self._folder.cleanup()
