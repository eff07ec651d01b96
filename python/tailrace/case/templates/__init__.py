"""What `tailrace new` writes: commented cases, and the files that they need. The first line of a case describes it."""

from __future__ import annotations

from importlib import resources

_FILES = {
    "own-flow": ("my_flow.py",),
    "channel": ("channel_flow.py",),
    "mixing": ("mixing_flow.py",),
}  # that belong to a case


def names() -> list[str]:
    """The names of all templates. Local."""
    found = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def description(name: str) -> str:
    """One line on a template. Local."""
    return _text(f"{name}.toml").partition("\n")[0].removeprefix("# ")


def case_of(name: str) -> str:
    """The text of its case. Local."""
    return _text(f"{name}.toml")


def files_of(name: str) -> dict[str, str]:
    """The files that its case needs beside it, by their names: their texts. Local."""
    return {file: _text(file) for file in _FILES.get(name, ())}


def pipeline() -> str:
    """The text of a pipeline of ParaView. Local."""
    return _text("pipeline.py")


def _text(file: str) -> str:
    return (resources.files(__name__) / file).read_text(encoding="utf-8")
