"""The demonstration of `make demo`: a Taylor-Green vortex breaks down into turbulence, and leaves files and pictures.

python -m tailrace.demo [DIRECTORY]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASE = """\
# The Taylor-Green vortex at Reynolds 1600 on 64^3 points: smooth cells that break down into turbulence around t = 9.
# Run it again with other numbers:   tailrace run case.toml -n 2 --set case.reynolds=800
[case]
name = "taylor-green"
flow = "taylor-green"
reynolds = 1600.0

[grid]
points = [64, 64, 64]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "periodic", "periodic"]

[time]
scheme = "rk3"
dt = 0.01
end = 20.0

[diagnostics]
every = 10

[[output]]
name = "snapshots"          # a VTKHDF file: ParaView opens it as it is
fields = ["ux", "uy", "uz", "pressure", "vorticity", "q"]
interval = 4.0
engine = "hdf5"
precision = "float32"

[[output]]
name = "velocity"           # an ADIOS2 file: `bpls -l velocity.bp` lists it
fields = ["ux", "uy", "uz"]
interval = 10.0
engine = "bp5"

[checkpoint]
every = 500
"""
_SLICES = (1, 2)  # stored steps: t = 4, where sheets roll up, and t = 8, just before dissipation peaks


def main(directory: Path) -> int:
    """Run the case on two ranks in `directory` and draw its pictures. Returns the exit code."""
    from tailrace.render.plot import plot_slice, plot_time_series

    directory.mkdir(parents=True, exist_ok=True)
    case = directory / "case.toml"
    case.write_text(CASE, encoding="utf-8")
    command = [sys.executable, "-m", "tailrace.cli", "run", case.name, "-n", "2"]
    code = subprocess.run(command, cwd=directory, check=False).returncode
    if code != 0:
        return code
    pictures = [plot_time_series([directory / "time_series.csv"], directory / "history.png", None, None)]
    for step in _SLICES:
        name = directory / f"vorticity-t{4 * step}.png"
        pictures.append(plot_slice(directory / "snapshots.h5", name, "vorticity", "z", 8, step))
    print("\nThe flow, its output and its pictures are in", directory)
    for path in (
        *pictures,
        *(directory / name for name in ("snapshots.h5", "velocity.bp", "time_series.csv", "checkpoints")),
    ):
        print(f"  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")))
