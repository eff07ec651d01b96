"""The velocity with which the case of an input of Xcompact3D begins, as keys of a case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .namelist import Namelist

GRAVITY_CURRENT, TAYLOR_GREEN, CHANNEL, CYLINDER, MIXING_LAYER = 1, 2, 3, 5, 7
_BEGINNINGS = {  # iin, and what it means
    TAYLOR_GREEN: {0: "at rest", 1: "the vortex"},
    MIXING_LAYER: {0: "at rest", 1: "the mixing layer"},
    CHANNEL: {0: "laminar", 1: "with noise", 2: "with noise"},
    GRAVITY_CURRENT: {0: "at rest", 1: "with noise", 2: "with noise"},
    CYLINDER: {0: "uniform", 1: "with noise", 2: "with noise"},
}


def beginning_of(nml: Namelist, itype: int, speed: float, boundaries: list[Any]) -> dict[str, Any]:
    """The keys `flow` and `parameters` of a case.

    :param speed: u1.
    """
    nml.choice("BasicParam", "iin", _BEGINNINGS[itype], 0)
    told = nml.raw("BasicParam", "iin") or 0
    noise = float(nml.real("BasicParam", "init_noise", 0.0) or 0)
    noise = noise / 2 if itype == CYLINDER else noise  # there it is a random number from 0 to 1, less 0.5
    parameters: dict[str, Any] = {"noise": noise} if noise and told else {}
    if itype == CHANNEL:
        return _channel(nml, told, parameters)
    if itype in (TAYLOR_GREEN, MIXING_LAYER) and told == 0:
        return {"flow": "uniform", "parameters": {"speed": 0.0}}
    if itype == TAYLOR_GREEN:
        own = {"flow": "xcompact3d", "parameters": {"kind": "taylor-green"}}
        return {"flow": "taylor-green"} if _vortex_fits(nml, boundaries) else own
    if itype == MIXING_LAYER:
        return {"flow": "xcompact3d", "parameters": {"kind": "mixing-layer"}}
    return {"flow": "uniform", "parameters": {**parameters, "speed": speed if itype == CYLINDER else 0.0}}


def _channel(nml: Namelist, told: int, parameters: dict[str, Any]) -> dict[str, Any]:
    along_z = nml.raw("BasicParam", "idir_stream") == 3
    if told != 0 and not along_z and nml.raw("BasicParam", "yly") == 2:
        return {"flow": "channel", "parameters": parameters}
    own = {"kind": "laminar" if told == 0 else "channel", "direction": "z" if along_z else "x"}
    return {"flow": "xcompact3d", "parameters": {**own, **parameters}}


def _vortex_fits(nml: Namelist, boundaries: list[Any]) -> bool:
    """Whether sin x cos y cos z goes with the box: its wave number is one of those of each direction."""
    if nml.raw("BasicParam", "istret"):
        return False
    for key, boundary in zip(("xlx", "yly", "zlz"), boundaries, strict=True):
        length = nml.raw("BasicParam", key)
        if boundary not in ("periodic", "free-slip") or not isinstance(length, int | float):
            return False
        if not 0 < length < math.inf:
            return False
        waves = length / (2 * math.pi if boundary == "periodic" else math.pi)
        if round(waves) < 1 or abs(waves - round(waves)) > 1e-12 * waves:
            return False
    return True
