"""Which program wrote a file of results, by its content."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tailrace.files.regular import open_regular

from ..records.records import Record
from .benchio import MARK, read_benchio
from .darshan_log import is_log, read_darshan
from .foreign import ForeignError, shortened
from .ior import read_ior

_HEAD = 1 << 20  # bytes; other programs may have printed before
_IOR = re.compile(rb'^\{\s{0,99}"(Version|Began|Command line)":', re.MULTILINE)
_IOR_TEXT = re.compile(rb"^IOR-\S{1,40}: MPI Coordinated Test|^access,bw\(MiB/s\),", re.MULTILINE)
_OURS = re.compile(rb'\A\{"kind": "run", ')

READERS: dict[str, Callable[[Path], list[Record]]] = {
    "IOR": read_ior,
    "benchio": read_benchio,
    "Darshan": read_darshan,
}


def program_of(path: Path) -> str:
    """The program that wrote a file: IOR, benchio or Darshan.

    :raises ForeignError: the file is of another program, or cannot be read.
    """
    try:
        with open_regular(path, "rb") as file:
            head: bytes = file.read(_HEAD)
    except OSError as error:
        raise ForeignError(f"{path}: cannot be read: {error.strerror or error}") from None
    if is_log(head):
        return "Darshan"
    if _IOR.search(head):
        return "IOR"
    if MARK.encode() in head:
        return "benchio"
    if _IOR_TEXT.search(head):
        raise ForeignError(
            f"{path}: expected JSON of IOR, found its text or CSV; "
            "run IOR with -O summaryFormat=JSON -O summaryFile=FILE"
        )
    if _OURS.match(head):
        raise ForeignError(f"{path}: expected results of another program, found those of Tailrace; no need to import")
    raise ForeignError(
        f"{path}: expected JSON of IOR, a text of benchio, or a log of Darshan, found "
        f"{shortened(head[:60].decode(errors='replace'))}"
    )


def read_foreign(path: Path) -> list[Record]:
    """The records of a file of another program: a run, its measurements, and its end if the file has one.

    :raises ForeignError: the file is of an unknown program, or is not whole.
    """
    return READERS[program_of(path)](path)
