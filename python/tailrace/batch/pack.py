"""One file with the program and its Python, for the memory of each node.

A rank that starts from a shared file system opens some hundred files there: Python, its packages, the libraries. From a
copy on its node it opens none of them; each node reads one file.
"""

from __future__ import annotations

import io
import re
import stat
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from tailrace.files.whole import drafted, refuse_existing

_EXTRAS = ("render", "live", "dask", "darshan")  # of this package: what is installed of them goes along
_LEFT_OUT = {"test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "site-packages", "dist-packages"}
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_SETTLE = f"""\
#!/bin/sh
# Tells Python that this folder is its environment. Run it where the folder is; it may be moved and settled again.
cd "$(dirname "$0")" || exit 1
cat >pyvenv.cfg <<END
home = $PWD/base/bin
include-system-site-packages = false
version = {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}
END
"""
_COMMAND = """\
#!/bin/sh
exec "${0%/*}/python" -P -m tailrace.cli "$@"
"""


class PackError(ValueError):
    """The program cannot be packed."""


@dataclass(frozen=True)
class Pack:
    """What a pack has.

    :param elsewhere: libraries that are loaded and not inside; those of the system are not counted.
    """

    files: int
    bytes: int
    elsewhere: tuple[Path, ...]


def pack(path: Path, also: Sequence[str] = (), *, bare: bool = False) -> Pack:
    """Write the pack as a whole or not at all. Local.

    Unpacked into a folder, and settled there by its `settle`, it has `bin/tailrace` and `bin/python`.

    :param path: of the file, a tar archive; nothing must be there.
    :param also: names of further installed packages that scripts import; those that they need go along.
    :param bare: without the packages for pictures, pages, dask and Darshan.
    :raises PackError: a package is not installed, or this one is installed in place, from its sources.
    :raises InputError: something is there.
    """
    refuse_existing(path)
    inside = dict(_packages(also, () if bare else _EXTRAS))
    with drafted(path) as draft, tarfile.open(draft, "w", dereference=True) as tar:
        for name, file in [*_base(), *inside.items()]:
            tar.add(file, f"./{name}", recursive=False, filter=_plain)
        _add_program(tar, "settle", _SETTLE)
        _add_program(tar, "bin/tailrace", _COMMAND)
        for python in ("python", "python3", _PYTHON):
            _add_link(tar, f"bin/{python}", f"../base/bin/{_PYTHON}")
        count, size = len(tar.getmembers()), tar.offset
    return Pack(count, size, _elsewhere(set(inside.values())))


def _base() -> Iterator[tuple[PurePosixPath, Path]]:
    """The interpreter and its own library: name in the pack, file."""
    base = PurePosixPath("base")
    # In an environment the second name leads to the interpreter that it was made with.
    yield base / "bin" / _PYTHON, Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    for root in {Path(sysconfig.get_path(key)) for key in ("stdlib", "platstdlib")}:
        for file in _below(root):
            yield base / sys.platlibdir / _PYTHON / file.relative_to(root).as_posix(), file
    shared = sysconfig.get_config_var("INSTSONAME")
    if sysconfig.get_config_var("Py_ENABLE_SHARED") and shared:
        library = Path(sysconfig.get_config_var("LIBDIR") or "") / shared
        if library.is_file():
            yield base / "lib" / shared, library


def _below(root: Path) -> Iterator[Path]:
    for entry in sorted(root.iterdir()):
        if entry.name in _LEFT_OUT or entry.name.startswith("config-"):
            continue
        if entry.is_dir():
            yield from _below(entry)
        elif entry.is_file():  # a link to one too, and none that leads nowhere
            yield entry


def _packages(also: Sequence[str], extras: Sequence[str]) -> Iterator[tuple[PurePosixPath, Path]]:
    """The files of this package, of those that it needs, and of the wanted ones with theirs."""
    for found in _needed(["tailrace", *also], extras):
        for file in found.files or ():
            place = Path(str(found.locate_file(file)))
            if ".." not in file.parts and place.is_file():
                yield PurePosixPath("lib", _PYTHON, "site-packages", *file.parts), place


def _needed(names: Sequence[str], extras: Sequence[str]) -> list[metadata.Distribution]:
    """The packages of these names, and all that they need and that is installed."""
    wanted, found = list(names), dict[str, metadata.Distribution]()
    for name in wanted:  # grows
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            found[key] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name in names:
                raise PackError(
                    f"there is no package {name!r} in this environment; pip list shows those that are"
                ) from None
            continue  # it is for another system or Python, or is an extra that is not installed
        for line in found[key].requires or ():
            extra = re.search(r"extra\s*==\s*['\"]([\w-]+)", line)
            if extra is None or (key == "tailrace" and extra[1] in extras):
                wanted.append(re.match(r"[\w.-]+", line)[0])  # type: ignore[index]
    ours = found["tailrace"]
    if not any(file.name == "core.py" and file.parts[0] == "tailrace" for file in ours.files or ()):
        raise PackError(
            "Tailrace is installed in place, from its sources. To fix this, install a copy: make setup, or a wheel"
        )
    return list(found.values())


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the name of who packs it, and readable by all who may use the pack."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
    return member


def _add_program(tar: tarfile.TarFile, name: str, text: str) -> None:
    member = tarfile.TarInfo(f"./{name}")
    member.size, member.mode = len(text.encode()), 0o755
    tar.addfile(member, io.BytesIO(text.encode()))


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(f"./{name}")
    member.type, member.linkname = tarfile.SYMTYPE, target
    tar.addfile(member)


def _elsewhere(inside: set[Path]) -> tuple[Path, ...]:
    """Libraries of this process, with the compiled module, that are neither inside nor of the system."""
    import tailrace.core  # noqa: F401 # loads them

    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ()
    loaded = {Path(line.split(maxsplit=5)[5]) for line in lines if ".so" in line}
    real = {file.resolve() for file in inside}
    system = [Path(name) for name in ("/lib", "/lib64", "/usr/lib", "/usr/lib64")]
    return tuple(
        sorted(one for one in loaded if one not in real and not any(one.is_relative_to(folder) for folder in system))
    )
