"""Checkpoints of Nektar++, written from the description of their layout with h5py, zlib and struct only."""

from __future__ import annotations

import base64
import itertools
import struct
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np

NUMBERS = {"Modified_A": 4, "Modified_B": 5, "Modified_C": 6, "Fourier": 9, "ModifiedPyr_C": 8, "GLL_Lagrange": 10}
COUNTS = {  # by counting
    "Segment": lambda a: a,
    "Triangle": lambda a, b: sum(q < b - p for p in range(a) for q in range(b)),
    "Quadrilateral": lambda a, b: a * b,
    "Tetrahedron": lambda a, b, c: sum(q < b - p and r < c - p - q for p, q, r in _triples(a, b, c)),
    "Pyramid": lambda a, b, c: sum(r < c - max(p, q) for p, q, r in _triples(a, b, c)),
    "Prism": lambda a, b, c: sum(r < c - p for p, _, r in _triples(a, b, c)),
    "Hexahedron": lambda a, b, c: a * b * c,
}


def _triples(a: int, b: int, c: int) -> Any:
    return itertools.product(range(a), range(b), range(c))


def row(shape: str, modes: Any, ids: list[int], seed: int, fields: str = "u,v", **more: Any) -> dict[str, Any]:
    """A set of elements as one rank writes it; `modes` is a tuple, or a list with one for each element.

    more: homogeneous, lengths, y, z, s, strips, basis.
    """
    dims = len(modes[0] if isinstance(modes, list) else modes) - more.get("homogeneous", 0)
    each = [COUNTS[shape](*one[:dims]) for one in (modes if isinstance(modes, list) else [modes] * len(ids))]
    planes = (1, len(more.get("z", ())), len(more.get("y", ())))[more.get("homogeneous", 0)]
    values = np.random.default_rng(seed).standard_normal((len(fields.split(",")), sum(each) * planes))
    basis = more.pop("basis", ["Modified_A"] * dims + ["Fourier"] * more.get("homogeneous", 0))
    return {"shape": shape, "modes": modes, "ids": ids, "fields": fields, "values": values, "basis": basis, **more}


def shape_text(one: dict[str, Any]) -> str:
    extra = f"-HomogenousExp{one['homogeneous']}D" if one.get("homogeneous") else ""
    return one["shape"] + extra + ("-Strips" if one.get("strips") else "")


METADATA = (
    "<Metadata><Provenance><NektarVersion>5.3.0</NektarVersion></Provenance>"
    "<Time>0.25</Time><TimeStep>0.01</TimeStep></Metadata>"
)


def xml(rows: list[dict[str, Any]], metadata: str = METADATA, tail: bytes = b"") -> str:
    """The text of a file; `tail` comes after the end of the zlib streams."""
    parts = [f'<?xml version="1.0" encoding="utf-8" ?>\n<NEKTAR>{metadata}\n']
    for one in rows:
        modes = one["modes"]
        text = (
            f"MIXORDER:{','.join(str(n) for many in modes for n in many)}"
            if isinstance(modes, list)
            else f"UNIORDER:{','.join(map(str, modes))}"
        )
        said = {"FIELDS": one["fields"], "SHAPE": shape_text(one), "BASIS": ",".join(one["basis"])}
        if one.get("homogeneous"):
            said["HOMOGENEOUSLENGTHS"] = ",".join(map(repr, one["lengths"]))
            for name in "yzs":
                if one.get(name):
                    said[f"HOMOGENEOUS{name.upper()}IDS"] = ",".join(map(str, one[name]))
        said |= {"NUMMODESPERDIR": text, "ID": ",".join(map(str, one["ids"]))}
        said |= {"COMPRESSED": "B64Z-LittleEndian", "BITSIZE": "64"}
        flat = one["values"].reshape(-1).tolist()
        packed = zlib.compress(struct.pack(f"<{len(flat)}d", *flat)) + tail
        words = " ".join(f'{name}="{value}"' for name, value in said.items())
        text = base64.b64encode(packed + b"\0" * (-len(packed) % 3)).decode()
        parts.append(f"  <ELEMENTS {words}>{text}</ELEMENTS>\n")
    return "".join([*parts, "</NEKTAR>\n"])


def hdf5(path: Path, rows: list[dict[str, Any] | None], version: str = "5.3.0", **changes: Any) -> None:
    """An HDF5 file; None is an empty row. changes: datasets that replace the right ones."""
    mixed = any(one is not None and isinstance(one["modes"], list) for one in rows)
    names: dict[Any, int] = {}
    table, ids, data, orders = [], [], [], []
    planes: dict[str, list[int]] = {"y": [], "z": [], "s": []}
    with h5py.File(path, "w") as file:
        root = file.create_group("NEKTAR")
        root.attrs["FORMAT_VERSION"] = np.uint32(1)
        root.create_group("Metadata").attrs["Time"] = "0.25"
        root["Metadata"].attrs["TimeStep"] = "0.01"
        root.create_group("Metadata/Provenance").attrs["NektarVersion"] = version
        for one in rows:
            if one is None:
                table += [0] * 7
                continue
            dims = len(one["basis"])
            modes = one["modes"] if isinstance(one["modes"], list) else [one["modes"]] * len(one["ids"])
            key = (one["fields"], shape_text(one), tuple(one["basis"]), () if mixed else one["modes"])
            if key not in names:
                names[key] = 17 + 1000003 * len(names)
                group = root.create_group(str(names[key]))
                group.attrs["FIELDS"] = one["fields"].split(",")
                group.attrs["BASIS"] = np.array([NUMBERS[b] for b in one["basis"]], np.int32)
                group.attrs["SHAPE"] = shape_text(one)
                uniform = "MIXORDER" if mixed else f"UNIORDER:{','.join(map(str, one['modes']))}"
                group.attrs["NUMMODESPERDIR"] = uniform
                if one.get("homogeneous"):
                    group.attrs["HOMOGENEOUSLENGTHS"] = np.array(one["lengths"], float)
            counts = [len(one.get(name, ())) for name in "yzs"]
            order = len(one["ids"]) * dims if mixed else 0
            table += [len(one["ids"]), one["values"].size, order, *counts, names[key]]
            ids += one["ids"]
            data += one["values"].reshape(-1).tolist()
            orders += [n for many in modes for n in many] if mixed else []
            for name in "yzs":
                planes[name] += one.get(name, [])
        made = {
            "DECOMPOSITION": np.array(table, "<u8"),
            "ELEMENTIDS": np.array(ids, "<u4"),
            "DATA": np.array(data, "<f8"),
        }
        if orders:
            made["POLYORDERS"] = np.array(orders, "<u4")
        made |= {f"HOMOGENEOUS{n.upper()}IDS": np.array(found, "<u4") for n, found in planes.items() if found}
        for name, values in (made | changes).items():
            root.create_dataset(name, data=values)
