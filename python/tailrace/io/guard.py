"""Read a series in a child process, so that damaged files cannot crash this one.

ADIOS2 and HDF5 can crash, hang or take all memory on damaged metadata. So a child process reads first what no checksum
of ours covers. It has limits of memory and time. If a signal ends it, that is an error like others.
Checksums protect from damage and not from intent: they have no key, so a stranger can write matching ones.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from subprocess import CompletedProcess, Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, Any

from tailrace.core import IoError, engine_at, metadata_vouched
from tailrace.core import Series as CompiledSeries
from tailrace.grids import triple
from tailrace.machine import mpi_alone, seconds_without_processor
from tailrace.parallel import on_root

from ..files.paths import holds_something
from .engines import ENGINES
from .placement import Box, boxes_of

if TYPE_CHECKING:
    from mpi4py import MPI

_PIECE = 32 << 20  # bytes that are read at once
_METADATA = ("md.idx", "md.0", "mmd.0")  # of BP
# Variables by which launchers tell a process that it is a rank: without them MPI starts alone in the child.
_LAUNCHERS = ("OMPI_", "ORTE_", "PRTE_", "PMIX_", "PMI_", "MPI_LOCAL", "HYDRA_", "SLURM_", "PALS_", "ALPS_", "FLUX_")
_SECONDS, _BYTES_PER_SECOND = 30, 10_000_000  # time limit for a series; enough for slow disks
_MEMORY, _MEMORY_PER_BYTE = 1 << 30, 32  # memory limit: a constant, and so much for each byte of metadata
_BUSY = 20  # times as long at most, where other programs have the processors
_STARTS = 3  # attempts: MPI may end a child before its work, if another program ends at the same time
_READY = b"ready"
_MOST_SAID = 2000  # characters of the output of a child that did not begin
_PATIENCE = 10  # seconds after its limit until the child ends itself, if its parent did not end it
_PR_SET_PDEATHSIG = 1  # prctl: the signal that a process gets when its parent ends


def vouched(path: Path, engine: str) -> bool:
    """Whether checksums cover all metadata that a foreign library (ADIOS2, HDF5) parses when it reads the series.

    :raises IoError: the series cannot be read.
    """
    return metadata_vouched(str(path), engine)


def _library(engine: str) -> str:
    """The library that reads the metadata of an engine; "" if our own code does, or if the engine is unknown."""
    return ENGINES[engine].library if engine in ENGINES else ""


def call(path: Path, engine: str, function: str, *arguments: Any) -> Any:
    """The result of a function that reads the series at `path`, called in a child process.

    :param function: "module:name"; it must be importable, and arguments and result picklable.
    :raises IoError: the child died, or took too much memory or time. Exceptions of the function are raised as they are.
    """
    library = _library(engine) or "that reads its format"
    fault = "its metadata are damaged or made to harm. To fix this, restore it from a copy"
    seconds = _SECONDS + _on_disk(path) // _BYTES_PER_SECOND
    memory = _MEMORY + _MEMORY_PER_BYTE * sum(_on_disk(path / name) for name in _METADATA)
    memory = min(memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LAUNCHERS)}
    kept.pop("TAILRACE_PARAMETERS", None)  # the child writes no traces
    why = ""
    for _ in range(_STARTS):
        with tempfile.TemporaryFile() as said:
            try:
                limits = _BUSY * seconds + _PATIENCE, memory
                request = pickle.dumps((os.getpid(), *limits, function, arguments))
                child = _asked(request, kept | mpi_alone() | {"PYTHONPATH": _places()}, said, seconds)
            except TimeoutExpired:
                raise IoError(
                    f"cannot read {path}: {library} did not return within {seconds} s of its own time; {fault}"
                ) from None
            if child.stdout.startswith(_READY):
                break
            said.seek(0)
            why = " | ".join(said.read(_MOST_SAID).decode(errors="replace").split("\n"))
    else:
        raise IoError(
            f"cannot read {path}: the program that reads it first ended with code {child.returncode} before it began, "
            f"{_STARTS} times; is there memory for it, and room for temporary files? It said: {why}"
        )
    if child.returncode < 0:
        number = -child.returncode
        raise IoError(f"cannot read {path}: the library {library} died of signal {number} on it; {fault}")
    try:
        done, result = pickle.loads(child.stdout[len(_READY) :])
    except (EOFError, pickle.UnpicklingError):
        done = None
    if done is None or child.returncode != 0:
        code = child.returncode
        raise IoError(f"cannot read {path}: the library {library} ended its program with code {code}; {fault}")
    if done:
        return result
    if isinstance(result, MemoryError) or "bad_alloc" in str(result):
        size = f"{memory >> 20} MiB"
        raise IoError(f"cannot read {path}: the library {library} needs more than {size} of memory; {fault}")
    raise result


def _asked(request: bytes, environment: dict[str, str], said: IO[bytes], seconds: int) -> CompletedProcess[bytes]:
    """The end of a child that was asked; the time for which other programs kept it from a processor does not count.

    :raises TimeoutExpired: it has not ended in this time.
    """
    command, begun, left = [sys.executable, "-P", "-m", __name__], time.monotonic(), float(seconds)
    with tempfile.TemporaryFile() as asked:  # `communicate` would forget what is left of a request after a timeout
        asked.write(request)
        asked.seek(0)
        with Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=said, env=environment) as child:
            try:
                while True:
                    try:
                        answer, _ = child.communicate(timeout=left)
                        return CompletedProcess(command, child.returncode, answer)
                    except TimeoutExpired:
                        elapsed = time.monotonic() - begun
                        kept = seconds_without_processor(child.pid)
                        left = min(seconds - elapsed + kept, _BUSY * seconds - elapsed)
                        if left <= 0:
                            raise
                        left = max(left, 0.1)
            finally:
                child.kill()


def _places() -> str:
    """The module path of the child: the directory of this package comes first, the working directory never."""
    ours = str(Path(__file__).parents[2])
    return os.pathsep.join([ours, *(place for place in sys.path if Path(place).is_absolute())])


def read_metadata(path: str, engine: str) -> None:
    """Read the metadata of all steps, and one value of each variable; for BP, all values.

    ADIOS2 waits without end for values that the metadata of BP place beyond the end of a file.
    """
    import numpy as np
    from mpi4py import MPI

    first = Box((0, 0, 0), (1, 1, 1))

    stored = CompiledSeries.open(path, "r", MPI.COMM_SELF.py2f(), engine, {}, None, None, None)
    for number in range(len(stored.steps())):
        stored.scalars(number), stored.unchecked(number)
        for name, dtype, shape, _ in stored.variables(number):
            whole = boxes_of(triple(shape), _PIECE // np.dtype(dtype).itemsize) if ENGINES[engine].waits else [first]
            for box in whole if 0 not in shape else ():
                stored.read(number, name, box, np.empty(box.count[::-1], dtype))
    stored.close()


def check_metadata(name: str, engine: str | None, comm: MPI.Comm) -> None:
    """Let rank 0 read all metadata of a series in a child process, if a foreign library would parse them.

    Checksums do not count here, because the series may come from a stranger. Collective; the same error on all ranks.

    :param engine: None: the engine that wrote the files.
    :raises IoError: see `call`; or the series cannot be read.
    """
    on_root(comm, lambda: _check(name, engine))


def _check(name: str, engine: str | None) -> None:
    path = Path(name)
    try:
        something = holds_something(path)
    except OSError as error:  # a name that is too long, a directory that may not be read
        raise IoError(f"cannot open {name}: {error.strerror or error}") from None
    found = (engine or engine_at(name)) if something else ""
    if _library(found):
        call(path, found, f"{__name__}:read_metadata", name, found)


def _on_disk(path: Path) -> int:
    """The bytes that a file, or all files in a directory and below it, have on the disk; holes do not count."""
    try:
        if path.is_file():
            return path.stat().st_blocks * 512
        files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
        return sum(file.lstat().st_blocks * 512 for file in files)
    except OSError:
        return 0


def _serve() -> None:
    """In the child: read a function from standard input, call it, and write the outcome to standard output."""
    import mpi4py

    mpi4py.rc.finalize = False  # an end of MPI that fails says nothing of the file
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of libraries is not part of the answer
    parent, seconds, memory, function, arguments = pickle.load(sys.stdin.buffer)
    _end_with(parent, seconds)
    module, _, name = function.partition(":")
    work = getattr(importlib.import_module(module), name)
    _limit(memory)
    answer.write(_READY)
    answer.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries may say much
    os.dup2(2, 1)
    try:
        outcome = True, work(*arguments)
    except Exception as error:
        outcome = False, error
    with answer:
        pickle.dump(outcome, answer)


def _end_with(parent: int, seconds: int) -> None:
    """End this process when its parent ends, and after `seconds` at the latest: a library may never return."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before
            os._exit(1)


def _limit(memory: int) -> None:
    """Limit the memory of this process to `memory` bytes more than it has now, and write no core file."""
    import resource

    from mpi4py import MPI  # noqa: F401 - it takes its own memory now

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = now + memory if most == resource.RLIM_INFINITY else min(now + memory, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    _serve()
