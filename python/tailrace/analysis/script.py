"""Scripts: found by name, checked, loaded, and made into something with `step`.

A script is a Python file with a function `analyse(step)`, or with one class that has `step(self, step)` and may have
`start(self, step)`, `finish(self)`, `save(self)`, `load(self, state)` and `merge(self, other)`. Further arguments of
the function, or those of the class's constructor, are its parameters.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tailrace import _core
from tailrace.case.document import override_value

from .errors import failure

READY = Path(__file__).parent / "ready"
Entry = Callable[..., Any]


def ready_made() -> list[str]:
    """Names of the analyses that come with Tailrace."""
    return sorted(path.stem for path in READY.glob("*.py") if path.stem != "__init__")


def find(word: str, directory: Path) -> tuple[Path, str]:
    """File and entry ("" where it is not said) of "file.py", "file.py:Name", or of a ready-made analysis by its name.

    :param directory: what the file is relative to.
    :raises ValueError: there is none such.
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


def check(word: str, directory: Path) -> None:
    """Whether a script is there, is Python, and may have something to run; it is read, not run.

    :raises ValueError: what is wrong with it.
    """
    path, entry = find(word, directory)
    try:
        body = ast.parse(path.read_text(encoding="utf-8"), filename=str(path)).body
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: is not valid Python: {error.msg}") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    elsewhere = any(isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.If | ast.Try) for node in body)
    has_class = any(isinstance(node, ast.ClassDef) for node in body)
    if not elsewhere and (entry not in names if entry else not has_class and "analyse" not in names):
        raise ValueError(_nothing(path, entry, sorted(names)))


def _nothing(path: Path, entry: str, names: Sequence[str]) -> str:
    wanted = f"no '{entry}'" if entry else "neither a function 'analyse' nor a class with 'step'"
    return f"{path} has {wanted}; it has {', '.join(names) or 'no functions and classes'}"


@dataclass
class Script:
    """A loaded script: `make` gives something with `step`.

    :param name: names its results.
    """

    name: str
    path: Path
    entry: Entry
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether it may keep a state from step to step."""
        return isinstance(self.entry, type)

    def has(self, method: str) -> bool:
        """Whether its class has a method."""
        return self.is_class and callable(getattr(self.entry, method, None))

    def parameters(self) -> dict[str, inspect.Parameter]:
        """What may be set: the arguments after the step, or those of the constructor."""
        if isinstance(self.entry, type) and "__init__" not in _methods(self.entry):
            return {}
        return dict(list(_signature(self.entry).items())[0 if self.is_class else 1 :])

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; text is turned into what its annotation or default says.

        :raises InputError: there is no such parameter, or the value has another type.
        """
        known = self.parameters()
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()) and name not in known:
            self.values[name] = _plain(f"analysis '{self.name}': parameter '{name}'", value)
            return
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"
            raise _core.InputError(f"analysis '{self.name}' has no parameter '{name}'; {hint}")
        self.values[name] = _typed(f"analysis '{self.name}': parameter '{name}'", value, known[name])

    def check_complete(self) -> None:
        """:raises InputError: a parameter without a default has no value."""
        fixed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        for name, one in self.parameters().items():
            if one.default is one.empty and one.kind not in fixed and name not in self.values:
                raise _core.InputError(
                    f"analysis '{self.name}': parameter '{name}' has no default and no value; give one"
                )

    def make(self) -> Any:
        """A new object of the class, or the function as an object with `step` alone. Runs the user's code."""
        return self.entry(**self.values) if self.is_class else _Function(self.entry, self.values)


class _Function:
    def __init__(self, function: Entry, values: dict[str, Any]) -> None:
        self.step = functools.partial(function, **values)


def load(word: str, directory: Path = Path(), name: str = "") -> Script:
    """Run the file of a script, and find what is in it.

    :param word: as `find` takes it.
    :raises InputError: there is no such file, or not one thing to run in it.
    :raises AnalysisError: the file fails.
    """
    try:
        path, entry = find(word, directory)
    except ValueError as error:
        raise _core.InputError(str(error)) from None
    name = name or path.stem
    try:
        module = _run(path)
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is their message
        raise failure(name, path, error, "when it was loaded") from error
    return Script(name, path, _entry(module, path, entry))


def _run(path: Path) -> ModuleType:
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files: no window, and no display that is missing
    label = f"tailrace_analysis_{path.stem}"
    spec = importlib.util.spec_from_file_location(label, path)
    if spec is None or spec.loader is None:
        raise ImportError("Python finds no way to load this file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module  # where dataclasses look for it
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # as `python script.py` does: its neighbours can be imported
    spec.loader.exec_module(module)
    return module


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
            raise _core.InputError(_nothing(path, wanted, list(found)))
        return own[wanted]
    if not found:
        here = [name for name, value in own.items() if getattr(value, "__module__", "") == module.__name__]
        raise _core.InputError(_nothing(path, "", here))
    if len(found) > 1:
        raise _core.InputError(
            f"{path} has several things to run: {', '.join(found)}; choose one, as {path.name}:{next(iter(found))}"
        )
    return next(iter(found.values()))


def _methods(kind: type) -> set[str]:
    """What a class defines, by itself or by those it is made from."""
    return {name for one in kind.__mro__ if one is not object for name in vars(one)}


# ---- parameters ------------------------------------------------------------------------------------------------------
def _signature(entry: Entry) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(entry, eval_str=True).parameters
    except NameError:  # an annotation of names that are there for type checkers only
        return inspect.signature(entry).parameters


def _typed(label: str, value: Any, parameter: inspect.Parameter) -> Any:
    wanted = parameter.annotation
    if wanted not in (bool, int, float, str):
        wanted = type(parameter.default)
    if wanted not in (bool, int, float, str, list, tuple):
        return _plain(label, value)
    if wanted is str:
        if isinstance(value, str):
            return value
    else:
        plain = _plain(label, value)
        if wanted is float and isinstance(plain, int) and not isinstance(plain, bool):
            return float(plain)
        if wanted in (list, tuple) and isinstance(plain, list | tuple):
            return wanted(plain)
        if type(plain) is wanted:
            return plain
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    raise _core.InputError(f"{label} must be {words.get(wanted, 'a list')} (found {value!r})")


def _plain(label: str, value: Any) -> Any:
    try:
        return override_value(value) if isinstance(value, str) else value
    except ValueError as error:
        raise _core.InputError(f"{label}: {error}") from None
