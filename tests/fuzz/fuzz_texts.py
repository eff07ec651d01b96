"""Damage texts that people and programs write, and read them: cases, inputs, grids, time series, records of streams.

    python tests/fuzz/fuzz_texts.py --cases 50000

A text is damaged byte by byte, or by tokens: extreme numbers, other types, deep nesting, keys twice, odd letters. Only
the errors that the readers promise may come, with a message that fits on a screen.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import campaign
from damages import damage

import tailrace as tr
from tailrace.case.case import load_case
from tailrace.case.xcompact3d.input import read_input
from tailrace.inspection.contents import verify
from tailrace.io.time_series import last_step, read_time_series, rewind
from tailrace.steps.grid_file import read_grid_file

ALLOWED = (tr.Error, OSError, ValueError)  # ConfigError, TimeSeriesError and the like are ValueErrors
LONGEST = 20_000  # letters of a message

CASE = """
[case]
name = "small"
flow = "taylor-green"
reynolds = 100.0
[grid]
points = [8, 9, 10]
lengths = ["2*pi", "2*pi", 1.5]
boundaries = ["periodic", "free-slip", "periodic"]
[time]
scheme = "rk3"
dt = 0.02
steps = 6
[numerics]
precision = "double"
[diagnostics]
every = 2
[checkpoint]
every = 3
keep = 2
[[output]]
name = "h5"
fields = ["ux", "uy"]
every = 2
engine = "hdf5"
path = "run.h5"
[output.parameters]
compression = "gzip"
[[output]]
name = "plane"
fields = ["ux"]
interval = 0.1
engine = "raw"
path = "plane"
count = [0, 0, 1]
[[analysis]]
script = "enstrophy"
every = 2
"""
INPUT = """
&BasicParam
itype = 2
p_row = 0
p_col = 0
nx = 33
ny = 33
nz = 33
istret = 0
xlx = 3.14159265358979
yly = 3.14159265358979
zlz = 3.14159265358979
nclx1 = 1
nclxn = 1
ncly1 = 1
nclyn = 1
nclz1 = 1
nclzn = 1
re = 1600.
dt = 0.001
ifirst = 1
ilast = 1000
inflow_noise = 0.0
iin = 1
ilesmod = 1
numscalar = 1
/End
&NumOptions
ifirstder = 4
isecondder = 4
itimescheme = 3
iimplicit = 2
/End
&ScalarParam
sc(1) = 0.7
nclyS1 = 1
/End
&LESModel
jles = 2
walecst = 0.5
iconserv = 0
/End
&InOutParam
irestart = 0
icheckpoint = 500
ioutput = 500
nvisu = 1
/End
"""
GRID = """
reynolds = 1600.0
[grid]
points = [8, 9, 10]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "periodic", "free-slip"]
[variables]
ux = "u"
[time]
dt = 0.001
"""
SERIES = "# Tailrace time series\n# a run\nstep,time,energy\n0,0,1.5\n2,0.04,1.25\n4,0.08,1\n6,0.12,0.75\n"
TOKENS = (
    "1e999", "-1e999", "5e-324", "-1", "0", "99999999999999999999999", "nan", "inf", "true", '""', "[]", "{}", "[[]]",
    '"2*pi*" ', '"1/0"', '"9**9**9**9"', '"\\u0000"', '"../../etc/passwd"', '"/dev/zero"', "1979-05-27", "'''", '"""',
    "\ud800", "\u202e", "=", "[", "]", "\n[case]\n", "#", "\0", ",,,", "&End", "/", "1.0.0", "0x7fffffffffffffff",
)  # fmt: skip


def mutate(text: str, dice: random.Random) -> bytes:
    """A damaged text."""
    if dice.random() < 0.3:
        return damage(text.encode(), dice)
    for _ in range(dice.choice((1, 1, 2, 4))):
        lines = text.split("\n")
        at = dice.randrange(len(lines))
        line = lines[at]
        match dice.randrange(7):
            case 0 if "=" in line:
                lines[at] = line.partition("=")[0] + "= " + dice.choice(TOKENS)
            case 1:
                lines.insert(at, line)
            case 2:
                del lines[at]
            case 3:
                place = dice.randrange(len(line) + 1)
                lines[at] = line[:place] + dice.choice(TOKENS) + line[place:]
            case 4:
                depth = dice.choice((3, 100, 5000, 100_000))
                opened, closed = dice.choice((("[", "]"), ("{a=", "}"), ("(", ")")))
                lines[at] = line.partition("=")[0] + "= " + opened * depth + closed * dice.choice((0, depth))
            case 5:
                other = dice.randrange(len(lines))
                lines[at], lines[other] = lines[other], line
            case _:
                words = line.replace(",", " , ").split(" ")
                words[dice.randrange(len(words))] = dice.choice(TOKENS)
                lines[at] = " ".join(words)
        text = "\n".join(lines)
    return text.encode("utf-8", "surrogatepass")


def _read_table(path: Path) -> None:
    read_time_series(path)
    last_step(path)
    rewind(path, 3)


def _read_override(path: Path) -> None:
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    load_case(path.with_name("sound.toml"), [line for line in lines if "=" in line][:3])


def _contact(path: Path) -> None:
    record = path.with_name("stream.sst.writer")
    shutil.move(path, record)
    path.with_name("stream.sst").write_bytes(record.read_bytes())
    tr.open(f"sst:{path.with_name('stream')}", parameters={"OpenTimeoutSecs": 0.05, "timeout": 0.1})


def _sidecar(path: Path) -> None:
    folder = path.with_name("series")
    folder.mkdir()
    shutil.move(path, folder / "series.jsonl")
    verify(folder)


RECORD = (
    '{"host": "node7", "process": 12, "begun": "345", "version": 3, "port": 0, "token": "abc", '
    '"addresses": ["127.0.0.1"]}\n'
)
READERS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "case": (CASE, "case.toml", load_case),
    "input": (INPUT, "input.i3d", read_input),
    "grid": (GRID, "grid.toml", read_grid_file),
    "table": (SERIES, "series.csv", _read_table),
    "override": ("time.dt=0.5\ngrid.points=[8,8,8]\noutput[0].path=x.h5\ncase.name=a", "override", _read_override),
    "sidecar": ("", "sidecar", _sidecar),
    "contact": (RECORD, "contact", _contact),
}
RARE = {"contact": 0.02}  # it waits for a writer


class Cases:
    """One case after the other, in a directory of this process."""

    def __init__(self, only: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-fuzz-"))
        self._names = [name for name in READERS if not only or only in name]
        with tr.open(self._folder / "sound", "w", engine="raw") as out:
            out.set_attribute("title", "sound")
            out.write_step(0.0, index=0)
        self._sidecar = (self._folder / "sound" / "series.jsonl").read_text()

    def run(self, seed: int) -> str:
        """One case; what it is follows from the seed alone."""
        dice = random.Random(seed)
        name = dice.choice(self._names)
        if dice.random() >= RARE.get(name, 1.0):
            name = self._names[0]
        text, file, read = READERS[name]
        folder = self._folder / f"case-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "sound.toml").write_text(CASE)
        path = folder / file
        path.write_bytes(mutate(text or self._sidecar, dice))
        try:
            read(path)
        except ALLOWED as error:
            said = str(error)
            if isinstance(error, UnicodeError | tomllib.TOMLDecodeError) or not said or len(said) > LONGEST:
                raise AssertionError(f"{name}: {type(error).__name__} of {len(said)} letters: {said[:300]}") from error
            return f"{name}: refused"
        return f"{name}: read"

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__ or "", Cases))
