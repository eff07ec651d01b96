"""Fixtures of several test files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.harness.engines import KINDS, Engine
from helpers.harness.kept import KEPT, Kept
from helpers.harness.skips import SkipGuard
from helpers.harness.snippets import counts
from helpers.harness.streams import Stream
from helpers.harness.watcher import end_with_this_process
from helpers.harness.workers import Workers


def pytest_configure(config: pytest.Config) -> None:
    """Leave no process behind. In CI, where the reports of all workers of xdist arrive, compare skips with the list."""
    end_with_this_process()
    if os.environ.get("CI") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGuard(Path(__file__).parent / "allowed_skips.toml"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many blocks of code of the documents were run, if they were."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    if any("test_snippets.py::test_blocks_run" in report.nodeid for report in reports):
        terminalreporter.write_line(f"blocks of code in README and docs: {counts()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A small file system; called with a size ("400k", or "400k,ro"), it is mounted or changed."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = []

    def mount(size: str) -> Path:
        options = f"remount,size={size}" if mounted else f"size={size}"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
        mounted.append(size)
        return place

    yield mount
    if mounted:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(scope="session", autouse=True)
def tailrace() -> Iterator[Kept]:
    """The command, on ranks that stay: tailrace(directory, *words, ranks=1, code=0)."""
    with KEPT:
        yield KEPT


@pytest.fixture(scope="session")
def one() -> Workers:
    """A rank that waits for cases."""
    return KEPT.ranks(1)


@pytest.fixture(scope="session")
def three() -> Workers:
    """Three of them, the same for all tests of this process."""
    return KEPT.ranks(3)


@pytest.fixture(params=["one", "three"])
def some(request: pytest.FixtureRequest) -> Workers:
    """One rank, then three."""
    ranks: Workers = request.getfixturevalue(request.param)
    return ranks


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Engine:
    """An engine of each kind."""
    found: Engine = request.param
    return found


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    """The ends of a stream, which are killed at the end of the test."""
    found = Stream(tmp_path)
    yield found
    found.end()
