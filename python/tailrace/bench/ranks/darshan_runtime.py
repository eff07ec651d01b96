"""Darshan's library that watches a job: its path, the environment that loads it, and its logs.

Source: darshan-runtime/doc/darshan-runtime.rst and darshan-config.c of Darshan 3.5 (https://github.com/darshan-hpc/darshan).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

_NAME = "libdarshan.so"
_USUAL = ("DARSHAN_LOG_DIR_PATH", "DARSHAN_LOGDIR")  # what installations choose with --with-log-path-by-env
_SECONDS = 20  # limit for a program whose output is read


class DarshanError(RuntimeError):
    """Darshan's library is missing or does not load, or it wrote no log. The message says what to do."""


def library() -> Path:
    """Darshan's library: that of DARSHAN_LIBRARY, beside the program darshan-config, in LD_LIBRARY_PATH, or known to
    the loader, in this order.

    :raises DarshanError: there is none.
    """
    told = os.environ.get("DARSHAN_LIBRARY")
    if told:
        if not Path(told).is_file():
            raise DarshanError(f"DARSHAN_LIBRARY={told}: expected the file {_NAME} of Darshan, found no file")
        return Path(told).resolve()
    for place in _places():
        if place.is_file():
            return place.resolve()
    raise DarshanError(
        f"expected Darshan's library {_NAME}, found none. Load the module of your machine (module avail darshan), "
        f"install darshan-runtime, or set DARSHAN_LIBRARY to the path of {_NAME}"
    )


def _places() -> Iterator[Path]:
    config = _config()
    if config is not None:
        prefix = config.resolve().parent.parent
        yield from (prefix / name / _NAME for name in ("lib", "lib64"))
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / _NAME
    loader = shutil.which("ldconfig", path=os.pathsep.join([os.environ.get("PATH", ""), "/sbin", "/usr/sbin"]))
    for line in _said(loader, "-p").splitlines() if loader else ():
        name, arrow, path = line.strip().partition(" => ")
        if arrow and name.startswith(_NAME):
            yield Path(path)


def _config() -> Path | None:
    """The program darshan-config of the installation; first the one beside the library of DARSHAN_LIBRARY."""
    told = os.environ.get("DARSHAN_LIBRARY")
    beside = Path(told).resolve().parent.parent / "bin" / "darshan-config" if told else None
    if beside is not None and os.access(beside, os.X_OK):
        return beside
    found = None if told else shutil.which("darshan-config")
    return Path(found) if found else None


def preload(directory: Path, *, mpi: bool = True) -> dict[str, str]:
    """The environment for a job that Darshan watches; add it to that of the job.

    The directory is made, and gets the logs. If the installation sorts its logs by date, their folders are made too.

    :param directory: the directory of the logs, on a file system that all nodes of the job have.
    :param mpi: whether the job calls MPI_Init. If not, Darshan watches every process of it, also shells.
    :raises DarshanError: there is no library of Darshan, or the loader does not take it.
    :raises OSError: the directory cannot be made.
    """
    found = library()
    _try(found)
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    config = _config()
    told = _said(str(config), "--log-path-by-env").strip() if config else ""
    variables = dict.fromkeys([*(name.strip() for name in told.split(",") if name.strip()), *_USUAL], str(directory))
    if not told:
        for day in (date.today(), date.today() + timedelta(days=1)):
            (directory / str(day.year) / str(day.month) / str(day.day)).mkdir(parents=True, exist_ok=True)
    loaded = [str(found), *(one for one in os.environ.get("LD_PRELOAD", "").split(":") if one and one != str(found))]
    environment = variables | {"LD_PRELOAD": ":".join(loaded), "DARSHAN_LOGPATH": str(directory)}
    return environment | ({} if mpi else {"DARSHAN_ENABLE_NONMPI": "1"})


def logs(directory: Path) -> list[Path]:
    """The logs of jobs in a directory of `preload`, the oldest first. Raises DarshanError if there is none."""
    found = sorted(directory.rglob("*.darshan"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if found:
        return found
    partial = next(directory.rglob("*.darshan_partial"), None)
    if partial is not None:
        raise DarshanError(f"{partial}: expected a whole log of Darshan; the job ended before MPI_Finalize")
    raise DarshanError(
        f"{directory}: expected logs of Darshan, found none. Darshan writes one when a job calls MPI_Finalize; "
        "is the library built with the MPI of the job, and are DARSHAN_DISABLE and DARSHAN_LOGFILE not set?"
    )


def _try(found: Path) -> None:
    """:raises DarshanError: the loader refuses the library; in a job it would only print a message and go on."""
    environment = os.environ | {"LD_PRELOAD": str(found), "DARSHAN_DISABLE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-c", ""],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise DarshanError(f"{found}: a program that loads it did not end within {_SECONDS} s") from None
    if done.returncode or "cannot be preloaded" in done.stderr:
        raise DarshanError(f"{found}: expected a library that the loader takes; it says: {done.stderr.strip()[:500]}")


def _said(*command: str) -> str:
    """The output of a program; "" if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
