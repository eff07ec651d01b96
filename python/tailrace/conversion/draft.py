"""The directory beside the target where a conversion works until its result is whole, with a record.

`TARGET.partial/` holds the result under the name of the target, and `conversion.json`: what was asked for, what the
source was, and how far the conversion is. A verified result is renamed to its place, so nothing
unfinished ever has the name of the target. Only rank 0 uses this module.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.core import FileLock, InputError, IoError
from tailrace.files import locks
from tailrace.files.regular import is_there, open_regular
from tailrace.files.whole import remove, sync, write_text

PARTIAL = ".partial"
_RECORD = "conversion.json"
_MOST = 64 << 20  # bytes of a record


class Draft:
    """The draft of one target, which this program alone may use until `close`.

    :param target: the path of the result.
    :param request: what was asked for, in values that JSON has.
    :param resume: go on with an interrupted conversion. If there is no draft, the file at the target may be its result:
        then `record["state"]` is "complete".
    :raises InputError: the target exists; or there is an interrupted conversion, and `resume` is False or its request
        was another one.
    :raises IoError: another program converts to the same target, or the record cannot be read.
    """

    def __init__(self, target: Path, request: Mapping[str, Any], *, resume: bool) -> None:
        self._target, self._request = target, json.loads(json.dumps(request))
        self.directory = target.with_name(target.name + PARTIAL)
        self.path = self.directory / target.name  # path of the unfinished result
        target.parent.mkdir(parents=True, exist_ok=True)
        self._lock: FileLock | None = locks.take(target)
        try:
            self.record: dict[str, Any] = self._found(resume)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let other programs use the target. A second call does nothing."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _found(self, resume: bool) -> dict[str, Any]:
        there = is_there(self.directory)
        record = self._read() if there else {}
        if resume and not record and is_there(self._target) and not _is_empty(self._target):
            if there:
                self.remove()  # a program was killed after its last rename
            return {"state": "complete"}
        if not there:
            self.check_free()
            return {}
        if not resume:
            raise InputError(
                f"{self.directory} is an unfinished conversion. Nothing was changed. Choose one: --resume (resume=True "
                f"in Python), to go on with it; or remove {self.directory}, to begin again"
            )
        asked = record.get("request", self._request)
        other = [name for name, value in self._request.items() if asked.get(name) != value]
        if other:
            raise InputError(
                f"--resume: the conversion in {self.directory} was begun with another {', '.join(other)}: "
                f"{', '.join(f'{name} = {asked.get(name)}' for name in other)}. Give the same options, or remove "
                f"{self.directory}, to begin again"
            )
        if record.get("state") not in ("placing", "placed"):
            self.check_free()
        return record

    def _read(self) -> dict[str, Any]:
        path = self.directory / _RECORD
        strange = InputError(
            f"{self.directory} is there already, and is no unfinished conversion of Tailrace: it has no {_RECORD}. "
            "Move it away, or choose another target"
        )
        if not self.directory.is_dir() or self.directory.is_symlink():
            raise strange
        if not is_there(path):
            if any(entry.name != f"{_RECORD}.tmp" for entry in self.directory.iterdir()):
                raise strange
            return {}  # killed before it wrote a record, so the directory is empty
        with open_regular(path, "rb") as file:
            text = file.read(_MOST)
        try:
            found = json.loads(text)
            if found["tailrace"] != "conversion" or not isinstance(found["request"], dict):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise IoError(
                f"{path} is damaged: expected the record of a conversion. Nothing was changed; remove "
                f"{self.directory}, to begin the conversion again"
            ) from None
        return dict(found)

    def check_free(self) -> None:
        """Check that the target does not exist. Raises InputError if it exists, and is not an empty directory."""
        target = self._target
        if is_there(target) and not (target.is_dir() and not target.is_symlink() and not any(target.iterdir())):
            raise InputError(
                f"{target} is there already, and a conversion replaces nothing; choose another target, or move it away"
            )

    def begin(self, **known: Any) -> None:
        """Write the record of a new conversion, in which nothing is done yet, and remove an earlier draft.

        :param known: more entries that later programs need.
        """
        self.directory.mkdir(exist_ok=True)
        self.record = {"tailrace": "conversion", "request": self._request, "state": "writing", **known}
        self._write()
        for entry in self.directory.iterdir():
            if entry.name != _RECORD:
                remove(entry)

    def note(self, **known: Any) -> None:
        """Add to the record, at once on disk."""
        self.record.update(known)
        self._write()

    def _write(self) -> None:
        write_text(self.directory / _RECORD, json.dumps(self.record), ending=".tmp")
        sync(self.directory)

    def sync(self) -> None:
        """Wait until the result is on the disk, and drop it from the page cache, so that it is read from the disk."""
        for top, _, names in os.walk(self.directory):
            for name in names:
                with open_regular(Path(top) / name, "rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            sync(Path(top))

    def place(self) -> None:
        """Rename the result and the files beside it to their places; the target itself is the last.

        :raises InputError: one of these places is taken by now; then the draft stays.
        """
        self.note(state="placing")
        parent = self._target.parent
        there = [entry for entry in self.directory.iterdir() if not entry.name.startswith(_RECORD)]
        for entry in sorted(there, key=lambda one: (one.name == self._target.name, one.name)):
            wanted = parent / entry.name
            if entry.name == self._target.name:
                self.check_free()
            elif is_there(wanted):
                raise InputError(
                    f"{wanted} is there already, and belongs to the result; move it away, and go on with --resume"
                )
            if wanted.is_dir() and not entry.is_dir():
                wanted.rmdir()  # it is empty; a directory as result takes its place in the same way
            entry.rename(wanted)
        sync(parent)

    def discard(self) -> None:
        """Remove the unfinished result."""
        if self.record:
            shutil.rmtree(self.directory, ignore_errors=True)

    def remove(self) -> None:
        """The conversion is done: remove the record and the empty directory."""
        for entry in self.directory.iterdir():
            if not entry.name.startswith(_RECORD):
                raise IoError(f"{entry} was not expected there; the conversion is complete, look at it")
        for name in (f"{_RECORD}.tmp", _RECORD):
            (self.directory / name).unlink(missing_ok=True)
        self.directory.rmdir()


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())
