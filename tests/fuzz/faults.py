"""The library native/faults.c, which makes calls of the system fail, as a module."""

from __future__ import annotations

import ctypes
import errno
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "native/faults.c"
KINDS = (
    "write", "sync", "open", "rename", "cut", "allocate", "close", "read", "unlink", "make", "lock", "map", "stat",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What happens to a call of a kind: it fails with an error, once or from then on, or does half of its work.

    A write that is `lost` does nothing, and says that it did all.
    """

    kind: str
    error: str = "EIO"
    sticky: bool = False
    short: bool = False
    lost: bool = False

    def words(self, number: int) -> list[int]:
        """The arguments of fault_arm, for the call of this number, from 1."""
        return [
            KINDS.index(self.kind),
            number,
            getattr(errno, self.error),
            int(self.sticky),
            2 if self.lost else int(self.short),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {'short' if self.short else self.error}{' from then on' if self.sticky else ''}"


# What the kernel, a full disk, a network file system or a limit of the process can answer.
FAULTS = (
    Fault("write"), Fault("write", "ENOSPC"), Fault("write", "ENOSPC", sticky=True), Fault("write", sticky=True),
    Fault("write", "EINTR"), Fault("write", short=True), Fault("sync"), Fault("sync", sticky=True),
    Fault("open", "EMFILE"), Fault("open", "EMFILE", sticky=True), Fault("open", "ESTALE"), Fault("rename"),
    Fault("cut"), Fault("allocate", "ENOSPC"), Fault("close"), Fault("read"), Fault("read", "ESTALE"),
    Fault("read", "EINTR"), Fault("read", short=True), Fault("unlink"), Fault("make", "ENOSPC"), Fault("lock"),
    Fault("map", "ENOMEM"), Fault("stat"), Fault("stat", "ESTALE"), Fault("stat", "ESTALE", sticky=True),
)  # fmt: skip


def compile_library(folder: Path) -> Path:
    """Compile it; returns the file to preload."""
    target = folder / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", target, SOURCE, "-ldl"], check=True)
    return target


class Injector:
    """Arms faults in this process, in which the library is preloaded."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        if not hasattr(self._library, "fault_arm"):
            sys.exit("the library of faults is not preloaded")
        self._library.fault_arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int]
        self._library.fault_fired.restype = ctypes.c_long
        self._library.fault_what.restype = ctypes.c_char_p

    def watch(self, place: Path) -> None:
        """Count only calls on files in this place."""
        self._library.fault_place(str(place).encode())

    def arm(self, fault: Fault, number: int) -> None:
        """From now on, the call of this number of the kind of the fault fails."""
        self._library.fault_arm(*fault.words(number))

    def disarm(self) -> str:
        """Let all calls through; returns the name of the call that failed, "" if none did."""
        fired = self._library.fault_fired()
        self._library.fault_off()
        return self._library.fault_what().decode() if fired else ""
