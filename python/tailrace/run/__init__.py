"""A run: the simulation, its outputs, its analyses and its progress.

`tr.run` is this package, which has the name of the function `run`; it can be called as that function.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.case.case import Case


class _Callable(ModuleType):
    """Importing a module of this package makes the package the `run` of `tailrace`, whatever that was before."""

    def __call__(self, case: Case, *, resume: bool = False, overwrite: bool = False) -> int:
        """See `simulation.run`."""
        from .simulation import run

        return run(case, resume=resume, overwrite=overwrite)


sys.modules[__name__].__class__ = _Callable
