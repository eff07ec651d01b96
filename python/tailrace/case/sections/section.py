"""What the sections of a case file have in common."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationInfo

from .. import scripts


def directory_of(info: ValidationInfo) -> Path:
    """What the Python files and series of a case are relative to."""
    return Path((info.context or {}).get("directory", "."))


def check_function_of(word: str | None, info: ValidationInfo) -> str | None:
    """Find the function that a word of the case names, file.py:function; returns the word."""
    if word is not None:
        scripts.check_function(word, directory_of(info))
    return word


class Section(BaseModel):
    """A table of the case file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)
