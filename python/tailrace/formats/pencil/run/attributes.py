"""Data of a run that are neither grid nor field, as attributes of a dataset.

A writer of the Pencil Code's HDF5 files takes them from there, also after conversions in between.

    grid/x, grid/dx, grid/Lx, grid/Ox, grid/dx_1, grid/dx_tilde, ...   coordinates with ghost zones
    unit/system, unit/length, ...                                      units of the run
    settings/mvar, settings/nprocx, ...                                numbers of fields and of processes
    pencil/index.pro, pencil/varname.dat, pencil/param.nml, ...        the text of a small file
    pencil/file                                                        what the dataset was: "averages/z", ...
"""

from __future__ import annotations

from tailrace.io.values import Attribute

from .run import PencilRun

_MOST_BYTES = 60_000  # of a text: HDF5 stores attributes below 64 KiB


def run_attributes(run: PencilRun) -> dict[str, Attribute]:
    """Attributes of a run."""
    found: dict[str, Attribute] = {}
    axes = run.points.axes if run.points is not None else ()
    corner = [*run.parameters.get("init_pars/xyz0", ()), None, None, None]
    for name, axis, low in zip("xyz", axes, corner, strict=False):
        found[f"grid/{name}"] = [float(value) for value in axis.points]
        found[f"grid/d{name}"] = axis.spacing
        found[f"grid/L{name}"] = axis.length
        found[f"grid/d{name}_1"] = [float(value) for value in axis.inverse]
        found[f"grid/d{name}_tilde"] = [float(value) for value in axis.tilde]
        if isinstance(low, int | float):
            found[f"grid/O{name}"] = float(low)
    for name in ("mvar", "maux", "mglobal"):
        found[f"settings/{name}"] = getattr(run.dim, name)
    for name, count in zip("xyz", run.dim.processes or (), strict=False):
        found[f"settings/nproc{name}"] = count
    found |= _units(run)
    short = {name: text for name, text in run.texts.items() if text and len(text) <= _MOST_BYTES and "\0" not in text}
    return found | {f"pencil/{name}": text for name, text in short.items()}


def _units(run: PencilRun) -> dict[str, Attribute]:
    """The units in the parameters, and those that the code derives from them."""
    base = {name: run.parameter(f"init_pars/unit_{name}") for name in ("density", "length", "velocity")}
    if not all(isinstance(value, int | float) for value in base.values()):
        return {}
    density, length, velocity = (float(base[name]) for name in ("density", "length", "velocity"))
    mass = density * length**3
    found: dict[str, Attribute] = {
        "unit/density": density,
        "unit/length": length,
        "unit/velocity": velocity,
        "unit/mass": mass,
        "unit/energy": mass * velocity**2,
        "unit/time": length / velocity if velocity else 1.0,
        "unit/flux": mass * velocity**2 / (length**2 * (length / velocity)) if velocity and length else 1.0,
    }
    for name in ("magnetic", "temperature"):
        value = run.parameter(f"init_pars/unit_{name}")
        if isinstance(value, int | float):
            found[f"unit/{name}"] = float(value)
    system = run.parameter("init_pars/unit_system")
    if isinstance(system, str):
        found["unit/system"] = system
    return found
