"""Data directories of the Pencil Code, made by hand from the layout page: with struct and NumPy only."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

NAMES = ["ux", "uy", "uz", "lnrho", "ax", "ay", "az", "cc1"]
WRITTEN = ["uu1", "uu2", "uu3", "lnrho", "aa1", "aa2", "aa3", "cc"]
INDEX = """ iuu=1
 iux=1
 iuy=2
 iuz=3
 ilnrho=4
 iaa=5
 iax=5
 iay=6
 iaz=7
 icc=indgen(1)+8
 icc1=8
 nname=21
 irho=0
"""
VARNAME = "".join(f"{at:4d}  {name:<38}\n" for at, name in enumerate(WRITTEN, 1))
PARAM = """&INIT_PARS
 LXYZ= {lx}     ,  2.0000000000000000     ,  3.0000000000000000     ,
 LPERI= {lperi},
 COORD_SYSTEM='cartesian',
 MU0=  2.0000000000000000     ,
 BCX= 8*'p      ',
 /
&EOS_INIT_PARS
 CP=  1.5000000000000000     ,
 CS0=  2.0000000000000000     ,
 RHO0=  0.5000000000000000     ,
 GAMMA=  1.6666666666666667     ,
 /
"""
PARAM2 = """&RUN_PARS
 DT=  1.0000000000000000E-003,
 /
&VISCOSITY_RUN_PARS
 NU=  4.0000000000000001E-003,
 /
