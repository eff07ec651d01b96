"""Errors of analyses, with the file and the line of the user's script."""

from __future__ import annotations

import traceback
from pathlib import Path


class AnalysisError(RuntimeError):
    """An analysis failed: the message names script, file and line, and what happened."""


def failure(label: str, path: Path, error: BaseException, where: str) -> AnalysisError:
    """The error of a script as a message: the innermost line of its own file, type and text, and the step.

    :param label: what the script is: "analysis 'budget'".
    :param where: what the script was doing, such as "at step 40, t = 0.4".
    """
    if isinstance(error, AnalysisError):
        return error
    place = f"{path}"
    if isinstance(error, SyntaxError) and error.lineno is not None:
        place = f"{error.filename or path}, line {error.lineno}"
    else:
        ours = [frame for frame in traceback.extract_tb(error.__traceback__) if _same_file(frame.filename, path)]
        if ours:
            inside = "" if ours[-1].name == "<module>" else f", in {ours[-1].name}"
            place = f"{path}, line {ours[-1].lineno}{inside}"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return AnalysisError(f"{label} failed {where}: {place}: {said}")


def _same_file(one: str, other: Path) -> bool:
    return one == str(other) or Path(one).resolve() == other.resolve()
