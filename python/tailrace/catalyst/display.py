"""A display for builds of ParaView that draw through X alone, as Debian's: without one they end the program."""

from __future__ import annotations

import atexit
import ctypes
import ctypes.util
import os
import secrets
import select
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree, extreme

from .packages import CatalystError

if TYPE_CHECKING:
    from mpi4py import MPI

_LIMIT = 30.0  # seconds until a display is there
_SERVERS: list[subprocess.Popen[bytes]] = []  # which nobody waits for: they end by themselves
_VARIABLES = ("DISPLAY", "XAUTHORITY")


def needs_display() -> bool:
    """Whether the VTK that is loaded draws through X alone. Local."""
    import vtkmodules.vtkRenderingOpenGL2  # noqa: F401 # registers the window
    from vtkmodules.vtkRenderingCore import vtkRenderWindow

    return str(vtkRenderWindow().GetClassName()) == "vtkXOpenGLRenderWindow"


def has_display() -> bool:
    """Whether the display that DISPLAY names can be opened; then it stays open until the program ends. Local."""
    name = ctypes.util.find_library("X11")
    if not os.environ.get("DISPLAY") or name is None:
        return False
    library = ctypes.CDLL(name)
    library.XOpenDisplay.restype = ctypes.c_void_p
    return bool(library.XOpenDisplay(None))


def make_display(comm: MPI.Comm) -> None:
    """One virtual display for the ranks of each node that has none. Collective.

    :raises CatalystError: Xvfb is not there, or does not start.
    """
    node = comm.Split_type(_shared())
    try:
        have = bool(extreme(node, has_display(), largest=False))
        told = agree(comm, lambda: _start() if node.rank == 0 and not have else None)
        told = node.bcast(told, root=0)
    finally:
        node.Free()
    if told is not None:
        os.environ.update(zip(_VARIABLES, told, strict=True))
    agree(comm, _check)


def _shared() -> int:
    from mpi4py import MPI

    return MPI.COMM_TYPE_SHARED


def _check() -> None:
    end = time.monotonic() + _LIMIT
    while not has_display():  # one that has just begun refuses a few connections where the machine is busy
        if time.monotonic() > end:
            raise CatalystError(f"the display {os.environ.get('DISPLAY')} does not open")
        time.sleep(0.1)


def _start() -> tuple[str, str]:
    """Start Xvfb, which ends with the last program that is connected to it; returns what the variables must be."""
    program = shutil.which("Xvfb")
    if program is None:
        raise CatalystError(
            "this ParaView draws on a display only, and there is none; install Xvfb (Debian: xvfb), or set DISPLAY"
        )
    folder = tempfile.mkdtemp(prefix="tailrace-display-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    cookie = _cookie(Path(folder))
    # The number is not the first that is free: a server that ends there would remove the socket of this one.
    for number in range(1000 + os.getpid() % 30000, 65535, 30011):
        if _serves([program, f":{number}", "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-auth", str(cookie)]):
            return f":{number}", str(cookie)
    raise CatalystError("Xvfb does not start; does it run by hand? DISPLAY can name another display")


def _serves(command: list[str]) -> bool:
    """Start a server; returns whether it takes connections."""
    ready, tells = os.pipe()
    # In a session of its own: Ctrl-C is for the ranks, which it must outlive, or they end without having finished.
    server = subprocess.Popen(
        [*command, "-terminate", "-displayfd", str(tells)], pass_fds=[tells], start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(tells)
    with os.fdopen(ready) as answer:
        serves = bool(select.select([answer], [], [], _LIMIT)[0] and answer.readline().strip())
    if not serves:
        server.kill()
        server.wait()
    else:
        _SERVERS.append(server)
    return serves


def _cookie(folder: Path) -> Path:
    """A file by which only this user's programs may use the display, in the format of xauth, for any display."""
    words = (b"", b"", b"MIT-MAGIC-COOKIE-1", secrets.token_hex(8).encode())
    packed = struct.pack(">H", 0xFFFF) + b"".join(struct.pack(">H", len(word)) + word for word in words)
    path = folder / "cookie"
    path.touch(0o600)
    path.write_bytes(packed)
    return path
