"""Going on from a checkpoint: whether the case computes the same flow, and what is written of it where it does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tailrace.case.difference import OVERRIDES, Difference, Meaning, differences, in_a_line
from tailrace.core import InputError
from tailrace.files.case_parts import parts_of, with_part

if TYPE_CHECKING:
    from tailrace.case.case import Case

    from .checkpoint import OpenCheckpoint

ATTRIBUTES = "attributes"  # of a checkpoint: what the series of its run say, as a JSON object;
_FUNCTIONS = "functions"  # and the checksum of every Python file of its flow, by the key that names it


def told_of(case: Case, attributes: Mapping[str, Any]) -> dict[str, str]:
    """What a checkpoint tells a run that goes on from it, besides its case and `changes`. Local.

    :param attributes: what the series of the run say.
    """
    files = {key: case.directory / word.rpartition(":")[0] for key, word in case.functions()}
    sums = {key: hashlib.sha256(path.read_bytes()).hexdigest() for key, path in files.items()}
    return {
        OVERRIDES: json.dumps(case.overrides),
        ATTRIBUTES: json.dumps(dict(attributes)),
        _FUNCTIONS: json.dumps(sums),
    }


def check_same(
    case: Case, told: Mapping[str, str], forcing: str, checkpoint: OpenCheckpoint, say: Callable[[str], None],
    *, change: bool,
) -> dict[str, str]:  # fmt: skip
    """Check that a case computes what the checkpoint's did, but for what is changed on purpose. Local.

    :param told: what `told_of` tells of this case.
    :param forcing: the name of a body force that is given in Python; "" if none is.
    :param say: prints a line.
    :param change: differences in what is computed are meant.
    :returns: the attributes of a changed run; see `files.case_parts`.
    :raises InputError: there are differences that must not be, or that are not known to be meant.
    """
    about = checkpoint.about
    if "case" not in about:  # it was not written by a run
        return {}
    try:
        found = differences(str(about["case"]), case.text)
        before, sums = (json.loads(str(about.get(key, "{}"))) for key in (ATTRIBUTES, _FUNCTIONS))
    except ValueError as error:
        raise InputError(f"checkpoint {checkpoint.path}: what it tells of its case is damaged: {error}") from None
    found += _forcing(str(about.get("forcing", "")), forcing)
    by_meaning = {word: [one for one in found if one.meaning is word] for word in Meaning}
    _refuse(by_meaning, checkpoint, change=change)
    _tell(by_meaning, say)
    mine = json.loads(told[_FUNCTIONS])
    for key in (key for key in sums if key in mine and sums[key] != mine[key]):
        say(f"note: the Python file of {key} is not as it was when the checkpoint was written")
    parts, changed = parts_of(about), by_meaning[Meaning.PHYSICS]
    if not changed:
        return parts
    before = {**before, "case": str(about["case"])}
    now = {**json.loads(told[ATTRIBUTES]), "case": case.text}
    return with_part(parts, checkpoint.state.step, before, now, in_a_line(changed))


def _forcing(before: str, now: str) -> list[Difference]:
    """The difference of two body forces that were given in Python; those of files have a key."""
    old, new = (
        f"{one.removeprefix('forcing ')} of Python" if one.startswith("forcing '") else None for one in (before, now)
    )
    return [] if old == new else [Difference("forcing", old, new)]


def _refuse(found: Mapping[Meaning, list[Difference]], checkpoint: OpenCheckpoint, *, change: bool) -> None:
    state, physics = found[Meaning.STATE], found[Meaning.PHYSICS]
    if state:
        lines = "".join(f"\n  {one}" for one in state)
        raise InputError(
            f"checkpoint {checkpoint.path} cannot be gone on from with another grid, time scheme or precision, or with "
            f"other scalars:{lines}\ngive the old value, or begin a new run from a step of a series, by case.from"
        )
    if physics and not change:
        lines = "".join(f"\n  {one}" for one in physics)
        old = ", ".join(one.old for one in physics)
        raise InputError(
            f"checkpoint {checkpoint.path} was computed by another case:{lines}\ngive the old value, {old}; or "
            f"--change (in Python change=True), to change it on purpose after step {checkpoint.state.step}"
        )


def _tell(found: Mapping[Meaning, list[Difference]], say: Callable[[str], None]) -> None:
    if steers := found[Meaning.STEERS]:
        say(f"note: the run goes on with {in_a_line(steers)}")
    if beginning := found[Meaning.BEGINNING]:
        say(f"note: without effect in a run that goes on: {in_a_line(beginning)}")
    if physics := found[Meaning.PHYSICS]:
        say(f"note: changed on purpose: {in_a_line(physics)}")
