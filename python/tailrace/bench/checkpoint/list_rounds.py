"""Rounds whose values are lists of elements, made when a cell first needs them."""

from __future__ import annotations

from functools import cached_property

from tailrace.parallel import agree

from ..ranks.limits import PlainFile
from ..ranks.rounds import Rounds
from .element_lists import ElementLists
from .setting import CheckpointSetting


class ListRounds(Rounds):
    """See `Rounds`. A derived class sets the setting."""

    _setting: CheckpointSetting

    @cached_property
    def _lists(self) -> ElementLists:
        """Made by the first cell that needs them: where they do not fit into memory, it has failed."""
        return agree(self._comm, lambda: self._setting.lists(self._comm.rank))

    @cached_property
    def _plain(self) -> PlainFile:
        """The same of the limits, with two copies more."""
        lists = list(self._lists.lists.values())
        return agree(self._comm, lambda: PlainFile(self._comm, self._directory, lists))
