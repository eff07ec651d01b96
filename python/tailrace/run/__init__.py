"""A run: the simulation, its outputs, its analyses and its progress."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """Importing a module of this package puts the package in the place of the function `tr.run`; it is called alike."""

    def __call__(self, *arguments: Any, **options: Any) -> int:
        """As `tailrace.run.simulation.run`."""
        from .simulation import run

        return run(*arguments, **options)


sys.modules[__name__].__class__ = _Package
