"""The files of a source: whether they have changed, and their removal after a conversion."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tailrace.core import InputError, IoError
from tailrace.files import locks
from tailrace.io.series import ArraySeries

Listed = list[list[object]]  # path, bytes and time of change (ns) of each file, as JSON has them


def listed(files: Iterable[str]) -> Listed:
    """Path, size and time of the files of a source; for a directory (BP), of all files in it.

    :raises OSError: one is gone.
    """
    found: Listed = []
    for path in sorted(_regular(files)):
        status = path.stat()
        found.append([str(path.absolute()), status.st_size, status.st_mtime_ns])
    return found


def _regular(files: Iterable[str]) -> set[Path]:
    paths: set[Path] = set()
    for file in files:
        path = Path(file)
        if path.is_dir():
            paths |= {Path(top) / name for top, _, names in os.walk(path) for name in names}
        else:
            paths.add(path)
    return paths


def check_unchanged(before: Listed, now: Listed, what: str) -> None:
    """Check that a source has not changed since its conversion began.

    :param what: end of the message: what to do about it.
    :raises InputError: a file has changed, is gone or is new.
    """
    was, found = ({str(path): rest for path, *rest in table} for table in (before, now))
    changed = next((path for path in sorted({*was, *found}) if was.get(path) != found.get(path)), None)
    if changed is not None:
        how = "is gone" if changed not in found else "is new" if changed not in was else "has changed"
        raise InputError(f"{changed} {how} since the conversion began; {what}")


def removable(source: ArraySeries) -> list[str]:
    """The files of a source whose values are all among its variables; for a series of Tailrace, all its files."""
    return source.files if source.dataset is None else source.dataset.removable


def check_whole(source: ArraySeries) -> None:
    """Check that everything in the files of a source is read.

    :raises InputError: something is not read, or this is not known.
    """
    dataset = source.dataset
    if dataset is None:
        return
    if dataset.left_out or dataset.notes or not dataset.removable:
        why = "; ".join([*dataset.left_out, *dataset.notes]) or "it is not known whether all of the files is read"
        raise InputError(
            f"--delete-originals: {source.path} is of the format {dataset.format}, and the result may not have all "
            f"of it: {why}. To fix this, leave the option out, and remove the files yourself"
        )


def check_removable(files: Iterable[str], source: Path, target: Path, places: Iterable[Path]) -> None:
    """Check, before a conversion begins, that the files of its source may be removed after it.

    :param places: the paths that the conversion writes to.
    :raises InputError: the target lies in the source or is one of its files, or one of them is a symbolic link.
    """
    real_source = Path(os.path.realpath(source))
    own = {Path(os.path.realpath(file)) for file in files}
    for place in (Path(os.path.realpath(one)) for one in places):
        if place == real_source or real_source in place.parents or place in own or own & set(place.parents):
            raise InputError(
                f"--delete-originals: {target} lies in {source}, which would be removed; choose a target elsewhere"
            )
        inside = next((file for file in sorted(own) if place in file.parents), None)
        if inside is not None:
            raise InputError(
                f"--delete-originals: {inside} of the source lies in {place}, where the conversion writes; choose a "
                "target elsewhere"
            )
    for file in [source, *(Path(one) for one in files)]:
        if file.is_symlink():
            raise InputError(
                f"--delete-originals: {file} is a symbolic link, which removes nothing; name what it leads to"
            )


def remove(files: Listed, source: Path) -> int:
    """Remove the files of a source, if they have not changed since its conversion began. A missing file is no error.

    :returns: how many were removed.
    :raises InputError: one has changed; nothing was removed then.
    :raises IoError: a program writes the source, or a file cannot be removed.
    """
    there = []
    for path, size, changed in files:
        try:
            status = os.lstat(str(path))
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode) or [status.st_size, status.st_mtime_ns] != [size, changed]:
            raise InputError(
                f"{path} has changed since it was converted, so no original was removed; the result is complete"
            )
        there.append(Path(str(path)))
    lock = locks.take(source)
    try:
        for one in there:
            one.unlink()
    except OSError as error:
        raise IoError(f"cannot remove {error.filename}: {error.strerror}; the result is complete") from error
    finally:
        lock.release()
    return len(there)
