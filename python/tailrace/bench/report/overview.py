"""The data of a report on one file of results, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..records.results import BenchResults
from ..records.summary import Summary
from .verdicts import Verdict, verdicts
from .words import Settings


@dataclass(frozen=True)
class Overview:
    """The settings of a file with their verdicts."""

    results: BenchResults

    @cached_property
    def settings(self) -> Settings:
        """All settings, in the order in which they were measured."""
        failures = [one.cell for one in self.results.failures]
        return Settings([*(one.cell for one in self.results.measurements), *failures])

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """One verdict for each setting."""
        return verdicts(self.results, self.settings)

    @cached_property
    def variants(self) -> list[str]:
        """The names of all variants, each once. Their positions decide colours and markers."""
        return self._names("way")

    @cached_property
    def limits(self) -> list[str]:
        """The names of all limits, each once."""
        return self._names("limit")

    def _names(self, role: str) -> list[str]:
        cells = [one.cell for one in self.results.measurements] + [one.cell for one in self.results.failures]
        return list(dict.fromkeys(self.settings.label(cell) for cell in dict.fromkeys(cells) if cell.role == role))

    def label(self, summary: Summary) -> str:
        """The name of a variant or limit."""
        return self.settings.label(summary.cell)
