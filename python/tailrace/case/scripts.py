"""The Python files that a case names: whether they are there and have what is asked for, and the user's initial flow
and body force.

`check_function` and `check_analysis` read a file, and do not run it. `run_file` runs it: for `load_function` here, and
for the scripts of analyses in `tailrace.analysis.script`.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tailrace.files.regular import open_regular

from .arguments import typed, with_defaults
from .document import ConfigError, Problem

Velocity = Callable[[Any, Any, Any], Sequence[Any]]  # of x, y, z
Force = Callable[[Any, Any, Any, float], Sequence[Any]]  # of x, y, z and the time
READY = Path(__file__).parents[1] / "analysis" / "ready"


# ---- flows and forces ------------------------------------------------------------------------------------------------
def check_function(word: str, directory: Path) -> None:
    """Check that 'file.py:function' names a function in a file that is there. Local.

    :param directory: what the file is relative to.
    :raises ValueError: what is wrong with it.
    """
    file, separator, function = word.rpartition(":")
    if not separator or not file.endswith(".py") or not function.isidentifier():
        raise ValueError("must name a Python function as 'file.py:function'")
    path = directory / file
    if not path.is_file():
        raise ValueError(f"there is no file {path} (the path is relative to the case file)")
    body = _parsed(path)
    names = _defined_names(body)
    if function not in names:
        own = [node.name for node in body if isinstance(node, ast.FunctionDef)]
        raise ValueError(f"{path} has no function '{function}'; it has {', '.join(own) or 'none'}")


def _parsed(path: Path) -> list[ast.stmt]:
    """The statements of a Python file.

    :raises ValueError: it is not valid Python, with the line, or cannot be read.
    """
    try:
        with open_regular(path, encoding="utf-8") as file:
            return ast.parse(file.read(), filename=str(path)).body
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: is not valid Python: {error.msg}") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"{path} is nested too deeply") from None


def _defined_names(body: Sequence[ast.stmt]) -> list[str]:
    """Names that a Python file defines at its top level, as far as its text tells."""
    names: list[str] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return names


def load_function(word: str, directory: Path, key: str) -> Callable[..., Any]:
    """Run the file of 'file.py:function' and return its function. Local.

    :param key: where the case names it.
    :raises ConfigError: the file fails, or the name is not a function.
    """
    file, _, function = word.rpartition(":")
    path = directory / file
    try:
        module = run_file(path, f"tailrace_user_{path.stem}")
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is their message
        reason = f"loading it failed: {type(error).__name__}: {error}"
        raise ConfigError.single(path, key, reason) from error
    found = getattr(module, function, None)
    if not callable(found):
        raise ConfigError.single(path, key, f"'{function}' is not a function (found {found!r})")
    return found


def run_file(path: Path, label: str) -> ModuleType:
    """Run a user's Python file as a module. Local.

    :param label: the name of the module.
    :raises ImportError: Python finds no way to load it.
    :raises Exception: whatever the file raises, SystemExit too.
    """
    spec = importlib.util.spec_from_file_location(label, path)
    if spec is None or spec.loader is None:
        raise ImportError("Python finds no way to load this file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module  # dataclasses look for it there
    place = str(path.parent.absolute())  # a relative one would be another one after a change of directory
    if place not in sys.path:
        sys.path.insert(0, place)  # as `python file.py` does: its neighbours can be imported
    spec.loader.exec_module(module)
    return module


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The arguments of a function that [parameters] can give. Local."""
    try:
        return with_defaults(function)
    except ValueError:  # of a function without Python code nothing is known
        return {}


def with_parameters(function: Callable[..., Any], values: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with those of [parameters] that it has. Local.

    :raises ConfigError: a value has another type than the default or the annotation of the argument.
    """
    known, given, problems = parameters_of(function), {}, []
    for name in known.keys() & values.keys():
        try:
            given[name] = typed(values[name], known[name])
        except ValueError as error:
            problems.append(Problem(f"parameters.{name}", str(error)))
    if problems:
        raise ConfigError("the case", problems)
    return functools.partial(function, **given) if given else function


# ---- analyses --------------------------------------------------------------------------------------------------------
def ready_made() -> list[str]:
    """Names of the analyses that come with Tailrace. Local."""
    return sorted(path.stem for path in READY.glob("*.py") if path.stem != "__init__")


def name_of(word: str) -> str:
    """The name of the results of "file.py", "file.py:Name" or a ready-made analysis, where none is given. Local."""
    return Path(word.partition(":")[0] if ".py:" in word else word).stem


def find_analysis(word: str, directory: Path) -> tuple[Path, str]:
    """File and entry ("" where none is named) of "file.py", of "file.py:Name", or of a ready-made analysis. Local.

    :param directory: what the file is relative to.
    :raises ValueError: there is no such file or analysis.
    """
    file, _, entry = word.partition(":") if ".py:" in word else (word, "", "")
    if not file.endswith(".py"):
        if file in ready_made():
            return READY / f"{file}.py", ""
        near = difflib.get_close_matches(file, ready_made(), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; ready-made: {', '.join(ready_made())}"
        raise ValueError(f"'{word}' is neither a Python file, as script.py, nor a ready-made analysis{hint}")
    path = directory / file
    if not path.is_file():
        near = difflib.get_close_matches(path.name, [each.name for each in path.parent.glob("*.py")], n=1)
        raise ValueError(f"there is no file {path}" + (f"; did you mean {near[0]}?" if near else ""))
    return path, entry


def check_analysis(word: str, directory: Path) -> None:
    """Check that a script is there, is Python, and may have something to run. Local.

    :raises ValueError: what is wrong with it.
    """
    path, entry = find_analysis(word, directory)
    body = _parsed(path)
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    elsewhere = any(isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.If | ast.Try) for node in body)
    has_class = any(isinstance(node, ast.ClassDef) for node in body)
    if not elsewhere and (entry not in names if entry else not has_class and "analyse" not in names):
        raise ValueError(nothing_to_run(path, entry, sorted(names)))


def nothing_to_run(path: Path, entry: str, names: Sequence[str]) -> str:
    """The message that a file has not what is asked for, with the names that it has. Local."""
    wanted = f"no '{entry}'" if entry else "neither a function 'analyse' nor a class with 'step'"
    return f"{path} has {wanted}; it has {', '.join(names) or 'no functions and classes'}"