"""


@dataclass
class HandMade:
    """A run of asymmetric fields on a grid that is not cubic.

    :param limit: bytes of a sub-record, of which records of fields are made; None: whole records.
    """

    data: Path
    points: tuple = (8, 9, 12)
    processes: tuple = (2, 1, 3)
    order: str = "<"
    precision: str = "D"
    limit: int | None = None
    seed: int = 1
    lperi: str = "3*T"
    stretched: bool = False
    names: list = field(default_factory=lambda: list(NAMES))

    def __post_init__(self):
        self.real = np.dtype(self.order + ("f8" if self.precision == "D" else "f4"))
        self.held = tuple(n + 6 for n in self.points)
        self.local = tuple(n // p for n, p in zip(self.points, self.processes, strict=True))
        rng = np.random.default_rng(self.seed)
        self.fields = rng.standard_normal((len(self.names), *self.held[::-1])).astype(self.real)
        self.axes, self.mapping = [], []
        for n, length in zip(self.points, (1.0, 2.0, 3.0), strict=True):
            along = (np.arange(-3, n + 3) + 0.5) * length / n
            slope, curvature = np.full(n + 6, length / n), np.zeros(n + 6)
            if self.stretched and length == 2.0:
                curvature = -0.05 * np.pi**2 * np.sin(np.pi * along) * slope**2
                slope = slope * (1 + 0.05 * np.pi * np.cos(np.pi * along))
                along = along + 0.05 * np.sin(np.pi * along)
            self.axes.append(along.astype(self.real))
            self.mapping.append((1 / slope, -curvature / slope**2))
        self.spacing = np.array([length / n for n, length in zip(self.points, (1.0, 2.0, 3.0), strict=True)], self.real)
        self.persist = rng.integers(-(2**31), 2**31, (int(np.prod(self.processes)), 2))

    # ---- texts -------------------------------------------------------------------------------------------------------
    def texts(self):
        self.data.mkdir(parents=True, exist_ok=True)
        px, py, pz = self.processes
        self._dim(self.data / "dim.dat", self.held, f"{px:5d}{py:5d}{pz:5d}    1")
        for p in range(px * py * pz):
            (self.data / f"proc{p}").mkdir(exist_ok=True)
            x, y, z = self.place(p)
            self._dim(self.data / f"proc{p}" / "dim.dat", [n + 6 for n in self.local], f"{x:5d}{y:5d}{z:5d}")
        (self.data / "allprocs").mkdir(exist_ok=True)
        (self.data / "index.pro").write_text(INDEX)
        (self.data / "varname.dat").write_text(VARNAME)
        (self.data / "param.nml").write_text(PARAM.format(lx="1.0000000000000000", lperi=self.lperi))
        (self.data / "param2.nml").write_text(PARAM2)
        return self

    def _dim(self, path, held, last):
        mx, my, mz = held
        path.write_text(
            f"{mx:7d}{my:7d}{mz:7d}{len(self.names):7d}      0      0\n{self.precision}\n    3    3    3\n{last}\n"
        )

    def place(self, process):
        px, py, _ = self.processes
        return process % px, process // px % py, process // (px * py)

    # ---- records -----------------------------------------------------------------------------------------------------
    def record(self, raw, limit=None):
        if limit is None or len(raw) <= limit:
            return struct.pack(self.order + "i", len(raw)) + raw + struct.pack(self.order + "i", len(raw))
        parts = [raw[at : at + limit] for at in range(0, len(raw), limit)]
        made = b""
        for at, part in enumerate(parts):
            head = len(part) if at == len(parts) - 1 else -len(part)
            tail = len(part) if at == 0 else -len(part)
            made += struct.pack(self.order + "i", head) + part + struct.pack(self.order + "i", tail)
        return made

    def numbers(self, *values):
        return self.record(np.concatenate([np.atleast_1d(value) for value in values]).astype(self.real).tobytes())

    def grid_record(self, time, cuts):
        return self.numbers(time, *(axis[cut] for axis, cut in zip(self.axes, cuts, strict=True)), self.spacing)

    def grid_file(self, path, cuts):
        made = self.grid_record(0.0, cuts) + self.numbers(self.spacing) + self.numbers([1.0, 2.0, 3.0])
        for what in (0, 1):
            made += self.numbers(*(both[what][cut] for both, cut in zip(self.mapping, cuts, strict=True)))
        path.write_bytes(made)

    def persistent(self, processes, time):
        def whole(values):
            return self.record(np.asarray(values, self.order + "i4").tobytes())

        seeds = self.persist[processes]  # (processes, values); in the file those of one place are next to each other
        made = whole([2000]) + whole([1]) + whole(seeds.T.reshape(-1))
        return made + whole([271]) + self.numbers([time] * len(processes)) + whole([2000])

    def cuts(self, places, split):
        """Slices of x, y, z with ghost zones of a part."""
        return [slice(n // s * i, n // s * (i + 1) + 6) for n, s, i in zip(self.points, split, places, strict=True)]

    # ---- snapshots ---------------------------------------------------------------------------------------------------
    def part(self, cuts):
        x, y, z = cuts
        return np.ascontiguousarray(self.fields[:, z, y, x]).tobytes()

    def dist(self, name="VAR1", time=0.5):
        for p in range(int(np.prod(self.processes))):
            cuts = self.cuts(self.place(p), self.processes)
            made = self.record(self.part(cuts), self.limit) + self.grid_record(time, cuts)
            (self.data / f"proc{p}" / name).write_bytes(made + self.persistent([p], time))
            self.grid_file(self.data / f"proc{p}" / "grid.dat", cuts)
        return self

    def collect_xy(self, name="VAR1", time=0.5):
        px, py, pz = self.processes
        whole = [slice(None)] * 3
        for layer in range(pz):
            cuts = self.cuts((0, 0, layer), (1, 1, pz))
            made = self.record(self.part(cuts), self.limit) + self.numbers(time)
            if layer == 0:
                made += self.numbers(*self.axes, self.spacing)
            made += self.persistent(list(range(layer * px * py, (layer + 1) * px * py)), time)
            (self.data / f"proc{layer * px * py}" / name).write_bytes(made)
        self.grid_file(self.data / "allprocs" / "grid.dat", whole)
        return self

    def collect(self, name="VAR1", time=0.5):
        whole = [slice(None)] * 3
        made = self.fields.tobytes() + self.grid_record(time, whole)
        made += self.persistent(list(range(int(np.prod(self.processes)))), time)
        (self.data / "allprocs" / name).write_bytes(made)
        self.grid_file(self.data / "allprocs" / "grid.dat", whole)
        return self

    def hdf5(self, name="VAR1.h5", time=0.5):
        import h5py

        with h5py.File(self.data / "allprocs" / name, "w") as file:
            for at, one in enumerate(self.names):
                file[f"data/{one}"] = self.fields[at]
            file["time"] = self.real.type(time)
            for axis, along, d, length, n, p in zip(
                "xyz", self.axes, self.spacing, (1.0, 2.0, 3.0), self.points, self.processes, strict=True
            ):
                file[f"grid/{axis}"], file[f"grid/d{axis}"], file[f"grid/L{axis}"] = along, d, length
                for key, value in ((f"m{axis}", n + 6), (f"n{axis}", n), (f"nproc{axis}", p)):
                    file[f"settings/{key}"] = np.array([value], "i4")
            for key, value in (("mvar", len(self.names)), ("maux", 0), ("mglobal", 0)):
                file[f"settings/{key}"] = np.array([value], "i4")
            file["settings/precision"] = np.array([self.precision.encode()])
            file["persist/random_seeds"] = self.persist.astype("i4").reshape(-1)
            file["persist/forcing_tsforce"] = np.full(len(self.persist), time, self.real)
        return self
