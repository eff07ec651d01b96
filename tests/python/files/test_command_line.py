"""The command line that a user has given is handed to the programs that do the work, and to no others."""

from __future__ import annotations

import os

import pytest

from tailrace.files import command_line


def test_what_was_handed_over_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/tailrace", "run", "a b.toml"])
    monkeypatch.setattr(command_line, "_given", [])
    environment: dict[str, str] = {}
    command_line.hand_over(environment)
    assert list(environment.values()) == ["tailrace run 'a b.toml'"]
    monkeypatch.setattr("sys.argv", ["/rank.py", "other"])
    command_line.take()
    assert command_line.command() == "/rank.py other", "nothing was handed over"
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command_line.take()
    assert command_line.command() == "tailrace run 'a b.toml'"
    assert not environment.keys() & os.environ.keys(), "programs that this one starts do not get it"
    command_line.take()
    assert command_line.command() == "tailrace run 'a b.toml'", "a second time it stays"
