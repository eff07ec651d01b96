"""The data in an `input.i3d` about the files of its run: sizes, grid, times."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.case.document import ConfigError
from tailrace.core import IoError
from tailrace.formats.fortran_numbers import real_of
from tailrace.formats.texts import read_text
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple
from tailrace.io.values import Attribute

from ...case.xcompact3d.namelist import Namelist

MOST_POINTS = 1 << 24  # in a direction
LARGEST = 1e30  # of a length, a Reynolds number
BETAS = (1e-6, 1e6)  # of stretched grids; useful ones are about 1
_MOST_BYTES = 1 << 20  # of a namelist
_CHANNEL = 3  # itype
KINDS = {0: "periodic", 1: "free-slip", 2: "dirichlet"}
STRETCHINGS = {1: "centre", 2: "walls", 3: "bottom"}  # istret: where points in y are close together


@dataclass(frozen=True)
class Xcompact3dRun:
    """A run of Xcompact3D.

    :param source: the input file.
    :param ends: kinds of the boundaries (ncl: 0, 1, 2) at the low and the high end in x, y, z; None if unknown.
    :param y: places of the points in y, of a stretched grid.
    :param ioutput: time steps between two snapshots; None if the number in a name counts time steps.
    :param coarsening: every n-th point is stored, for snapshots and for statistics.
    :param plane: direction (1, 2, 3) over which output is averaged, 0 for none.
    """

    source: Path
    points: Triple
    lengths: tuple[float, float, float]
    ends: tuple[tuple[int, int], ...] | None
    y: tuple[float, ...] = ()
    dt: float | None = None
    ioutput: int | None = None
    coarsening: tuple[int, int] = (1, 1)
    plane: int = 0
    scheme: int = 5
    scalars: int = 0
    density: bool = False
    induction: bool = False
    attributes: tuple[tuple[str, Attribute], ...] = ()

    @property
    def boundaries(self) -> tuple[str, str, str] | None:
        """The kind of each direction; "lower|upper" if the two ends differ."""
        if self.ends is None:
            return None
        x, y, z = (KINDS[low] if low == high else f"{KINDS[low]}|{KINDS[high]}" for low, high in self.ends)
        return x, y, z

    @property
    def cells(self) -> Triple:
        """Cells of the pressure in each direction; with unknown boundaries, as between walls."""
        periodic = [low == 0 for low, _ in self.ends] if self.ends else [False] * 3
        return triple(n if along else max(1, n - 1) for n, along in zip(self.points, periodic, strict=True))

    def shapes(self, step: int) -> list[Triple]:
        """Shapes that fields can have: every `step`-th point, then all; averages have one point in a direction."""
        full = self.points
        thin = triple(-(-n // step) for n in full)
        flat = [triple(1 if at + 1 == self.plane else n for at, n in enumerate(shape)) for shape in (thin, full)]
        return list(dict.fromkeys([*(flat if self.plane else ()), thin, full]))

    def grid(self, shape: Triple, coarsening: int = 1) -> UniformGrid:
        """The grid of one of these shapes; with boundaries if it reaches the end of the box.

        :param coarsening: the `step` of `shapes` that gave the shape.
        """
        steps = [1 if m in (1, n) else coarsening for n, m in zip(self.points, shape, strict=True)]
        x, y, z = (length / cells * step for length, cells, step in zip(self.lengths, self.cells, steps, strict=True))
        whole = all(cells % step == 0 for cells, step in zip(self.cells, steps, strict=True)) and not self.plane
        boundaries = self.boundaries if whole else None
        if self.y and shape[1] > 1:
            coordinates: tuple[tuple[float, ...], ...] = ((), self.y[:: steps[1]], ())
            return StretchedGrid(
                shape,
                spacing=(x, y, z),
                boundaries=boundaries,
                coordinates=coordinates,
            )
        return UniformGrid(shape, spacing=(x, y, z), boundaries=boundaries)

    def step(self, number: int) -> tuple[int, float]:
        """Time step and time of the snapshot with a number in its name."""
        index = number * (self.ioutput or 1)
        return index, index * self.dt if self.dt else float(index)

    def dataset_attributes(self) -> dict[str, Attribute]:
        """Attributes of a Dataset."""
        attributes: dict[str, Attribute] = {"lengths": list(self.lengths), **dict(self.attributes)}
        if self.boundaries:
            attributes["boundaries"] = ",".join(self.boundaries)
        if self.y and attributes.get("istret") in STRETCHINGS:
            attributes["stretching"] = STRETCHINGS[attributes["istret"]]  # type: ignore[index] # a whole number
        return attributes

    def notes(self) -> list[str]:
        """Notes about assumptions."""
        notes = []
        if self.ends is None:
            notes.append(f"{self.source}: has no ncl...: the boundaries are not known; points at both ends are assumed")
        if not self.dt:
            notes.append(f"{self.source}: has no dt: times are numbers of time steps")
        if self.ioutput is None:
            notes.append(f"{self.source}: has no ioutput: the numbers of the files are taken as time steps")
        if dict(self.attributes).get("irestart"):
            notes.append(f"{self.source}: continues an earlier run; times assume that its dt was the same")
        return notes


def find_input_above(directory: Path) -> Path | None:
    """The `input.i3d` in the parent directory, for files in a directory of their own."""
    named = directory.absolute().parent / "input.i3d"
    return named if named.is_file() else None


def find_input(directory: Path) -> Path | None:
    """The input file of a run: `input.i3d`, else the only `.i3d` file."""
    named = directory / "input.i3d"
    if named.is_file():
        return named
    try:
        others = [entry for entry in directory.glob("*.i3d") if entry.is_file()]
    except OSError:
        return None
    return others[0] if len(others) == 1 else None


def read_namelist(path: Path, needed: str) -> Namelist:
    """A namelist file of Xcompact3D. Raises IoError if it is not a namelist, or too large."""
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise IoError(f"{path}: has {size} bytes; expected a namelist of at most {_MOST_BYTES}")
        return Namelist(path, needed)
    except IoError:
        raise
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    except ConfigError as error:
        raise IoError(str(error)) from None


def read_run(path: Path) -> Xcompact3dRun:
    """Read an input file. Raises IoError if it is not a namelist of Xcompact3D, or a value is missing or impossible."""
    nml = read_namelist(path, "BasicParam")
    points = [within(nml, "BasicParam", key, 1, MOST_POINTS) for key in ("nx", "ny", "nz")]
    lengths = [nml.real("BasicParam", key) for key in ("xlx", "yly", "zlz")]
    for key, length in zip(("xlx", "yly", "zlz"), lengths, strict=True):
        if length is not None and not 0 < length < LARGEST:
            nml.reject(f"BasicParam.{key}", f"must be from 0 to {LARGEST:g} (found {length})")
    ends = _ends(nml)
    coarsening = (
        within(nml, "InOutParam", "nvisu", 1, MOST_POINTS, 1),
        within(nml, "Statistics", "nstat", 1, MOST_POINTS, 1),
    )
    ioutput = within(nml, "InOutParam", "ioutput", 1, 1 << 40, 0) if nml.raw("InOutParam", "ioutput") else None
    dt = nml.real("BasicParam", "dt", None)
    if dt is not None and not 0 < dt < math.inf:
        nml.reject("BasicParam.dt", f"must be greater than 0 (found {dt})")
    stretching = within(nml, "BasicParam", "istret", 0, 3, 0)
    scheme = within(nml, "NumOptions", "itimescheme", 1, 9, 5)
    beta = nml.real("BasicParam", "beta", None)
    if stretching and not (beta and BETAS[0] <= beta <= BETAS[1]):
        nml.reject(
            "BasicParam.beta", f"must be from {BETAS[0]:g} to {BETAS[1]:g} for istret = {stretching} (found {beta})"
        )
    plane = within(nml, "InOutParam", "output2D", 0, 3, 0)
    scalars = within(nml, "BasicParam", "numscalar", 0, 99, 0)
    attributes = _attributes(nml, dt, stretching, beta) | _models(nml, scalars)
    refuse_problems(nml)
    y: tuple[float, ...] = ()
    if stretching:
        cells = points[1] - (ends is None or ends[1][0] != 0)
        y = read_places(path.parent / "yp.dat", points[1]) or stretched(points[1], cells, lengths[1], stretching, beta)
    if nml.raw("InOutParam", "filenamedigits"):
        ioutput = 1
    return Xcompact3dRun(
        path, triple(points), (lengths[0], lengths[1], lengths[2]), ends, y, dt, ioutput, coarsening, plane, scheme,
        scalars, "ilmn" in attributes, "mhd_equation" in attributes,
        tuple(attributes.items()),
    )  # fmt: skip


def refuse_problems(nml: Namelist) -> None:
    """Raise an IoError with all problems found so far."""
    if nml.problems:
        raise IoError(str(ConfigError(str(nml.path), nml.problems)))


def within(nml: Namelist, group: str, key: str, least: int, most: int, *default: int) -> Any:
    """A whole number between bounds; any other value adds a problem."""
    value = nml.whole(group, key, *default)
    if value is not None and not least <= value <= most:
        nml.reject(f"{group}.{key}", f"must be from {least} to {most} (found {value})")
        return None
    return value


def _ends(nml: Namelist) -> tuple[tuple[int, int], ...] | None:
    keys = [(f"ncl{axis}1", f"ncl{axis}n") for axis in "xyz"]
    if not any(nml.has("BasicParam", key) for pair in keys for key in pair):
        return None
    ends = [tuple(within(nml, "BasicParam", key, 0, 2) for key in pair) for pair in keys]
    for (low, high), (first, last) in zip(keys, ends, strict=True):
        if None not in (first, last) and (first == 0) != (last == 0):
            nml.reject(f"BasicParam.{low}", f"and {high} must both be 0, periodic, or none (found {first} and {last})")
    return tuple((low, high) for low, high in ends)


def _attributes(nml: Namelist, dt: float | None, stretching: int, beta: float | None) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {}
    reynolds = nml.real("BasicParam", "re", None)
    if reynolds and not abs(reynolds) < LARGEST:
        nml.reject("BasicParam.re", f"must be below {LARGEST:g} (found {reynolds})")
    elif reynolds:
        pressure_driven = nml.raw("BasicParam", "cpg") is True and nml.raw("BasicParam", "itype") == _CHANNEL
        if pressure_driven and reynolds > 0:  # then re is that of the friction velocity
            attributes["reynolds_tau"], reynolds = float(reynolds), (reynolds / 0.116) ** (1 / 0.88)
        attributes["reynolds"] = float(reynolds)
    if dt:
        attributes["dt"] = float(dt)
    for group, key in (
        ("BasicParam", "itype"), ("InOutParam", "ioutput"), ("NumOptions", "itimescheme"), ("InOutParam", "irestart"),
    ):  # fmt: skip
        value = nml.whole(group, key, None)
        if value is not None:
            attributes[key] = value
    if stretching and beta:
        attributes["istret"], attributes["beta"] = stretching, float(beta)
    return attributes


def _models(nml: Namelist, scalars: int | None) -> dict[str, Attribute]:
    """The transported quantities besides the velocity, as attributes that `input_text` writes again."""
    attributes: dict[str, Attribute] = {}
    found = nml.raw("ScalarParam", "sc")
    numbers = found if isinstance(found, list) else [found]
    if scalars and len(numbers) == scalars and all(type(one) in (int, float) and 0 < one < LARGEST for one in numbers):
        attributes["sc"] = [float(one) for one in numbers]
    if nml.raw("BasicParam", "ilmn"):
        attributes["ilmn"] = 1
    if nml.raw("BasicParam", "mhd_active") and nml.raw("MHDParam", "mhd_equation") == "induction":
        attributes["mhd_equation"] = "induction"
    return attributes


def stretched(count: int, cells: int, length: float, kind: int, beta: float) -> tuple[float, ...]:
    """Coordinates of `count` points in a stretched direction.

    The mapping of Cain, Ferziger & Reynolds (1984) as in Laizet & Lamballais (2009), J. Comput. Phys. 228.

    :param cells: the number of cells in `length`: that of the points if the direction is periodic, else one less.
    :param kind: istret: 1 refined in the middle, 2 at both ends, 3 at the low end.
    """
    s = np.arange(count) / max(1, cells)
    half = length / 2
    # (sqrt(half^2 + pi^2 beta^2) - half) / (2 beta half), without the difference
    alpha = math.pi**2 * beta / (2 * half * (math.sqrt(half**2 + (math.pi * beta) ** 2) + half))
    scale = math.sqrt(beta / (alpha * (alpha * beta + 1)))
    slope = math.sqrt((alpha * beta + 1) / (alpha * beta))

    def angle(eta: Any) -> Any:  # atan(slope tan(pi eta)) without a jump
        return np.arctan2(slope * np.sin(np.pi * eta), np.cos(np.pi * eta))

    eta: Callable[[Any], Any] = {1: lambda s: s, 2: lambda s: s - 0.5, 3: lambda s: s / 2 - 0.5}[kind]
    factor = 2 if kind == 3 else 1
    y = factor * scale * (angle(eta(s)) - angle(eta(0.0)))
    return tuple(float(place) for place in y)


def read_places(path: Path, count: int) -> tuple[float, ...]:
    """The first column of a `yp.dat`; () if the file is missing."""
    if not path.is_file():
        return ()
    places = []
    for number, line in enumerate(read_text(path, 200 * count + 4096).split("\n"), 1):
        if line.strip():
            try:
                places.append(real_of(line.split()[0]))
            except ValueError:
                raise IoError(f"{path}: line {number} is {line.strip()[:40]!r}; expected a place in y") from None
    if len(places) != count or not np.all(np.diff(places) > 0):
        raise IoError(
            f"{path}: has {len(places)} places; expected ny = {count} of them, each greater than the one before"
        )
    return tuple(places)
