"""The user's own initial flow: a Python function of (x, y, z) in a file, named as 'file.py:function' in the case."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .document import ConfigError

Velocity = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


def check(flow: str, directory: Path) -> None:
    """Whether 'file.py:function' names a function in a file that is there; the file is read, not run.

    :param directory: what the file is relative to.
    :raises ValueError: what is wrong with it.
    """
    file, separator, function = flow.rpartition(":")
    if not separator or not file.endswith(".py") or not function.isidentifier():
        raise ValueError("must be 'taylor-green' or a Python function as 'file.py:function'")
    path = directory / file
    if not path.is_file():
        raise ValueError(f"there is no file {path} (the path is relative to the case file)")
    try:
        names = _defined_names(path)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{path} is not valid Python: {error}") from None
    if function not in names:
        raise ValueError(f"{path} has no function '{function}'; it has {', '.join(names) or 'none'}")


def _defined_names(path: Path) -> list[str]:
    """Names that a Python file defines at its top level."""
    names: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8"), filename=str(path)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return names


def load(flow: str, directory: Path) -> Velocity:
    """Run the file and return its function. It takes broadcastable arrays x, y, z and returns ux, uy, uz.

    :raises ConfigError: the file fails, or the name is not a function.
    """
    file, _, function = flow.rpartition(":")
    path = directory / file
    spec = importlib.util.spec_from_file_location("tailrace_user_flow", path)
    if spec is None or spec.loader is None:
        raise ConfigError.single(path, "case.flow", "Python finds no way to load this file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's code: whatever it raises is their message
        reason = f"loading it failed: {type(error).__name__}: {error}"
        raise ConfigError.single(path, "case.flow", reason) from error
    velocity = getattr(module, function, None)
    if not callable(velocity):
        raise ConfigError.single(path, "case.flow", f"'{function}' is not a function (found {velocity!r})")
    return velocity
