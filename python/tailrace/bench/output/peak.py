"""The peak memory of this process during a block. Linux only."""

from __future__ import annotations

import ctypes
import gc
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_EVERY = 0.001  # seconds between samples, if the kernel keeps no peak


def give_back() -> None:
    """Give unused memory back to the kernel, because it would hide later allocations."""
    gc.collect()  # otherwise Python may do it during the measurement
    with suppress(AttributeError):  # a C library other than GNU's
        ctypes.CDLL(None).malloc_trim(0)


class Peak:
    """The growth of resident memory within the block, without pages of files and memory shared by processes.

    The kernel stores the peak of all resident memory; the growth of pages of files and of shared memory is subtracted.
    If the peak cannot be reset, a thread reads the size of the anonymous pages every millisecond.
    """

    private = 0  # bytes of this process alone, at their peak; after the block
    shared = 0  # bytes of memory that processes share, at the end of the block
    part = 0  # the same, with each page divided by the number of processes that have it
    sampled = False  # whether a thread took samples

    def __enter__(self) -> Self:
        give_back()
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            self.sampled = True
        self._part = _part_of_shared()
        self._before = _resident()
        if self.sampled:
            self._most = self._before["RssAnon"]
            self._done = threading.Event()
            self._sampler = threading.Thread(target=self._sample, daemon=True)
            self._sampler.start()
        return self

    def _sample(self) -> None:
        while not self._done.wait(_EVERY):
            self._most = max(self._most, _resident()["RssAnon"])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        now, before = _resident(), self._before
        self.shared = now["RssShmem"] - before["RssShmem"]
        self.part = _part_of_shared() - self._part
        if self.sampled:
            self._done.set()
            self._sampler.join()
            self.private = max(self._most, now["RssAnon"]) - before["RssAnon"]
        else:
            files = max(0, now["RssFile"] - before["RssFile"])
            self.private = now["VmHWM"] - before["VmRSS"] - files - max(0, self.shared)


def _resident() -> dict[str, int]:
    """Resident memory in bytes, from the lines of /proc/self/status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    pairs = [line.split(":", 1) for line in lines if line.startswith(("VmRSS", "VmHWM", "Rss"))]
    return {name: int(rest.split()[0]) * 1024 for name, rest in pairs}


def _part_of_shared() -> int:
    """Bytes of this process's part of shared memory; 0 if the kernel does not report them."""
    with suppress(OSError):
        for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss_Shmem:"):
                return int(line.split()[1]) * 1024
    return 0
