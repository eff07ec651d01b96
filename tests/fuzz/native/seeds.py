"""Small files of our own writers, and samples, as inputs of the native fuzzers.

    python tests/fuzz/native/seeds.py DIRECTORY

DIRECTORY gets one directory for each fuzzer, as sion for fuzz_sion. An input is some files, see files.hpp.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

import tailrace as tr
from tailrace.io.series import StretchedGrid

FUZZ = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FUZZ))
import small_files  # noqa: E402 # found by the line above

DATA = FUZZ.parent / "data"
MOST_NAME = 40  # of files.cpp
PREFIX = len('["0123456789abcdef",')  # the checksum before the object of a line of series.jsonl


def pack(files: Mapping[str, bytes]) -> bytes:
    """The files as one input."""
    return b"".join(
        bytes([len(name)]) + name.encode() + struct.pack("<I", len(text)) + text for name, text in files.items()
    )


def series(folder: Path, engine: str, parameters: Mapping[str, object]) -> dict[str, bytes]:
    """The files of a series of two steps with arrays, a list, scalars and attributes."""
    grid = StretchedGrid((4, 3, 5), (0.0, 0.0, 0.0), (0.5, 0.5, 0.25), ((), (0.0, 0.25, 1.0), ()))
    with tr.open(folder, "w", engine=engine, parameters=dict(parameters), grid=grid) as out:
        out.set_attribute("title", "a sound series")
        out.set_attribute("numbers", [0.5, float("inf")])
        for index in (1, 3):
            out.begin_step(index, 0.5 * index)
            out.write("f", np.arange(60.0).reshape(5, 3, 4) + index)
            out.write("n", np.arange(6, dtype=np.int32).reshape(1, 2, 3))
            out.write_list("rows", np.arange(7.0) + index)
            out.write_scalar("energy", 0.125 * index)
            out.write_scalar("name", "a")
            out.end_step()
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def sion(folder: Path) -> list[dict[str, bytes]]:
    """Containers of SIONlib, of other layouts, and of ours."""
    small_files.sion(folder)
    small = [path for path in sorted([*folder.iterdir(), *(DATA / "sion").iterdir()]) if path.suffix == ".sion"]
    seeds = []
    for path in small:
        second = path.with_name(f"{path.name}.000001")
        files = [file for file in (path, second) if file.exists()]
        if sum(file.stat().st_size for file in files) <= small_files.MOST_BYTES:
            seeds.append({f"x.sion{file.name[len(path.name) :]}": file.read_bytes() for file in files})
    for chunk in (64, 300):
        ours = series(folder / f"chunks-{chunk}", "sion", {"chunk_bytes": chunk, "block_bytes": 4})
        seeds.append({"x.sion": next(text for name, text in ours.items() if name.endswith(".sion"))})
    return seeds


def sidecar(folder: Path) -> list[dict[str, bytes]]:
    """Series of the engines that keep a sidecar. Its lines are without checksums, which the fuzzer adds."""
    kinds: list[tuple[str, dict[str, object]]] = [
        ("raw", {}),
        ("raw", {"strategy": "dist"}),
        ("raw", {"strategy": "dist", "blocks": "table"}),
        ("raw", {"strategy": "collect"}),
        ("mpiio", {}),
        ("mpiio", {"collect_bytes": 0}),
        ("sion", {}),
        ("sion", {"chunk_bytes": 100, "block_bytes": 8}),
    ]
    seeds = []
    for number, (engine, parameters) in enumerate(kinds):
        files = series(folder / str(number), engine, parameters)
        lines = files["series.jsonl"].splitlines()
        files["series.jsonl"] = b"".join(line[PREFIX:-1] + b"\n" for line in lines)
        seeds.append({name: text for name, text in files.items() if not name.endswith(".xdmf")})
    return seeds


def bp(folder: Path) -> list[dict[str, bytes]]:
    """What Tailrace reads of BP4 and BP5. The record is without its checksum, which the fuzzer adds."""
    seeds = []
    for engine in ("bp4", "bp5"):
        files = series(folder / engine, engine, {})
        files["tailrace.json"] = json.dumps(
            json.loads(files["tailrace.json"])["record"], separators=(",", ":")
        ).encode()
        # The fuzzer reads the length of the large files only.
        files |= {name: text[:64] for name, text in files.items() if name.startswith("data.")}
        seeds += [files, {"md.idx": files["md.idx"], "md.0": files["md.0"]}]
        if engine == "bp4":  # engine: it has no mmd.0
            seeds[-1]["data.0"] = files["data.0"]
    return seeds


def journal(_folder: Path) -> list[dict[str, bytes]]:
    """Files with the journals that killed writers left."""
    before, after = b"head----data----tail", b"HEAD----data----TAIL-and-more"
    saved = b"".join(struct.pack("<qq", at, 4) + before[at : at + 4] + after[at : at + 4] for at in (0, 16))
    seeds = []
    for changes, end, text in ((1, -1, b""), (2, len(before), saved), (3, len(before), saved[:24])):
        header = struct.pack("<8s256sqqqqq200sQ", b"tlracej3", b"host", 1, 2, changes, end, len(text), b"", 0)
        seeds += [{"x.h5": file, "x.h5.journal": header + text} for file in (before, after, before[:2] + after[2:])]
    return [*seeds, {"x.h5": before, "x.h5.journal": bytes(600)}]


def hdf5(folder: Path) -> list[dict[str, bytes]]:
    """Parts of a series in HDF5. The fuzzer puts them, changed, into a sound one; their names say how, see it."""
    with tr.open(folder / "x.h5", "w", grid=StretchedGrid((4, 3, 5))) as out:
        for index in (1, 3):
            out.begin_step(index, 0.25 * index)
            out.write("u", np.zeros((5, 3, 4)))
            out.write_list("rows", np.zeros((7, 2)))
            out.write_scalar("energy", 0.5)
            out.end_step()
    seeds: list[dict[str, bytes]] = [{}]

    def add(place: str, value: object, dataset: bool) -> None:
        kind, found = "t" if dataset else "T", np.asarray(value)
        text = b"" if found.dtype.kind in "if" else bytes(found.ravel()[0])
        if found.dtype.kind in "if":
            kind = {"i": "Ai", "f": "Bf"}[found.dtype.kind][dataset]
            text = found.astype(f"{found.dtype.kind}8").ravel()[:64].tobytes()
        text = text[PREFIX:-1] if text.startswith(b'["') else text
        name = kind + place.strip("/").replace("/", "-")
        seeds.append({name: text})
        if dataset:
            seeds.append({"e" + name[1:]: np.array(found.shape, dtype=np.int64).tobytes(), "x" + name[1:]: b""})

    def visit(place: str, item: h5py.Dataset | h5py.Group) -> None:
        for name, value in item.attrs.items():
            add(f"{place}/{name}", value.encode() if isinstance(value, str) else value, False)
        if isinstance(item, h5py.Dataset):
            add(place, item[()], True)

    with h5py.File(folder / "x.h5") as file:
        file.visititems(visit)
    return seeds[:1] + [seed for seed in seeds if all(len(name) < MOST_NAME for name in seed) and seed]


def texts(_folder: Path) -> list[dict[str, bytes]]:
    """Descriptions of all kinds."""
    contact = {
        "host": "h",
        "process": 1,
        "begun": 2,
        "version": 1,
        "port": 4000,
        "token": "t",
        "addresses": ["127.0.0.1"],
    }
    kinds = {
        "attributes": {
            "a": "b",
            "n": 1,
            "x": 0.5,
            "i": [1, 2],
            "y": [0.5, {"real": "inf"}],
            "z": {"real": "nan"},
            "e": None,
        },
        "scalars": {"a": "b", "n": 1, "x": 0.5, "z": {"real": "-inf"}},
        "grid": {"points": [2, 2, 3], "origin": [0, 0, 0.5], "spacing": [1, 1, 1], "coordinates": [[], [0, 1.5], []]},
        "lists": {"rows": {"type": "float64", "columns": 3, "rows": 7}},
        "blocks": {"blocks": [[0, 0, 0, 0, 0, 2, 4, 5], [1, 8, 2, 0, 0, 1, 4, 5]]},
        "x.sst.writer": contact | {"hosts": ["127.0.0.1"], "listens": "127.0.0.1", "listens_at": 4001},
    }
    return [
        {name: json.dumps(value, separators=(",", ":")).encode()} | ({"x.sst": b"0"} if "sst" in name else {})
        for name, value in kinds.items()
    ]


def main() -> int:
    """Write the inputs of all fuzzers."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    for make in (sion, sidecar, bp, journal, hdf5, texts):
        target = Path(sys.argv[1]) / make.__name__
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="tailrace-seeds-") as folder:
            for number, files in enumerate(make(Path(folder))):
                (target / f"seed-{number}").write_bytes(pack(files))
        print(f"{target}: {len(list(target.iterdir()))} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
