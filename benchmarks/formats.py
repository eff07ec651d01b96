"""Reading the files of other programs: time, memory, and bytes that are read.

    python benchmarks/formats.py pencil [--repeat 5]

Prints one line of JSON for each measurement. Each runs in a process of its own, so that its memory is known.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FIELDS = ("ux", "uy", "uz", "lnrho", "ax", "ay", "az", "cc1")


def make_pencil(data: Path, n: int = 128, split: tuple[int, int, int] = (2, 2, 1)) -> None:
    """A snapshot of n^3 points and 8 fields in double precision with ghost zones, one file for each of 4 processes."""
    local = [n // p for p in split]

    def record(*values: np.ndarray) -> bytes:
        raw = b"".join(np.asarray(value, "<f8").tobytes() for value in values)
        return struct.pack("<i", len(raw)) + raw + struct.pack("<i", len(raw))

    def dim(path: Path, points: list[int], last: str) -> None:
        held = " ".join(str(m + 6) for m in points)
        path.write_text(f"{held} 8 0 0\nD\n3 3 3\n{last}\n")

    data.mkdir(parents=True)
    dim(data / "dim.dat", [n] * 3, " ".join(map(str, (*split, 1))))
    (data / "index.pro").write_text("".join(f" i{name}={at}\n" for at, name in enumerate(FIELDS, 1)))
    (data / "param.nml").write_text("&INIT_PARS\n LPERI= 3*T,\n /\n")
    rng = np.random.default_rng(1)
    for process in range(int(np.prod(split))):
        place = (process % split[0], process // split[0] % split[1], process // (split[0] * split[1]))
        (data / f"proc{process}").mkdir()
        dim(data / f"proc{process}" / "dim.dat", local, " ".join(map(str, place)))
        axes = [(np.arange(-3, m + 3) + 0.5 + at * m) / n for m, at in zip(local, place, strict=True)]
        steps = np.full(3, 1 / n)
        grid = record([0.5], *axes, steps)
        values = rng.standard_normal((8, *(m + 6 for m in reversed(local))))
        (data / f"proc{process}" / "VAR1").write_bytes(record(values) + grid)
        ones = [np.ones(m + 6) for m in local]
        zeros = [np.zeros(m + 6) for m in local]
        rest = record(steps) + record(np.ones(3)) + record(*(n * one for one in ones)) + record(*zeros)
        (data / f"proc{process}" / "grid.dat").write_bytes(grid + rest)


def read_pencil(data: Path, part: int) -> dict[str, float]:
    """Read all fields of the box, or of a part-th of it in each direction, as users do."""
    import tailrace as tr

    with tr.open(data) as series:
        step = series[0]
        names = list(FIELDS)
        n = [m // part for m in series.grid.points]
        peak, read = _peak(), _bytes_read()
        begin, busy = time.perf_counter(), time.process_time()
        start = tuple((m - k) // 2 for m, k in zip(series.grid.points, n, strict=True))
        arrays = [step.read(name, (start, tuple(n))) for name in names]
        seconds, busy = time.perf_counter() - begin, time.process_time() - busy
        size = sum(array.nbytes for array in arrays)
        return {
            "seconds": seconds,
            "cpu_seconds": busy,
            "bytes": size,
            "bytes_read": _bytes_read() - read,
            "memory_of_data": (_peak() - peak) / size,
        }


def _peak() -> int:
    """Of this program alone; what getrusage says begins with the memory of the program that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _bytes_read() -> int:
    """Bytes that system calls have given this process, from the page cache too."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def main() -> None:
    """Make the files, and measure in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["pencil"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(read_pencil(Path(options.measure[0]), int(options.measure[1]))))
        return
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "data"
        make_pencil(data)
        for part in (1, 4):
            command = [sys.executable, __file__, "pencil", "--measure", str(data), str(part)]
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
                for _ in range(options.repeat)
            ]
            seconds = [run["seconds"] for run in runs]
            print(
                json.dumps(
                    {
                        "what": f"pencil, io_dist, 128^3, 8 fields, 1/{part**3} of the box",
                        "median_s": statistics.median(seconds),
                        "least_s": min(seconds),
                        "cpu_s": statistics.median(run["cpu_seconds"] for run in runs),
                        "bytes": runs[0]["bytes"],
                        "bytes_read": runs[0]["bytes_read"],
                        "memory_of_data": max(run["memory_of_data"] for run in runs),
                    }
                )
            )


if __name__ == "__main__":
    main()
