"""The command `tailrace live`."""

from __future__ import annotations

import getpass
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Annotated

import typer

from .common import fail, say


def live(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Directories of runs, series, tables (.csv), streams (sst:PATH)."),
    ],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: one that is free.")] = 5006,
    host: Annotated[
        str, typer.Option("--host", help="The address that the page is served at; by default this machine alone.")
    ] = "127.0.0.1",
    job: Annotated[
        bool, typer.Option("--job", help="In a job of Slurm: print the ssh command by which your desk sees the page.")
    ] = False,
) -> None:
    """Show runs in a browser while they go on, and after: curves that grow, slices of stored fields, numbers.

    For example: tailrace live . ; of several runs, the curves are over each other. Ctrl-C ends it.
    """
    if job and not os.environ.get("SLURM_JOB_ID"):
        fail("--job: this is no job of Slurm (SLURM_JOB_ID is not set); docs/howto/live.md tells how to reach the page")
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
    for noisy in ("tornado.access", "bokeh"):  # each request that is refused, and each viewer who leaves
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    os.nice(19)  # a run on this machine goes first
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: page.stop())
    if job:
        say(f"note: on your desk: {_from_desk(page.port)}, then open the address")
    print(page.address, flush=True)
    page.run()


def _from_desk(port: int) -> str:
    """The command that carries the page from the node of a job of Slurm, by the machine that the job came from."""
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    login, user = os.environ.get("SLURM_SUBMIT_HOST", ""), getpass.getuser()
    by = f"-J {user}@{login} " if login and login != node else ""
    return f"ssh {by}-L {port}:localhost:{port} {user}@{node}"
