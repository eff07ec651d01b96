"""[parameters]: of the user's own functions."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from .section import Section


class ParametersSection(Section):
    """[parameters]: values for the functions of the Python files that the case names, by the names of their arguments.

    An argument is a parameter if it has a default or stands after a `*`: `width` in `def velocity(x, y, z, width=0.1)`.
    A function gets those that it has. A name that no function has is an error.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    @property
    def values(self) -> dict[str, Any]:
        """All of them, by name."""
        return dict(self.model_extra or {})
