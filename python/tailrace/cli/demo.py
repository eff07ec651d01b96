"""The demonstration of `make demo`: a Taylor-Green vortex becomes turbulent. Writes files and pictures.

One analysis, the budget of kinetic energy, runs in three ways: inside the simulation, beside the simulation on another
rank, and later from a file. The program compares the results with the numbers of the solver.

python -m tailrace.cli.demo [DIRECTORY]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASE = """\
# The Taylor-Green vortex at Reynolds 600: smooth cells that become turbulent around t = 9. Its planes of symmetry are
# free-slip boundaries here, so that 65^3 points of an octant hold what 128^3 of the whole box would. They resolve it.
# Run it again with other numbers:   tailrace run case.toml -n 2 --set case.reynolds=300 --directory second
[case]
name = "taylor-green"
flow = "taylor-green"
reynolds = 600.0

[grid]
points = [65, 65, 65]
lengths = ["pi", "pi", "pi"]
boundaries = ["free-slip", "free-slip", "free-slip"]

[time]
scheme = "rk3"
dt = "auto"
end = 20.0

[diagnostics]
every = 10

[[output]]
name = "snapshots"          # a VTKHDF file; ParaView opens snapshots.h5.xdmf2
fields = ["ux", "uy", "uz", "pressure", "vorticity", "q"]
interval = 4.0
engine = "hdf5"
precision = "float32"

[[output]]
name = "velocity"           # an ADIOS2 file: `bpls -l velocity.bp` lists it
fields = ["ux", "uy", "uz"]
interval = 1.0
engine = "bp5"

[[analysis]]
script = "budget"           # ready-made; or your own file
every = 10
out = "inside"

[[picture]]                 # a film, drawn while the flow is computed: tubes of vortices, coloured by a velocity
name = "vortices"
interval = 0.25
rate = 12
size = [960, 540]
orbit = 4.0
theme = "dark"
title = "Taylor-Green vortex, Re = 600"
layers = [{ surface = "q", values = [0.6], colour = "uz", range = [-0.5, 0.5] }]

[checkpoint]
every = 500
"""
_SLICES = (1, 2)  # stored steps: t = 4, where vortex sheets roll up, and t = 8, just before the maximum of dissipation


_BESIDE = ("--beside", "budget", "--beside-every", "10", "--beside-out", "beside")
_AGREE = 1e-12


def main(directory: Path) -> int:
    """Run the case on two ranks in `directory`, with an analysis beside it, and draw its pictures.

    :returns: the exit code; 1 if the results of the analyses differ.
    """
    from tailrace.render.comparison import plot_comparison
    from tailrace.render.plot import plot

    directory.mkdir(parents=True, exist_ok=True)
    case = directory / "case.toml"
    case.write_text(CASE, encoding="utf-8")
    for words in (
        ("run", case.name, "-n", "2", "--overwrite", *_BESIDE),
        ("analyse", "budget", "velocity.bp", "-n", "2", "-o", "after", "--overwrite"),
    ):
        print("\n$ tailrace", *words, flush=True)
        code = subprocess.run([sys.executable, "-m", "tailrace.cli", *words], cwd=directory, check=False).returncode
        if code != 0:
            return code
    names = {step: directory / f"vorticity-t{4 * step}.png" for step in _SLICES}
    for picture in (directory / "history.png", *names.values(), directory / "three_places.png"):
        picture.unlink(missing_ok=True)  # of an earlier demonstration
    pictures = plot(directory / "time_series.csv", directory / "history.png")
    for step, name in names.items():
        pictures += plot(directory / "snapshots.h5", name, field="vorticity", axis="z", index=16, steps=[step])
    pictures.append(directory / "three_places.png")
    worst = plot_comparison(
        {
            "the solver's diagnostics": directory / "time_series.csv",
            **{place: directory / place / "budget.csv" for place in ("inside", "beside", "after")},
        },
        pictures[-1],
        _AGREE,
    )
    print("\nThe flow, its output and its pictures are in", directory)
    kept = (
        "pictures/vortices.mp4",
        "snapshots.h5",
        "velocity.bp",
        "time_series.csv",
        "inside",
        "beside",
        "after",
        "checkpoints",
    )
    for path in (*pictures, *(directory / name for name in kept)):
        print(f"  {path}")
    told = ", ".join(f"{place} {value:.1e}" for place, value in worst.items())
    print(f"Budget of energy against the solver's own, largest relative difference: {told}")
    if max(worst.values()) > _AGREE:
        print(f"That is more than {_AGREE:g}: something is wrong")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")))
