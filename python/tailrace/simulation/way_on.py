"""What to do after a run that ended before its end: which checkpoint it can go on from. All is local."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tailrace.core import IoError
from tailrace.flow.checkpoint import check_sidecar, complete

Stamps = frozenset[tuple[str, int, int]]


def stamps(path: Path) -> Stamps:
    """What tells the present checkpoints in a directory from later ones, also of the same names."""
    found = []
    for _, one in complete(path):
        with suppress(OSError):
            found.append(_stamp(one))
    return frozenset(found)


def _stamp(checkpoint: Path) -> tuple[str, int, int]:
    about = checkpoint.stat()
    return checkpoint.name, about.st_ino, about.st_mtime_ns


def newest(path: Path, others: Stamps = frozenset()) -> Path | None:
    """The newest checkpoint in a directory that says it is whole; its fields are not read.

    :param others: those of another run.
    """
    for _, found in complete(path):
        with suppress(IoError, OSError):
            check_sidecar(found)
            if _stamp(found) not in others:
                return found
    return None


def way_on(found: Path | None, *, changed: str = "", first: str = "") -> str:
    """The words for a message.

    :param found: the checkpoint, if there is one.
    :param first: what must be done before, as "fix the script".
    :param changed: the key that must get another value, as the run would end again at the same step.
    """
    if found is None:
        return "there is no checkpoint to go on from: start again, with --overwrite"
    if changed:
        return (
            f"if the flow in {found} is still sound, go on from it with --resume --change --set {changed}=...; "
            "else start again with --overwrite"
        )
    return f"{f'{first}, then ' if first else ''}go on with --resume, from {found}"
