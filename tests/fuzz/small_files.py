"""Small directories of files of other programs, each with the files of it that a fuzzer changes."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

PYTHON_TESTS = Path(__file__).resolve().parents[1] / "python"
sys.path.insert(0, str(PYTHON_TESTS))

from helpers.inputs import nektar_files, pencil_data, pencil_runs, xcompact3d_files  # noqa: E402 # found by the line above

MOST_BYTES = 16 << 10  # of a file that is changed


@dataclass(frozen=True)
class Target:
    """A file to change, and what is opened then.

    :param seeds: contents to begin with.
    :param made: the content of the file from the bytes of the fuzzer.
    """

    file: Path
    opened: Path
    seeds: list[bytes]
    parameters: Mapping[str, str] = field(default_factory=dict)
    made: Callable[[bytes], bytes] = bytes


def _target(file: Path, opened: Path | None = None, pattern: str = "", **parameters: str) -> Target:
    """Begin with what the file holds, and the samples of a pattern."""
    samples = Path(os.environ["TAILRACE_SAMPLES"]).glob(pattern) if pattern and "TAILRACE_SAMPLES" in os.environ else ()
    seeds = [path.read_bytes()[:MOST_BYTES] for path in (file, *samples)]
    return Target(file, opened or file, list(dict.fromkeys(seeds)), parameters)


def xcompact3d(folder: Path) -> list[Target]:
    """A run on 4 x 3 x 5 points with a restart file, a probe, a history and descriptions of its snapshots."""
    points = (4, 3, 5)
    xcompact3d_files.NX, xcompact3d_files.NY, xcompact3d_files.NZ = points
    run = xcompact3d_files.make_run(
        folder / "run", names=("ux", "pp"), shape=points, points=points, basic="istret = 2\nbeta = 0.3"
    )
    xcompact3d_files.make_checkpoint(run, ["ux", "uy", "uz", "pp"], (4, 2, 5))
    (run / "probes").mkdir()
    for name in ("probe0001", "probeP0001", "probe_dx_0001"):
        count = {"probe0001": 4, "probeP0001": 2, "probe_dx_0001": 7}[name]
        line = "".join(f"{0.1 * at:14.6E}" for at in range(count)) + "\n"
        (run / "probes" / name).write_text(3 * line)
    (run / "time_evol.dat").write_text("0.09 0.12 1 2 0.3\n0.19 0.11 3 4 0.4\n")
    (run / "yp.dat").write_text("0.0\n0.7\n2.0\n")
    (run / "adios2_config.xml").write_text("<adios-config/>")
    mesh = {"Nx": 4, "Ny": 3, "Nz": 5, "Lx": 6.0, "Ly": 2.0, "Lz": 5.0, "BCx": 0, "BCy": 2, "BCz": 0}
    stretched = {"stretched": 2, "beta": 0.3, "yp": "yp.dat"}
    told = {"mesh": {"properties": mesh | stretched}, "ux": {"type": "data", "properties": {"filename": "data/ux"}}}
    (run / "input.json").write_text(json.dumps(told))
    xdmf = run / "data" / "snapshot-1.xdmf"
    xdmf.write_text(_XDMF)
    alone = folder / "alone" / "snapshot-1.xdmf"  # without an input file, from which the times would be taken
    alone.parent.mkdir()
    alone.write_text(_XDMF)
    (alone.parent / "ux-1.bin").write_bytes((run / "data" / "ux-1.bin").read_bytes())
    samples = "xcompact3d/**/"
    probes = [_target(path) for path in sorted((run / "probes").iterdir())]
    return [
        _target(run / "input.i3d", run, samples + "input.i3d"),
        _target(run / "input.i3d", run / "time_evol.dat"),
        _target(run / "restart.info", run / "checkpoint", samples + "restart.info"),
        _target(run / "time_evol.dat", None, samples + "time_evol.dat"),
        _target(run / "input.json"),
        _target(run / "yp.dat", run),
        _target(run / "yp.dat", run / "input.json"),
        _target(xdmf, None, samples + "*.xdmf"),
        _target(alone),
        _target(run / "data" / "ux-1.bin", run),
        _target(run / "checkpoint"),
        *probes,
    ]


_XDMF = """<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">
<Domain>
<Topology name="topo" TopologyType="3DRectMesh" Dimensions="5 3 4"></Topology>
<Geometry name="geo" Type="VXVYVZ">
<DataItem Dimensions="4" NumberType="Float" Precision="8" Format="XML">0.0 1.5 3.0 4.5</DataItem>
<DataItem Dimensions="3" NumberType="Float" Precision="8" Format="XML">0.0 0.7 2.0</DataItem>
<DataItem Dimensions="5" NumberType="Float" Precision="8" Format="XML">0.0 1.0 2.0 3.0 4.0</DataItem>
</Geometry>
<Grid Name="1" GridType="Uniform">
<Topology Reference="/Xdmf/Domain/Topology[1]"/>
<Geometry Reference="/Xdmf/Domain/Geometry[1]"/>
<Attribute Name="ux" Center="Node">
<DataItem Format="Binary" DataType="Float" Precision="8" Endian="little" Seek="0" Dimensions="5 3 4">
./ux-1.bin
</DataItem>
</Attribute>
</Grid>
</Domain>
</Xdmf>
"""


def pencil(folder: Path) -> list[Target]:
    """A run of 2 x 1 x 2 processes with snapshots, slices, averages, particles, stalkers and texts."""
    made = pencil_data.Run(folder / "run" / "data")
    run, data = folder / "run", made.data
    made.add_snapshot(), made.add_slices(), made.add_averages(), made.add_particles(), made.add_stalkers()
    (data / "time_series.dat").write_text(pencil_data.HISTORY)
    (data / "varname.dat").write_text("   1  uu1\n   2  uu2\n   3  uu3\n   4  lnrho\n")
    (data / "param2.nml").write_text("&RUN_PARS\n DT=  1.0E-003,\n /\n&VISCOSITY_RUN_PARS\n NU= 4.0E-003,\n /\n")
    (run / "zaver.in").write_text("bxmxy(e12.4)\n# no name\nbymxy\n bzmxy  ! last\n")
    for process in range(4):
        x, _, z = made.place(process)
        text = f"     10     12      8      4      0      0\nD\n    3    3    3\n    {x}    0    {z}\n"
        (data / f"proc{process}" / "dim.dat").write_text(text)
    small = data / "proc0"
    small_names = {"names": ",".join(pencil_data.AVERAGES)}
    samples = "pencil/*/data/"
    return [
        _target(data / "dim.dat", run, samples + "dim.dat"),
        _target(data / "dim.dat", small / "slice_bb1.xy"),
        _target(small / "dim.dat", small / "VAR1", samples + "proc0/dim.dat"),
        _target(data / "param.nml", run, samples + "param*.nml"),
        _target(data / "param2.nml", run),
        _target(data / "index.pro", run, samples + "index.pro"),
        _target(data / "varname.dat", run, samples + "varname.dat"),
        _target(data / "particle_index.pro", small / "PVAR2"),
        _target(data / "particles_stalker_header.dat", small / "particles_stalker.dat"),
        _target(data / "time_series.dat", None, samples + "time_series.dat"),
        _target(data / "xyaverages.dat", None, samples + "xyaverages.dat"),
        _target(data / "allprocs" / "grid.dat", run, samples + "allprocs/grid.dat"),
        _target(small / "slice_bb1.xy"),
        _target(small / "slice_bb1.yz"),
        _target(small / "zaverages.dat"),
        _target(small / "zaverages.dat", **small_names),
        _target(run / "zaver.in", small / "zaverages.dat"),
        _target(small / "PVAR2"),
        _target(data / "proc3" / "PVAR2", small / "PVAR2"),
        _target(small / "particles_stalker.dat"),
        _behind_fields(small / "VAR1", run, 4 * 10 * 12 * 8 * 8),
        _behind_fields(small / "VAR1", small / "VAR1", 4 * 10 * 12 * 8 * 8),
        *_collected(folder),
    ]


def _collected(folder: Path) -> list[Target]:
    """Runs of the other two layouts, one of them big-endian and of single precision."""
    kinds = {"collect": ("<", "D"), "collect_xy": (">", "S")}
    runs = {
        name: pencil_runs.HandMade(folder / name / "data", (4, 3, 4), (2, 1, 2), *kind).texts()
        for name, kind in kinds.items()
    }
    both, layers = runs["collect"].collect(), runs["collect_xy"].collect_xy()
    one, other = both.data / "allprocs" / "VAR1", layers.data / "proc0" / "VAR1"
    return [
        _behind_fields(one, one, both.fields.nbytes, mark=0),
        _behind_fields(other, folder / "collect_xy", 8 * 10 * 9 * 8 * 4),
    ]


def _behind_fields(file: Path, opened: Path, size: int, mark: int = 4) -> Target:
    """The mark before the fields and all behind them are changed; the values of the fields do not matter."""
    raw = file.read_bytes()
    return Target(file, opened, [raw[:mark] + raw[mark + size :]], {}, partial(_with_fields, mark, size))


def _with_fields(mark: int, size: int, data: bytes) -> bytes:
    return data[:mark] + bytes(size) + data[mark:]


def nektar(folder: Path) -> list[Target]:
    """Files and a directory in XML; and one whose values are compressed after they were changed."""
    rows = [
        nektar_files.row("Triangle", (3, 3), [0, 2], 1),
        nektar_files.row("Quadrilateral", [(2, 3), (4, 2)], [5, 3], 2),
        nektar_files.row("Quadrilateral", (2, 2, 2), [4, 6], 3, homogeneous=1, lengths=[1.0], z=[0, 1]),
        nektar_files.row("Quadrilateral", (2, 2, 2), [8], 4, homogeneous=1, lengths=[1.0], z=[0, 1], strips=1, s=[0]),
        nektar_files.row("Segment", (2, 2, 2), [7], 5, homogeneous=2, lengths=[1.0, 2.0], y=[0, 1], z=[0, 1]),
    ]
    alone, parts = folder / "a.fld", folder / "parts.fld"
    alone.write_text(nektar_files.xml(rows))
    parts.mkdir()
    (parts / "P0000000.fld").write_text(nektar_files.xml(rows[:2]))
    (parts / "P0000001.fld").write_text(nektar_files.xml(rows[2:]))
    (parts / "Info.xml").write_text(
        '<?xml version="1.0" encoding="utf-8" ?>\n<NEKTAR>\n<Metadata><Time>0.25</Time></Metadata>\n'
        '    <Partition FileName="P0000000.fld">0,2,5,3</Partition>\n'
        '    <Partition FileName="P0000001.fld">4,6,8,7</Partition>\n</NEKTAR>\n'
    )
    seeds = [nektar_files.xml([row]).encode() for row in rows]
    values = [
        (b'FIELDS="u" SHAPE="Segment" BASIS="Modified_A" NUMMODESPERDIR="UNIORDER:2" ID="0,1" '
         b'COMPRESSED="B64Z-LittleEndian" BITSIZE="64"\n') + struct.pack("<4d", 1.0, 2.0, 3.0, 4.0)
    ]  # fmt: skip
    words, _, numbers = values[0].partition(b"\n")
    streams = [words + b"\n" + zlib.compress(numbers, level) for level in (0, 9)]
    whole = _target(alone, None, "nektar/TriQuad.fld")
    inside = folder / "values.fld"
    return [
        Target(alone, alone, whole.seeds + seeds),
        Target(inside, inside, values, made=_packed),
        Target(inside, inside, streams, made=_with_stream),
        _target(parts / "Info.xml", parts, "nektar/*.fld/Info.xml"),
        _target(parts / "P0000001.fld", parts, "nektar/*.fld/P0000000.fld"),
    ]


def _packed(data: bytes) -> bytes:
    """The words of an element up to the first line break, its values behind."""
    words, _, values = data.partition(b"\n")
    return _element(words, zlib.compress(values, 1))


def _with_stream(data: bytes) -> bytes:
    """The words of an element up to the first line break, and what should be a compressed stream behind."""
    words, _, stream = data.partition(b"\n")
    return _element(words, stream)


def _element(words: bytes, stream: bytes) -> bytes:
    return b"<NEKTAR><ELEMENTS " + words + b">" + base64.b64encode(stream) + b"</ELEMENTS></NEKTAR>\n"


def sion(folder: Path) -> list[Target]:
    """Containers in one file and in two, with streams and with keys, and a description of streams."""
    spec = importlib.util.spec_from_file_location(
        "containers", PYTHON_TESTS / "formats" / "sion" / "test_containers.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    streams = [struct.pack("<QQ", 4, 60) + bytes(60), struct.pack("<QQ", 5, 3) + b"abc"]
    keys = module.container(folder / "keys.sion", streams, keys=51)
    plain = module.container(folder / "plain.sion", [bytes(range(96)), bytes(48)], version=3)
    big = module.container(folder / "big.sion", [bytes(range(96)), bytes(48)], order=">", data=">")
    split = module.container(folder / "split.sion", streams, split=(1,))
    split_keys = module.container(folder / "splitkeys.sion", streams, split=(1,), keys=51)
    described = module.container(folder / "described.sion", [bytes(96), bytes(96)])
    toml = folder / "described.sion.toml"
    toml.write_text(
        'time = 0.5\nindex = 100\n[[variable]]\nname = "u"\ndtype = "float64"\nshape = [2, 3, 1]\n'
        'processes = [1, 1, 2]\noffset = 16\n[[variable]]\nname = "p"\ndtype = "float32"\ncolumns = 3\nrows = 2\n'
        "tasks = [0, 1]\njoined = false\n"
    )
    seconds = [path.with_name(f"{path.name}.000001") for path in (split, split_keys)]
    return [
        *(_target(path) for path in (keys, plain, big, split, split_keys)),
        *(_target(second, first) for second, first in zip(seconds, (split, split_keys), strict=True)),
        _target(described),
        _target(toml, described),
    ]


FAMILIES: dict[str, Callable[[Path], list[Target]]] = {
    "xcompact3d": xcompact3d,
    "pencil": pencil,
    "nektar-xml": nektar,
    "sion": sion,
}
