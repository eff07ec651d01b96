"""The live page in a notebook."""

from __future__ import annotations

import asyncio
from html import escape
from os import PathLike
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .server import LivePage


class LiveView:
    """A page that is served by this program. In a notebook it is shown as it is; elsewhere `address` opens it.

    :param height: of the page in a notebook, in pixels.
    """

    def __init__(self, sources: list[Path], height: int) -> None:
        self._sources, self._height = sources, height
        self._page: LivePage | None = None
        self._error: Exception | None = None
        self._ready = Event()
        self._thread = Thread(target=self._serve, name="live page", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._page is None:
            assert self._error is not None
            raise self._error
        self.address: str = self._page.address

    def _serve(self) -> None:
        from .server import LivePage

        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)  # of this thread
        try:
            self._page = page = LivePage(self._sources, port=0)
            self._ready.set()
            page.run()
        except Exception as error:  # raised where the page was asked for
            self._error = error
        finally:
            self._ready.set()
            loop.close()

    def close(self) -> None:
        """End the page. Closing twice does nothing."""
        page, self._page = self._page, None
        if page is not None:
            page.stop()
            self._thread.join()

    def __repr__(self) -> str:
        return f"<LiveView {self.address}>"

    def _repr_html_(self) -> str:
        return f'<iframe src="{escape(self.address)}" width="100%" height="{self._height}" style="border:0"></iframe>'


def live(*sources: str | PathLike[str], height: int = 600) -> LiveView:
    """Show runs, series or tables while they grow: the page of `tailrace live`, in a notebook in its cell. Local.

    :param sources: directories of runs, series of any engine or format, tables (.csv).
    :param height: of the page in a notebook, in pixels.
    :raises InputError: a source does not exist.
    :raises ImportError: Bokeh is missing; the extra `live` installs it.

    >>> view = tr.live(".")
    >>> view.address  # doctest: +ELLIPSIS
    'http://localhost:...'
    >>> view.close()
    """
    return LiveView([Path(source) for source in sources], height)
