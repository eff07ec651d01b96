"""In CI a test may be skipped only for a reason on a list: what is not tested there would else be noticed by nobody."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest


class SkipGuard:
    """A pytest plugin that fails the run where a skip has a reason that is not on the list.

    :param path: a TOML file of tables [[skip]] with `pattern`, a regular expression that the reason begins with, and
        `why`, what makes the skip acceptable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["skip"]
        for entry in entries:
            if set(entry) != {"pattern", "why"} or not entry["why"].strip():
                raise ValueError(f"{path}: an entry needs a pattern and why, found {entry}")
        self._patterns = [re.compile(entry["pattern"]) for entry in entries]
        self.unlisted: list[str] = []

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not any(pattern.match(reason) for pattern in self._patterns):
            self.unlisted.append(f"{report.nodeid}: {reason}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.unlisted:
            terminalreporter.section("skips that are not allowed in CI")
            for line in self.unlisted:
                terminalreporter.line(line)
            terminalreporter.line(f"make them run, or put them on the list in {self._path} with the reason")
