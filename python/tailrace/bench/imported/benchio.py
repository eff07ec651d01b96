"""The output of benchio of EPCC.

Source of the format: benchio.F90 and benchio_fpp.F90 of https://github.com/EPCCed/benchio, and benchio.f90 of
https://github.com/davidhenty/benchio, which also tells the nodes. All write a three-dimensional array of double
precision with a halo of one point, which is not written, and time it from one barrier to the next. They only write, and
do not wait for the disk. Compilers differ in blanks and line ends of what these programs print.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from math import inf, prod
from pathlib import Path

from ..records.records import Cell, End, Measurement, Record, Run
from .foreign import ForeignError, read_bytes, run_name, text_of, version

MARK = "Simple Parallel IO benchmark"
_FINISHED = re.compile(r"-{8}\s{1,20}Finished\s{1,20}-{8}")
_THREE = r"\s{0,40}\(" + r"\s{0,40},".join([r"\s{0,40}(\d{1,12})"] * 3) + r"\s{0,40}\)"
_RANKS = re.compile(r"Running on\s{1,40}(\d{1,12})\s{1,40}process")
_NODES = re.compile(r"Running on\s{1,40}(\d{1,12})\s{1,40}node")
_HOST = re.compile(r"Node number\s{1,40}\d{1,12}\s{1,40}is\s{1,40}(\S{1,255})\s{1,40}with")
_GRID = re.compile(r"Process grid is" + _THREE)
_WHOLE = re.compile(r"Global size is" + _THREE)
_STEP = re.compile(  # a title, the name of a file, or a time
    r"(?<!-)-{6}[ \t]{0,99}\n[ \t]{0,99}(?P<title>(?!-)\S[^\n]{0,99})\n[ \t]{0,99}-{6}(?!-)"
    r"|Writing to\s{1,40}(?P<file>\S{1,255})"
    r"|(?<![A-Za-z])time =\s{0,40}(?P<seconds>[-+.\dEeDd]{1,40})\s{0,40},\s{0,40}rate ="
)
_VARIANTS = {"Proc": "file per process", "File per process": "file per process", "Node": "file per node"}
_VALUE = 8  # bytes of double precision


def read_benchio(path: Path) -> list[Record]:
    """The records of one or several outputs of benchio: a run, a measurement for each time, and the end.

    Further times of the same variant are further rounds. If the text does not have the number of nodes, it is 0.

    :raises ForeignError: the text is not from benchio, or has no time.
    """
    content = read_bytes(path)
    parts = text_of(content, path).replace("\r\n", "\n").split(MARK)[1:]
    if not parts:
        raise ForeignError(f'{path}: expected what benchio prints, with the line "{MARK}", found none')
    name = run_name("benchio", content)
    measured: list[Measurement] = []
    rounds: Counter[Cell] = Counter()
    hosts: list[str] = []
    for number, part in enumerate(parts, 1):
        hosts += _HOST.findall(part)
        for cell, seconds in _times(part, _setting(part, f"{path}: output {number} of benchio"), path):
            rounds[cell] += 1
            measured.append(Measurement(cell, rounds[cell], seconds, prod(cell.shape) * _VALUE, run=name))
    if not measured:
        raise ForeignError(f'{path}: expected lines "time = SECONDS , rate = ..." of benchio, found none')
    records: list[Record] = [_run(name, measured, hosts, path), *measured]
    if all(_FINISHED.search(part) for part in parts):
        records.append(End(name, ""))
    return records


def _run(name: str, measured: list[Measurement], hosts: list[str], path: Path) -> Run:
    directories = {one.cell.directory: {"path": one.cell.directory} for one in measured if one.cell.directory}
    machine = {"host": ", ".join(dict.fromkeys(hosts))} if hosts else {}
    notes = [f"imported from {path.name}, a text of benchio, which tells neither its command nor the time of day"]
    if any(not one.cell.nodes for one in measured):
        notes.append("the text does not tell the number of nodes")
    return Run(name, "", "", version(), dict(machine), {}, directories, notes)


@dataclass(frozen=True)
class _Setting:
    cell: Cell
    title: str = ""
    file: str = ""

    def named(self) -> Cell:
        """The cell of the times that follow."""
        variant = _VARIANTS.get(self.title, self.title)
        place = str(Path(self.file).parent)
        return replace(self.cell, name=f"benchio {variant}", directory="" if place == "." else place)


def _setting(part: str, where: str) -> _Setting:
    """Read the head of an output. Its amount of data is not used, because it overflows in large runs.

    :raises ForeignError: the head is not whole.
    """
    ranks, grid, shape = (pattern.search(part) for pattern in (_RANKS, _GRID, _WHOLE))
    for found, line in (
        (ranks, "Running on ... process(es)"),
        (grid, "Process grid is (...)"),
        (shape, "Global size is (...)"),
    ):
        if found is None:
            raise ForeignError(f'{where}: expected the line "{line}", found none')
    assert ranks and grid and shape
    nodes = _NODES.search(part)
    cell = Cell(
        bench="io",
        operation="write",
        name="",
        ranks=int(ranks[1]),
        nodes=int(nodes[1]) if nodes else 0,
        decomposition=tuple(map(int, grid.groups())),
        shape=tuple(map(int, shape.groups())),
        halo=1,
        cache="page cache",
        source="synthetic",
    )
    if min(cell.ranks, *cell.decomposition, *cell.shape) < 1:
        raise ForeignError(f"{where}: expected numbers of processes and sizes above 0, found 0")
    return _Setting(cell)


def _times(part: str, setting: _Setting, path: Path) -> list[tuple[Cell, float]]:
    times = []
    for step in _STEP.finditer(part):
        if step["title"]:
            setting = replace(setting, title=step["title"].strip(), file="")
        elif step["file"]:
            setting = replace(setting, file=step["file"])
        else:
            if not (setting.title and setting.file):
                raise ForeignError(f'{path}: expected the way and "Writing to FILE" before each time, found a time')
            seconds = _seconds(step["seconds"], str(path))
            if not 0 < seconds < inf:
                raise ForeignError(f"{path}: expected times above 0 s, found {seconds} s")
            times.append((setting.named(), seconds))
    return times


def _seconds(said: str, where: str) -> float:
    try:
        return float(said.upper().replace("D", "E"))
    except ValueError:
        raise ForeignError(f"{where}: expected a number, found {said!r}") from None
