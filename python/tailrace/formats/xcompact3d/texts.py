"""Texts of Xcompact3D: XDMF of a snapshot, `input.i3d`, `restart.info`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from tailrace.core import InputError
from tailrace.grids import Triple, UniformGrid
from tailrace.io.values import Attribute

from .run import BETAS, KINDS, STRETCHINGS, Xcompact3dRun, stretched

_CODES = {name: code for code, name in KINDS.items()}


@dataclass
class WrittenRun:
    """The known data of a run that is written. `every`: ioutput: time steps between two numbers of files."""

    run: Xcompact3dRun
    every: int
    attributes: dict[str, Attribute]
    scalars: int = 0
    last: int = 0
    notes: list[str] = field(default_factory=list)


def run_of(path: Path, grid: UniformGrid | None, points: Triple, attributes: Mapping[str, Attribute]) -> Xcompact3dRun:
    """A run with this grid. Raises InputError if Xcompact3D cannot have such a grid."""
    grid = grid or UniformGrid(points)
    if any(abs(start) > 1e-6 * step for start, step in zip(grid.origin, grid.spacing, strict=True)):
        raise InputError(
            f"{path}: grids of Xcompact3D begin at 0; found the origin {grid.origin}. Convert the whole box, or to "
            "another format"
        )
    ends, lengths = None, tuple(step * max(1, n - 1) for step, n in zip(grid.spacing, points, strict=True))
    kinds = grid.boundaries or tuple(str(attributes.get("boundaries", "")).split(","))
    known: Any = attributes.get("lengths")
    codes = tuple(_codes(kind) for kind in kinds)
    if len(codes) == 3 and all(codes):
        cells = [n if kind == "periodic" else max(1, n - 1) for n, kind in zip(points, kinds, strict=True)]
        box = tuple(step * n for step, n in zip(grid.spacing, cells, strict=True))
        if not isinstance(known, list | tuple) or len(known) != 3:
            known = box
        if all(math.isclose(a, float(b), rel_tol=1e-6) for a, b in zip(box, known, strict=True)):
            ends, lengths = tuple((code[0], code[-1]) for code in codes), tuple(map(float, known))
    x, y, z = lengths
    run = Xcompact3dRun(path / "input.i3d", points, (x, y, z), ends)
    return replace(run, y=_places(path, grid, run, attributes))


def _codes(kind: str) -> list[int]:
    """The numbers of a boundary, for one end or for both; empty if Xcompact3D has no such boundary."""
    parts = kind.split("|")
    return [_CODES[part] for part in parts] if len(parts) < 3 and all(part in _CODES for part in parts) else []


def with_istret(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes, with Xcompact3D's number of a stretching."""
    numbers = {name: number for number, name in STRETCHINGS.items()}
    stretching = attributes.get("stretching")
    return dict(attributes) | (
        {"istret": numbers[stretching]} if isinstance(stretching, str) and stretching in numbers else {}
    )


def _places(
    path: Path, grid: UniformGrid, run: Xcompact3dRun, attributes: Mapping[str, Attribute]
) -> tuple[float, ...]:
    """The coordinates in y, which must follow Xcompact3D's own stretching."""
    x, y, z = grid.uneven
    if len(x) or len(z):
        raise InputError(f"{path}: Xcompact3D stretches grids in y only; found places in {'x' if len(x) else 'z'}")
    if not len(y):
        return ()
    length, kind, beta = run.lengths[1], attributes.get("istret"), attributes.get("beta")
    if kind in (1, 2, 3) and isinstance(beta, float) and BETAS[0] <= beta <= BETAS[1]:
        own = stretched(len(y), run.cells[1], length, int(kind), beta)
        if all(abs(a - b) <= 1e-6 * length for a, b in zip(own, y, strict=True)):
            return tuple(float(place) for place in y)
    raise InputError(
        f"{path}: Xcompact3D stretches y by its own law only, with the attributes stretching (or istret = 1, 2 or "
        f"3) and beta; found istret = {kind} and beta = {beta}, which do not give the places of the points. Convert to "
        "another format"
    )


def input_text(written: WrittenRun) -> str:
    """An `input.i3d` with the known values; comments stand for unknown ones."""
    run, attributes = written.run, written.attributes
    lines = ["! Written by Tailrace with what its source says", *(f"! {note}" for note in written.notes), "&BasicParam"]
    lines += _line("itype", attributes.get("itype", 2 if attributes.get("flow") == "taylor-green" else 0))
    lines += ["p_row = 0", "p_col = 0"]
    lines += [f"{key} = {n}" for key, n in zip(("nx", "ny", "nz"), run.points, strict=True)]
    lines += [f"istret = {attributes['istret'] if run.y else 0}"] + (_line("beta", attributes["beta"]) if run.y else [])
    lines += [f"{key} = {length!r}" for key, length in zip(("xlx", "yly", "zlz"), run.lengths, strict=True)]
    if run.ends is None:
        lines.append("! nclx1, nclxn, ... are not known: 0 periodic, 1 free-slip, 2 Dirichlet")
    for axis, (low, high) in zip("xyz", run.ends or (), strict=False):
        lines += [f"ncl{axis}1 = {low}", f"ncl{axis}n = {high}"]
    if "reynolds_tau" in attributes:
        lines += ["cpg = T", *_line("re", attributes["reynolds_tau"])]
    else:
        lines += _line("re", attributes.get("reynolds"))
    lines += _line("dt", run.dt)
    lines += ["ifirst = 1", f"ilast = {max(1, written.last)}", f"numscalar = {written.scalars}"]
    lines += ["ilmn = T"] * run.density + ["mhd_active = T"] * run.induction + ["/End", "&NumOptions"]
    lines += ["ifirstder = 4", "isecondder = 4", f"itimescheme = {run.scheme}", "/End", "&InOutParam"]
    lines += [
        "irestart = 0",
        f"icheckpoint = {max(1, written.last)}",
        f"ioutput = {written.every}",
        "nvisu = 1",
        "/End",
    ]
    return "\n".join([*lines, *_model_lines(written), "&Statistics", "/End", "&CASE", "/End", ""])


