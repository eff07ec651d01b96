"""Serve the live page: on this machine alone, at an address that nobody can guess, and for reading only."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from tailrace.core import InputError
from tailrace.files.missing import nothing_at
from tailrace.formats.patterns import is_pattern, matches

from .gate import Gate
from .scenes import Scenes, patterns
from .stream_program import PREFIX, StreamProgram
from .watched_run import WatchedRun

if TYPE_CHECKING:
    from bokeh.document import Document
    from bokeh.server.server import Server

_LARGEST = 256 * 1024  # bytes of a message or a request of a browser
_LAST_LOOK = 60.0  # seconds that reading a file may take at the end
_PERIOD = 1000  # milliseconds between two updates of a page


class LivePage:
    """The page of some runs, on a port.

    :param paths: directories of runs, series, tables; streams as sst:PATH.
    :param host: of the network that the page is served to; by default this machine alone.
    :param port: 0: any that is free.
    :raises InputError: a path does not exist, or the port is taken.
    """

    def __init__(self, paths: Sequence[Path], host: str = "127.0.0.1", port: int = 5006) -> None:
        self._streams: list[StreamProgram] = []
        for path in paths:
            if not str(path).startswith(PREFIX):
                _check_there(path)
        names = [path.resolve().name for path in paths]
        self._runs = [
            WatchedRun(self._directory(path), name if names.count(name) == 1 else str(path.resolve()))
            for path, name in zip(paths, names, strict=True)
        ]
        for run in self._runs:
            run.update()
        self._ends = Event()
        self._token = secrets.token_urlsafe(18)
        self._scenes = Scenes()
        self._server = self._made(host, port)
        self.port = int(self._server.port or 0)
        hosts = {"localhost", host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        self._server._tornado._websocket_origins = {f"{name}:{self.port}" for name in (*hosts, "127.0.0.1")}
        Gate(self._server, f"/{self._token}/", hosts)
        _load_less(self._server)
        shown = {"127.0.0.1": "localhost", "0.0.0.0": socket.gethostname()}.get(host, host)
        self.address = f"http://{shown}:{self.port}/{self._token}/"

    def _directory(self, path: Path) -> Path:
        """What is watched of a source: of a stream what a program that reads it leaves."""
        if not str(path).startswith(PREFIX):
            return path
        self._streams.append(StreamProgram(str(path)))
        return self._streams[-1].directory

    def _made(self, host: str, port: int) -> Server:
        from bokeh.server.server import Server

        try:
            return Server(
                {"/": self._fill}, address=host, port=port, prefix=self._token, use_index=False, redirect_root=False,
                sign_sessions=True, secret_key=secrets.token_hex(32).encode(),  # no session but that of a page
                websocket_max_message_size=_LARGEST, websocket_compression_level=6, compress_response=True,
                http_server_kwargs={
                    "max_body_size": _LARGEST, "max_header_size": 16384, "idle_connection_timeout": 20,
                    "body_timeout": 10,
                },
                extra_patterns=patterns(self._runs, self._scenes),
            )  # fmt: skip
        except OSError as error:
            self._close_streams()
            raise InputError(f"port {port} of {host}: {error.strerror}; choose another by --port") from None

    def _close_streams(self) -> None:
        for stream in self._streams:
            stream.close()

    def _fill(self, document: Document) -> None:
        """Make the page of a viewer, who has choices of their own."""
        from .page import Page

        page = Page(document, self._runs, self._scenes)
        document.add_periodic_callback(page.update, _PERIOD)

    def _follow(self) -> None:
        """Read what runs have written, again and again: a viewer never waits for a disk, and a disk for no viewer."""
        while not self._ends.wait(_PERIOD / 1000):
            for run in self._runs:
                run.update()

    def run(self) -> None:
        """Serve until the program is interrupted."""
        follows = Thread(target=self._follow, name="follow", daemon=True)
        follows.start()
        self._server.start()
        self._server.io_loop.start()
        follows.join(_LAST_LOOK)  # a thread that reads a file while Python ends would abort the program

    def stop(self) -> None:
        """End `run`, from another thread or a signal."""
        # asyncio's own call wakes the loop also from a signal; Tornado's would wait for the next timer, up to 17 s
        self._server.io_loop.asyncio_loop.call_soon_threadsafe(self._end)

    def _end(self) -> Any:
        self._ends.set()
        for run in self._runs:
            if run.board is not None:
                run.board.close()
        self._close_streams()
        self._server.stop()
        self._server.io_loop.stop()


def _check_there(path: Path) -> None:
    """Check that there is something at a path.

    :raises InputError: there is nothing, or the path is a pattern: each file would be a run of its own.
    """
    if is_pattern(path) and matches(path):
        raise InputError(
            f"{path}: a pattern is not taken here; give one file, or several without quotes, or the directory that "
            "holds them"
        )
    if not path.exists():
        raise InputError(f"{path}: {nothing_at(path)}")


def _load_less(server: Server) -> None:
    """Send browsers only the scripts that the page needs: formulas alone are twice as large as all others."""
    application = server._tornado
    usual = application.resources

    def resources(absolute_url: str | bool | None = None) -> Any:
        found = usual(absolute_url)
        found.components = ["bokeh", "bokeh-widgets"]
        return found

    application.resources = resources
