"""The small text files of a data directory that readers of the Pencil Code need."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tailrace.files.regular import is_there, open_regular
from tailrace.files.whole import write_text
from tailrace.grids import Triple
from tailrace.io.values import Attribute

from .target import PARTIAL

_STRATEGY = re.compile(r"(\bIO_STRATEGY\s*=\s*)'([^']*)'", re.IGNORECASE)
_COLLECTIVE = re.compile(r"(\bLCOLLECTIVE_IO\s*=\s*)[TF]\b", re.IGNORECASE)
_GEOMETRY = re.compile(  # what describes the whole box of a run: a key and its values, up to the next key
    r"(?<![\w%])(?:XYZ[01]|LXYZ|LPERI|LSHIFT_ORIGIN(?:_LOWER)?|LEQUIDIST|BC[XYZ])(?:\(\d+\))?\s*="
    r"[^=]*?(?=\b[A-Za-z_][\w%]*(?:\([^()]*\))?\s*=|/\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_COUNTER = re.compile(r"^ ?n\w+=[1-9]\d*$")  # numbers of averages and the like: "nnamez=4"


def write_new(path: Path, text: str) -> None:
    """Write a file, unless it exists."""
    if is_there(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text, ending=PARTIAL)


def dim(points: Triple, ghosts: int, real: str, counts: Mapping[str, int]) -> str:
    """`dim.dat`."""
    sizes = [*(n + 2 * ghosts for n in points), counts["mvar"], counts["maux"], counts["mglobal"]]
    processes = [counts["nprocx"], counts["nprocy"], counts["nprocz"], 1]
    lines = [_row(sizes, 7), "S" if real == "f4" else "D", _row([ghosts] * 3, 5), _row(processes, 5)]
    return "".join(line + "\n" for line in lines)


def _row(values: Sequence[int], width: int) -> str:
    return "".join(f"{value:{width}d}" for value in values)


def index(fields: Sequence[str], source: str = "") -> str:
    """`index.pro`: the positions of the fields, and the counters of the source.

    :param source: the `index.pro` of the source, or "".
    """
    counters = [f" {line.strip()}" for line in source.splitlines() if _COUNTER.match(line.rstrip())]
    others = [f" {line.strip()}" for line in source.splitlines() if re.match(r"^ ?npscalar=[1-9]\d*$", line.rstrip())]
    lines = [f" i{name}={at}" for at, name in enumerate(fields, 1)]
    lines += [line for line in counters if line not in others] + others
    return "".join(line + "\n" for line in lines)


def names(fields: Sequence[str]) -> str:
    """`varname.dat`: the numbers of the fields, and their names as vectors and components, ux is uu1."""
    written = [re.sub(r"^([a-z])([xyz])$", lambda m: m[1] * 2 + str("xyz".index(m[2]) + 1), name) for name in fields]
    return "".join(f"{at:4d}  {name:<38}\n" for at, name in enumerate(written, 1))


def parameters(source: str, periodic: str | None = None) -> str:
    """The `param.nml` of the source, changed to the storage of the new files; a short one if the source has none.

    :param periodic: the periodic directions of a new box, or ""; None: the box is that of the source.
    """
    new = "" if periodic is None else f" LPERI= {', '.join('FT'[axis in periodic] for axis in 'xyz')},\n"
    if not source:
        rest = " IO_STRATEGY='HDF5',\n LCOLLECTIVE_IO=T,\n LWRITE_AUX=F,\n LTEMPERATURE_NOLOG=F\n/\n"
        return f"&INIT_PARS\n{new}{rest}"
    if periodic is not None:
        source, found = re.subn(
            r"&INIT_PARS\b[^\S\n]*\n?", f"&INIT_PARS\n{new}", without_box(source), count=1, flags=re.I
        )
        source = source if found else f"&INIT_PARS\n{new}/\n{source}"
    return _COLLECTIVE.sub(r"\1T", _STRATEGY.sub(lambda m: f"{m[1]}'{'HDF5':<{len(m[2])}}'", source))


def without_box(source: str) -> str:
    """The parameters, without those of the box of the run."""
    return _GEOMETRY.sub("", source)


def append_snapshots(path: Path, times: Mapping[str, float]) -> None:
    """Add new snapshots to `varN.list`, which may exist."""
    known = set()
    if path.exists():
        with open_regular(path, encoding="utf-8", errors="replace") as file:
            known = {line.split()[0] for line in file if line.strip()}
    new = [f"{name}   {_fortran(time)}\n" for name, time in times.items() if name not in known]
    if not new:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_regular(path, "a", encoding="utf-8") as file:
        file.write("".join(new))
        file.flush()
        os.fsync(file.fileno())


def _fortran(value: float) -> str:
    """A number in the format e14.8 of Fortran: 0.22667911E+00."""
    if value == 0 or not np.isfinite(value):
        return f"{value:.8E}" if value else "0.00000000E+00"
    digits, exponent = f"{abs(value):.7E}".split("E")
    return f"{'-' if value < 0 else ''}0.{digits.replace('.', '')}E{int(exponent) + 1:+03d}"


def text_of(attributes: Mapping[str, Attribute], name: str) -> str:
    """A text file of the run from an attribute of the source; "" if there is none."""
    value = attributes.get(name, "")
    return value if isinstance(value, str) else ""
