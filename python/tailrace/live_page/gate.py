"""Keeps strangers and floods away from the page: who does not know its address costs almost nothing."""

from __future__ import annotations

import time as clock
from collections import OrderedDict
from collections.abc import Collection
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from tornado.web import ErrorHandler

if TYPE_CHECKING:
    from bokeh.server.server import Server
    from tornado.iostream import IOStream

_CONNECTIONS = 200  # at a time; a browser has up to seven
_WAITING = 1024  # connections that the kernel keeps: with Tornado's 128 a flood delays viewers by seconds
_BURST, _RATE = 150.0, 25.0  # requests at once, and in a second: a page begins with ten
_PAGES = 40  # viewers at a time


class Gate:
    """In front of a server of Bokeh.

    :param prefix: what the paths of the page begin with; other requests are not found.
    :param names: those of this machine. A request by another name comes from a page of somebody else: not found.
    """

    def __init__(self, server: Server, prefix: str, names: Collection[str]) -> None:
        self._server, self._prefix, self._names = server, prefix, names
        self._open: OrderedDict[int, IOStream] = OrderedDict()  # connections, the oldest first
        self._known: set[int] = set()  # those that have asked for the page
        self._left, self._since = _BURST, clock.monotonic()
        http, application = server._http, server._tornado
        for door in http._sockets.values():
            door.listen(_WAITING)
        self._usual, self._find = http.handle_stream, application.find_handler
        http.handle_stream = self._enter
        application.find_handler = self._admit

    def _enter(self, stream: IOStream, address: Any) -> Any:
        """Take a connection. Of too many the oldest one that has not asked for the page is closed."""
        self._open = OrderedDict((key, one) for key, one in self._open.items() if not one.closed())
        self._known &= self._open.keys()
        if len(self._open) >= _CONNECTIONS:
            oldest = next((key for key in self._open if key not in self._known), None)
            if oldest is None:
                stream.close()
                return None
            self._open.pop(oldest).close()
        self._open[id(stream)] = stream
        return self._usual(stream, address)

    def _admit(self, request: Any, **options: Any) -> Any:
        """What answers a request: the page, or "not found" to a stranger, or "later" where there are too many."""
        application = self._server._tornado
        if not request.path.startswith(self._prefix) or not self._is_named(request.host_name):
            return application.get_handler_delegate(request, ErrorHandler, {"status_code": 404})
        now = clock.monotonic()
        self._left = min(_BURST, self._left + _RATE * (now - self._since))
        self._since = now
        if self._left < 1 or self._has_many(request):
            return application.get_handler_delegate(request, ErrorHandler, {"status_code": 429})
        self._left -= 1
        stream = getattr(request.connection, "stream", None)
        if stream is not None:
            self._known.add(id(stream))
        return self._find(request, **options)

    def _is_named(self, name: str) -> bool:
        """Whether a request is to this machine by one of its names, or by an address."""
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in self._names
        return True

    def _has_many(self, request: Any) -> bool:
        """Whether a request is for one more page than may be open."""
        begins = request.path in (self._prefix, f"{self._prefix}autoload.js")
        return begins and len(self._server.get_sessions()) >= _PAGES
