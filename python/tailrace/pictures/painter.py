"""The program of this rank that draws, and what it is asked. All is local."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_LIMIT = 300.0  # seconds that a picture may take
# The other processors belong to other ranks, and threads of Mesa and of numpy cost more than they give.
_ALONE = {"LP_NUM_THREADS": "0", "OPENBLAS_NUM_THREADS": "1"}
# Memory that a picture gives back is kept for the next one: new pages cost a twentieth of its time.
_KEEPS = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}


class PainterError(RuntimeError):
    """A picture, or this rank's part of it, could not be drawn."""


class Painter:
    """Draws with VTK in a process of its own, which starts at the first picture. Close it at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tailrace-picture-", ignore_cleanup_errors=True)
        self._program: subprocess.Popen[str] | None = None
        self._failure = ""  # why an array could not be handed over
        self._rooms: dict[str, Any] = {}

    def keep(self, name: str, values: Any) -> str:
        """Hand over an array; returns its name in a request. What fails is raised by `answer`."""
        try:
            self._room(name, np.asarray(values))[...] = values
        except OSError as error:
            self._failure = self._failure or f"cannot write to {self._folder.name}: {error.strerror or error}"
        return f"{name}.npy"

    def _room(self, name: str, values: Any) -> Any:
        """A file in memory for an array, which is the same for every picture: a new one costs more than its values."""
        known = self._rooms.get(name)
        if known is None or (known.shape, known.dtype) != (values.shape, values.dtype):
            path = Path(self._folder.name) / f"{name}.npy"
            path.parent.mkdir(exist_ok=True)  # a program that ended has removed it
            path.unlink(missing_ok=True)  # the program may still have the old one
            known = np.lib.format.open_memmap(path, "w+", values.dtype, values.shape)
            with path.open("r+b") as file:  # a full disk is an error here, and would be a signal below
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            self._rooms[name] = known
        return known

    def ask(self, request: dict[str, Any]) -> None:
        """Have a request drawn, while the caller goes on. What fails is raised by `answer`."""
        try:
            program = self._program = self._program or self._begin()
            assert program.stdin is not None
            program.stdin.write(json.dumps(request) + "\n")
            program.stdin.flush()
        except PainterError as error:
            self._failure = self._failure or str(error)
        except OSError:  # it has ended, which `answer` sees
            pass

    def answer(self) -> tuple[Any, Any]:
        """Wait for the last request: colours (rows, columns, 4) and depths (rows, columns), valid until the next one.

        :raises PainterError: VTK or its graphics library is missing or fails, or there is no space for the arrays. The
            next picture is tried again.
        """
        program, failure, self._failure = self._program, self._failure, ""
        answer = self._line(program) if program is not None else ""
        if failure:
            raise PainterError(failure)
        if not answer:
            raise PainterError(self._ended())
        if answer.strip():
            raise PainterError(answer.strip())
        folder = Path(self._folder.name)
        try:
            return np.load(folder / "colours.npy", "r"), np.load(folder / "depths.npy", "r")
        except (OSError, ValueError) as error:
            raise PainterError(f"cannot read what was drawn: {error}") from None

    def _line(self, program: subprocess.Popen[str]) -> str:
        assert program.stdout is not None
        try:
            ready = select.select([program.stdout], [], [], _LIMIT)[0]
            return program.stdout.readline() if ready else ""
        except OSError:
            return ""

    def _begin(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", str(Path(__file__).with_name("painter_program.py")), self._folder.name]
        try:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**_ALONE, **_KEEPS, **os.environ},
                process_group=0,  # signals to the group of the rank would end it while it starts
            )  # fmt: skip
        except OSError as error:
            raise PainterError(f"the program that draws does not start: {error.strerror}") from None

    def _ended(self) -> str:
        """Why the program does not answer; it is ended."""
        program, self._program = self._program, None
        self._rooms.clear()
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
