"""Compute a case on COMM_WORLD. Collective.

:param case: a validated case.
:param resume: go on from its newest complete checkpoint.
:param overwrite: results of an earlier run may be replaced.
:returns: the exit code: 0 done, 143 stopped on request (SIGTERM, Ctrl-C) after a checkpoint.
:raises InputError, IoError, FlowError, AnalysisError: on every rank alike.

`tailrace.run` is this function and the package of simulations, their outputs, their analyses and their progress.
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
