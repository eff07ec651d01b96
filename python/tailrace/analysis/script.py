"""Load scripts, and make objects with `step` from them.

A script is a Python file with a function `analyse(step)`, or with one class that has `step(self, step)` and may have
`start(self, step)`, `finish(self)`, `save(self)`, `load(self, state)` and `merge(self, other)`. Further arguments of
the function, or those of the class's constructor, are its parameters.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tailrace.case.arguments import arguments_of, hint, plain, typed
from tailrace.case.scripts import find_analysis, nothing_to_run, run_file
from tailrace.core import InputError

from .errors import failure

Entry = Callable[..., Any]


@dataclass
class Script:
    """A loaded script: `make` returns an object with `step`. `name`: the name of the script and of its results."""

    name: str
    path: Path
    entry: Entry
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether it is a class, which may keep a state from step to step."""
        return isinstance(self.entry, type)

    def has(self, method: str) -> bool:
        """Whether its class has a method."""
        return self.is_class and callable(getattr(self.entry, method, None))

    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters: the arguments after the step, or those of the constructor."""
        if isinstance(self.entry, type) and "__init__" not in _methods(self.entry):
            return {}
        return dict(list(arguments_of(self.entry).items())[0 if self.is_class else 1 :])

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; text is converted to the type of its annotation or default.

        :raises InputError: there is no such parameter, or the value has another type.
        """
        known = self.parameters()
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()) and name not in known:
            self._keep(name, plain, value)
            return
        if name not in known:
            raise InputError(f"analysis '{self.name}' has no parameter '{name}'; {hint(name, known)}")
        self._keep(name, typed, value, known[name])

    def _keep(self, name: str, read: Callable[..., Any], *given: Any) -> None:
        try:
            self.values[name] = read(*given)
        except ValueError as error:
            raise InputError(f"analysis '{self.name}': parameter '{name}': {error}") from None

    def check_complete(self) -> None:
        """:raises InputError: a parameter without a default has no value."""
        fixed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        for name, one in self.parameters().items():
            if one.default is one.empty and one.kind not in fixed and name not in self.values:
                raise InputError(f"analysis '{self.name}': parameter '{name}' has no default and no value; give one")

    def make(self) -> Any:
        """A new object of the class, or an object whose `step` is the function. Runs the user's code."""
        return self.entry(**self.values) if self.is_class else _Function(self.entry, self.values)


class _Function:
    def __init__(self, function: Entry, values: dict[str, Any]) -> None:
        self.step = functools.partial(function, **values)


def load(word: str, directory: Path = Path(), name: str = "") -> Script:
    """Run the file of a script, and find its function or class.

    :param word: as `case.scripts.find_analysis` takes it.
    :param name: the name of its results; by default that of the file without .py.
    :raises InputError: the file does not exist, or does not have exactly one function or class to run.
    :raises AnalysisError: the file fails.
    """
    try:
        path, entry = find_analysis(word, directory)
    except ValueError as error:
        raise InputError(str(error)) from None
    name = name or path.stem
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files: no window or display is needed
    try:
        module = run_file(path, f"tailrace_analysis_{path.stem}")
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise failure(f"analysis '{name}'", path, error, "when it was loaded") from error
    return Script(name, path, _entry(module, path, entry))


def _entry(module: ModuleType, path: Path, wanted: str) -> Entry:
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    classes = {
        name: value
        for name, value in own.items()
        if isinstance(value, type) and value.__module__ == module.__name__ and callable(getattr(value, "step", None))
    }
    found: dict[str, Any] = {**classes, **({"analyse": own["analyse"]} if callable(own.get("analyse")) else {})}
    if wanted:
        if not callable(own.get(wanted)):
            raise InputError(nothing_to_run(path, wanted, list(found)))
        return own[wanted]
    if not found:
        here = [name for name, value in own.items() if getattr(value, "__module__", "") == module.__name__]
        raise InputError(nothing_to_run(path, "", here))
    if len(found) > 1:
        raise InputError(
            f"{path} has several functions or classes to run: {', '.join(found)}; choose one, "
            f"as {path.name}:{next(iter(found))}"
        )
    return next(iter(found.values()))


def _methods(kind: type) -> set[str]:
    return {name for one in kind.__mro__ if one is not object for name in vars(one)}