def _model_lines(written: WrittenRun) -> list[str]:
    """The groups of scalars, low-Mach-number flow and magnetohydrodynamics, if the run has them."""
    lines, sc = [], written.attributes.get("sc")
    if written.scalars:
        numbers: list[Any] = list(sc) if isinstance(sc, list | tuple) else [sc]
        known = len(numbers) == written.scalars and all(isinstance(one, int | float) for one in numbers)
        schmidt = (
            f"sc = {', '.join(repr(float(one)) for one in numbers)}"
            if known
            else "! sc, the Schmidt numbers, are not known"
        )
        lines += ["&ScalarParam", schmidt, "/End"]
    if written.run.density:
        lines += ["&LMN", "! dens1, dens2, prandtl and the other numbers of this flow are not known", "/End"]
    if written.run.induction:
        lines += ["&MHDParam", "mhd_equation = 'induction'", "! the other numbers of this flow are not known", "/End"]
    return lines


def _line(key: str, value: Attribute | None) -> list[str]:
    if value is None:
        return [f"! {key} is not known"]
    return [f"{key} = {float(value)!r}" if isinstance(value, float) else f"{key} = {value}"]


def info_text(run: Xcompact3dRun, index: int, time: float) -> str:
    """A `restart.info`; numbers with all their digits."""
    bar = "!========================="
    istret, beta = dict(run.attributes).get("istret", 0), dict(run.attributes).get("beta", 0.0)
    names = [("nx", run.points[0]), ("ny", run.points[1]), ("nz", run.points[2])]
    names += [(key, length) for key, length in zip(("Lx", "Ly", "Lz"), run.lengths, strict=True)]  # type: ignore[misc]
    names += [("istret", istret), ("beta", beta), ("iscalar", int(run.scalars > 0)), ("numscalar", run.scalars)]  # type: ignore[list-item]
    names += [("itimescheme", run.scheme), ("iimplicit", 0)]
    rows = [bar, "&Time", bar, f"tfield= {time!r}", f"itime= {index}", "/End", bar, "&NumParam", bar]
    return "\n".join([*rows, *(f"{key}= {value!r}" for key, value in names), "/End", bar, ""])


def xdmf_text(grid: UniformGrid, number: int, time: float, fields: Mapping[str, int]) -> str:
    """The XDMF file of a snapshot: that of Xcompact3D with its time, and in a form that every reader of XDMF takes.

    Xcompact3D's own, where the grid refers to a topology outside, makes XDMF 3 abort ParaView.

    :param fields: name -> bytes of a real number.
    """
    shape = " ".join(str(n) for n in reversed(grid.points))
    own = grid.uneven
    rows = ['<?xml version="1.0" ?>', '<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>']
    rows += ['<Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">', "<Domain>"]
    rows += [f'    <Grid Name="{number}" GridType="Uniform">', f'        <Time Value="{time!r}"/>']
    kind = "3DRectMesh" if any(map(len, own)) else "3DCoRectMesh"
    rows += [f'        <Topology TopologyType="{kind}" Dimensions="{shape}"/>']
    if any(map(len, own)):
        rows.append('        <Geometry GeometryType="VXVYVZ">')
        for n, start, step, places in zip(grid.points, grid.origin, grid.spacing, own, strict=True):
            along = [float(one) for one in places] or [start + step * i for i in range(n)]
            rows += [f'        <DataItem Dimensions="{n}" NumberType="Float" Precision="8" Format="XML">']
            rows += [f"        {' '.join(map(repr, along))}", "        </DataItem>"]
    else:
        rows.append('        <Geometry GeometryType="ORIGIN_DXDYDZ">')
        for comment, three in (("Origin", grid.origin), ("DxDyDz", grid.spacing)):
            rows += [f"        <!-- {comment}: z y x -->"]
            rows += ['        <DataItem Format="XML" NumberType="Float" Precision="8" Dimensions="3">']
            rows += [f"        {' '.join(repr(float(one)) for one in reversed(three))}", "        </DataItem>"]
    rows.append("        </Geometry>")
    for name, width in fields.items():
        rows += [f'        <Attribute Name={quoteattr(name)} AttributeType="Scalar" Center="Node">']
        rows += ['           <DataItem Format="Binary"']
        rows += [f'            DataType="Float" Precision="{width}" Endian="Little" Seek="0"']
        rows += [f'            Dimensions="{shape}">', f"              ././{name}-{number}.bin"]
        rows += ["           </DataItem>", "        </Attribute>"]
    return "\n".join([*rows, "    </Grid>", "</Domain>", "</Xdmf>", ""])
