"""A data directory of the Pencil Code, written from the layout alone: 2 x 1 x 2 processes, io_dist."""

import struct
from pathlib import Path

import numpy as np

POINTS = (8, 6, 4)
PROCESSES = (2, 1, 2)
TIMES = (0.0, 0.25, 0.5)
AVERAGES = ("bxmxy", "bymxy", "bzmxy")
BOX = (2.0, 3.0, 4.0)


def record(*parts, order="<"):
    """Values between the sizes of a record."""
    raw = b"".join(part if isinstance(part, bytes) else np.asarray(part).tobytes() for part in parts)
    mark = struct.pack(order + "i", len(raw))
    return mark + raw + mark


class Run:
    """The directory and all its values."""

    def __init__(self, data: Path, order="<", real="f8", seed=5):
        self.data, self.order, self.real = data, order, f"{order}{real}"
        self.random = np.random.default_rng(seed)
        held = [n + 6 for n in POINTS]
        for process in range(4):
            (data / f"proc{process}").mkdir(parents=True)
        (data / "allprocs").mkdir()
        letter = "D" if real == "f8" else "S"
        sizes = "".join(f"{n:7d}" for n in [*held, 4, 0, 0])
        (data / "dim.dat").write_text(f"{sizes}\n{letter}\n    3    3    3\n    2    1    2    1\n")
        (data / "index.pro").write_text(" iuu=1\n iux=1\n iuy=2\n iuz=3\n ilnrho=4\n nnamexy=3\n nnamez=2\n")
        (data / "param.nml").write_text(
            "&INIT_PARS\n LPERI= 3*T,\n XYZ0= 3*0.0,\n IO_STRATEGY='DIST    ',\n LCOLLECTIVE_IO=F,\n"
            " UNIT_SYSTEM='cgs',\n UNIT_LENGTH=2.0, UNIT_DENSITY=3.0, UNIT_VELOCITY=5.0,\n/\n"
        )
        self.spacing = [length / n for length, n in zip(BOX, POINTS, strict=True)]
        axes = [(np.arange(m) - 2.5) * h for m, h in zip(held, self.spacing, strict=True)]
        self.axes = [axis.astype(real) for axis in axes]
        ones = [np.full(m, 1 / h) for m, h in zip(held, self.spacing, strict=True)]
        zeros = [np.zeros(m) for m in held]
        rows = [[[0.0], *axes, self.spacing], [self.spacing], [BOX], ones, zeros]
        grid = [record(np.concatenate(row).astype(self.real), order=order) for row in rows]
        (data / "allprocs" / "grid.dat").write_bytes(b"".join(grid))

    def place(self, process):
        """Position of a process in x, y, z."""
        return process % 2, 0, process // 2

    def part(self, process, array, axes):
        """The part of a process of a plane (or a volume) with these directions, the slowest first."""
        cut = []
        for axis, n in zip(axes, array.shape, strict=True):
            at = "xyz".index(axis)
            count, place = n // PROCESSES[at], self.place(process)[at]
            cut.append(slice(place * count, place * count + count))
        return np.ascontiguousarray(array[tuple(cut)])

    def values(self, *shape):
        """Random values of the precision of the run."""
        return self.random.standard_normal(shape).astype(self.real)

    def add_slices(self, field="bb1", times=TIMES):
        """Slices xy at the first z layer of process 0, xz and yz; values by plane."""
        planes = {
            "xy": self.values(len(times), 6, 8),
            "xz": self.values(len(times), 4, 8),
            "yz": self.values(len(times), 4, 6),
        }
        normal = {"xy": 2, "xz": 1, "yz": 0}
        for plane, values in planes.items():
            for process in range(4):
                if self.place(process)[normal[plane]]:
                    continue
                at = float(self.axes[normal[plane]][3])
                raw = b""
                for time, whole in zip(times, values, strict=True):
                    part = self.part(process, whole, plane[::-1])
                    raw += record(part, np.array([time, at], self.real), order=self.order)
                (self.data / f"proc{process}" / f"slice_{field}.{plane}").write_bytes(raw)
        return planes

    def add_averages(self, times=TIMES):
        """Averages over z: [time, name, y, x]; and over xy as text: [time, name, z]."""
        over_z = self.values(len(times), 3, 6, 8)
        for process in (0, 1):  # the first in z
            raw = b""
            for time, all_names in zip(times, over_z, strict=True):
                parts = [self.part(process, one, "yx") for one in all_names]
                raw += record(np.array([time], self.real), order=self.order) + record(*parts, order=self.order)
            (self.data / f"proc{process}" / "zaverages.dat").write_bytes(raw)
        lines = np.round(self.random.standard_normal((len(times), 2, 4)), 4)
        text = ""
        for time, some in zip(times, lines, strict=True):
            text += f" {time:.5E}\n" + "".join(f"{value:14.5E}" for value in some.ravel()) + "\n"
        (self.data / "xyaverages.dat").write_text(text)
        return over_z, lines

    def add_particles(self, counts=(2, 0, 3, 1)):
        """PVAR2 with xp, yp, zp; numbers and values [property, particle]."""
        (self.data / "particle_index.pro").write_text(" ixp=1\n iyp=2\n izp=3\n")
        total = sum(counts)
        ids = (self.random.permutation(total) + 1).astype(f"{self.order}i4")
        values = self.values(3, total)
        first = 0
        for process, count in enumerate(counts):
            end = first + count
            raw = record(np.array([count], f"{self.order}i4"), order=self.order)
            if count:
                part = np.ascontiguousarray(values[:, first:end])
                raw += record(ids[first:end], order=self.order) + record(part, order=self.order)
            raw += record(np.array([1.5, 0.0, 0.0], self.real), order=self.order)
            (self.data / f"proc{process}" / "PVAR2").write_bytes(raw)
            first = end
        return ids, values

    def add_stalkers(self, times=TIMES):
        """particles_stalker.dat of 2, 1, 0, 1 particles with xp, ux: numbers, and values [time, particle, property]."""
        (self.data / "particles_stalker_header.dat").write_text("xp,ux,")
        ids = np.array([7, 3, 5, 9], f"{self.order}i4")
        values = self.values(len(times), 4, 2)
        for process, (begin, end) in enumerate([(0, 2), (2, 3), (3, 3), (3, 4)]):
            raw = b""
            for time, rows in zip(times, values, strict=True):
                head = np.array([time], self.real).tobytes() + np.array([end - begin], f"{self.order}i4").tobytes()
                raw += record(head, order=self.order)
                if end > begin:
                    part = np.ascontiguousarray(rows[begin:end])
                    raw += record(ids[begin:end], order=self.order) + record(part, order=self.order)
            (self.data / f"proc{process}" / "particles_stalker.dat").write_bytes(raw)
        return ids, values

    def add_snapshot(self, number=1, time=0.25):
        """VARn of each process with ghost zones that repeat the box: [field, z, y, x] with ghost zones."""
        inner = self.values(4, *reversed(POINTS))
        whole = np.pad(inner, ((0, 0), (3, 3), (3, 3), (3, 3)), mode="wrap")
        for process in range(4):
            x, y, z = (place * n // p for place, n, p in zip(self.place(process), POINTS, PROCESSES, strict=True))
            part = np.ascontiguousarray(whole[:, z : z + 8, y : y + 12, x : x + 10])
            local = [self.axes[at][s : s + m] for at, (s, m) in enumerate([(x, 10), (y, 12), (z, 8)])]
            tail = np.concatenate([[time], *local, self.spacing]).astype(self.real)
            raw = record(part, order=self.order) + record(tail, order=self.order)
            for word, body in ((2000, None), (1, np.array([process, -5], f"{self.order}i4")), (2000, None)):
                raw += record(np.array([word], f"{self.order}i4"), order=self.order)
                raw += b"" if body is None else record(body, order=self.order)
            (self.data / f"proc{process}" / f"VAR{number}").write_bytes(raw)
        return whole


HISTORY = """#--it-----t--------dt-------urms---
    0    0.000  5.83E-02 0.000E+00
    2    0.115  5.60E-02 2.973E-02
    4    0.227  5.42E-02 0.41-101
"""
