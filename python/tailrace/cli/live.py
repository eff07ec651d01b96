"""The command `tailrace live`."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from .common import fail, say


def live(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", help="Directories of runs, series, tables (.csv).")
    ],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: one that is free.")] = 5006,
    host: Annotated[
        str, typer.Option("--host", help="The address that the page is served at; by default this machine alone.")
    ] = "127.0.0.1",
) -> None:
    """Show runs in a browser while they go on, and after: curves that grow, slices of stored fields, numbers.

    For example: tailrace live . ; of several runs, the curves are over each other. Ctrl-C ends it.
    """
    try:
        from tailrace.live_page.server import LivePage

        page = LivePage(sources, host, port)
    except ImportError as error:
        fail(f"the page is made by Bokeh, which does not load ({error}); install the extra: pip install "
             "'tailrace[live]'", 1)  # fmt: skip
    except (ValueError, OSError, RuntimeError) as error:
        fail(error)
    if host != "127.0.0.1":
        say("warning: everybody who can reach this address and knows its last part sees the page")
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: page.stop())
    print(page.address, flush=True)
    page.run()
