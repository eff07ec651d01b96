"""The machine that this program runs on: processors, memory, file systems. All functions are local."""

from __future__ import annotations

import itertools
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

MPI_FILES = "OMPI_MCA_orte_jobfam_session_dir"  # where Open MPI keeps its files of a job
_OURS = "tailrace-mpi-"
_numbers = itertools.count()


def mpi_alone() -> dict[str, str]:
    """What a program that no launcher started is to have in its environment; another one at each call.

    Open MPI then starts no daemon beside it: that one would take time and memory, and the program ends with it. Without
    it the program cannot spawn others by MPI. All such programs of a user would keep their files in one directory, and
    the first that ends removes it: in the others, Open MPI would print an error at each file that is opened by MPI-IO,
    or fail to open it. So each gets its own, which Open MPI makes and removes.
    """
    place = Path(tempfile.gettempdir(), f"{_OURS}{os.getpid()}-{next(_numbers)}")
    return {"OMPI_MCA_ess_singleton_isolated": "1", MPI_FILES: str(place)}


def without_own_files() -> dict[str, str]:
    """The environment for another program: without the directory that `mpi_alone` gave to this one."""
    return {name: value for name, value in os.environ.items() if not (name == MPI_FILES and _OURS in value)}


def processor() -> str:
    """The name of the processor, as the kernel tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def physical_cores() -> int:
    """The number of physical cores that this process may use. Hardware threads of the same core count as one."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = set()
    for cpu in usable:
        try:
            cores.add(
                Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text(encoding="utf-8")
            )
        except OSError:
            cores.add(str(cpu))
    return len(cores)


def seconds_without_processor(process: int | None = None) -> float:
    """For how long the main thread of a process could have run but had no processor; 0 where it is not known.

    :param process: its number; None: this one.
    """
    path = Path("/proc") / ("self" if process is None else str(process)) / "schedstat"
    try:
        return int(path.read_text(encoding="ascii").split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def memory() -> tuple[int, int] | None:
    """The memory of this machine and what of it is free, in bytes; None where the kernel does not say it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if len(line.split()) > 2}
    if "MemTotal" not in sizes:
        return None
    return sizes["MemTotal"], sizes.get("MemAvailable", sizes["MemTotal"])


def usable_memory(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of memory that this process and others of its job on this machine can use together.

    It is the memory of the machine, or the least that a control group above them allows, such as that of a container or
    of a job of a batch system.
    """
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in _memory_limits(groups, root):
        try:
            found.append(int(limit.read_text(encoding="ascii")))
        except (OSError, ValueError):  # a group of another container, or one without a limit ("max")
            continue
    return min(found)


def _memory_limits(groups: Path, root: Path) -> Iterator[Path]:
    """The files that hold the limits of the control groups of this process, which may be of version 1 or 2."""
    kinds = {"": root / "memory.max", "memory": root / "memory" / "memory.limit_in_bytes"}
    yield from kinds.values()
    try:
        lines = groups.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        for top in (kinds[one] for one in controllers.split(",") if one in kinds):
            parts = Path(name).parts[1:]
            if ".." not in parts:  # which is above what this process sees
                yield from (top.parent.joinpath(*parts[: n + 1], top.name) for n in range(len(parts)))


def file_system(directory: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds a directory: ext4, lustre, nfs4, ..."""
    place = directory.resolve()
    best, kind = -1, "unknown"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return kind
    for line in lines:
        words = line.split()
        if len(words) < 3:
            continue
        point = Path(words[1].replace("\\040", " "))
        # If two mounts have the same mount point, the later mount hides the earlier one.
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), words[2]
    return kind


def stripes(directory: Path) -> dict[str, int]:
    """Stripe count and size in bytes of new files in a directory of Lustre; empty elsewhere or without `lfs`."""
    if file_system(directory) != "lustre" or shutil.which("lfs") is None:
        return {}
    found = {}
    for key, option in (("count", "-c"), ("size", "-S")):
        try:
            answer = subprocess.run(
                ["lfs", "getstripe", "-d", option, str(directory)],
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
            )
            found[key] = int(answer.stdout.split()[-1])
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            return {}
    return found
