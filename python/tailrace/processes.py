"""Processes of this machine, as Linux shows them in /proc; elsewhere there are none to see. All is local."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_PROC = Path("/proc")


class Process(NamedTuple):
    """A process.

    :param state: of proc(5): R runs, S sleeps, T is stopped by a signal, Z has ended.
    :param ticks: processor time that it has used, in ticks of the kernel.
    :param begun: when it began, in ticks of the kernel: a later process of the same number began later.
    """

    number: int
    parent: int
    state: str
    ticks: int
    begun: int

    @property
    def program(self) -> str:
        """The program, as it was called; "" where it is not known."""
        try:
            return (_PROC / str(self.number) / "cmdline").read_text(errors="replace").partition("\0")[0]
        except OSError:
            return ""

    def takes(self, number: int) -> bool:
        """Whether it has a handler for a signal."""
        return self._has("SigCgt:", number)

    def ignores(self, number: int) -> bool:
        """Whether a signal to it is lost."""
        return self._has("SigIgn:", number)

    def _has(self, key: str, number: int) -> bool:
        try:
            lines = (_PROC / str(self.number) / "status").read_text(errors="replace").splitlines()
        except OSError:
            return False
        signals = next((line.split()[1] for line in lines if line.startswith(key)), "0")
        return bool(int(signals, 16) >> (number - 1) & 1)


def find(number: int) -> Process | None:
    """The process of that number; None where it has ended."""
    try:
        text = (_PROC / str(number) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name in front may hold any characters
    found = Process(number, int(fields[1]), fields[0], int(fields[11]) + int(fields[12]), int(fields[19]))
    return None if found.state in "ZX" else found


def family(number: int) -> list[Process]:
    """A process with all its descendants."""
    numbers = (int(entry.name) for entry in _PROC.glob("[0-9]*"))
    there = {one.number: one for one in map(find, numbers) if one is not None}
    children: dict[int, list[Process]] = {}
    for one in there.values():
        children.setdefault(one.parent, []).append(one)
    found = [there[number]] if number in there else []
    for one in found:  # grows
        found += children.get(one.number, [])
    return found


def signal_all(known: Iterable[Process], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for one in known:
        found = find(one.number)
        if found and found.begun == one.begun:
            with suppress(ProcessLookupError):
                os.kill(one.number, number)


def stop(process: subprocess.Popen[Any], patience: float) -> None:
    """End a process with all its descendants: by SIGTERM to the first, and after some seconds by SIGKILL to all."""
    known = family(process.pid)
    signal_all(known, signal.SIGCONT)  # a stopped process takes no other signal
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    signal_all([*known, *family(process.pid)], signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # not even this ends one that waits for a dead disk
        process.wait(patience)
