"""Names of the fields of a flow: in a case, and in raw files."""

from __future__ import annotations

from typing import Literal, get_args

FieldName = Literal["ux", "uy", "uz", "pressure", "vorticity", "vorticity_x", "vorticity_y", "vorticity_z", "q"]
FIELDS: tuple[str, ...] = get_args(FieldName)
MEANINGS = {
    "ux": "velocity in x",
    "uy": "velocity in y",
    "uz": "velocity in z",
    "pressure": "pressure over density",
    "vorticity": "magnitude of the vorticity",
    "vorticity_x": "vorticity in x",
    "vorticity_y": "vorticity in y",
    "vorticity_z": "vorticity in z",
    "q": "Q criterion",
}
COMPONENTS = ("ux", "uy", "uz")
# Fields with other names in raw files: the tools of Xcompact3D look for these.
RAW_NAMES = {"pressure": "pp", "vorticity": "vort", "q": "critq"}


def result_names(analysis: str) -> tuple[str, str]:
    """The names of the results of an analysis: those of its steps, and those of its `finish`."""
    return analysis, f"{analysis}-final"
