"""The flow that an input of Xcompact3D describes: boundaries, forces, scalars and the body, as tables of a case.

The cases are itype 1 (gravity current), 2 (Taylor-Green vortex), 3 (channel), 5 (cylinder) and 7 (mixing layer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.case.document import Document

if TYPE_CHECKING:
    from .namelist import Namelist

GRAVITY_CURRENT, TAYLOR_GREEN, CHANNEL, CYLINDER, MIXING_LAYER = 1, 2, 3, 5, 7
FLOWS = {
    GRAVITY_CURRENT: "gravity current", TAYLOR_GREEN: "Taylor-Green vortex", CHANNEL: "channel", CYLINDER: "cylinder",
    MIXING_LAYER: "mixing layer",
}  # fmt: skip
_NAMES = {
    GRAVITY_CURRENT: "current",
    TAYLOR_GREEN: "tgv",
    CHANNEL: "channel",
    CYLINDER: "cylinder",
    MIXING_LAYER: "mix",
}
_SIDES = {0: "periodic", 1: "free-slip", 2: "wall"}
_STRETCHINGS = {1: "centre", 2: "walls", 3: "bottom"}
_BULK = 2 / 3  # the mean velocity of the channel, which is not a key of the input


class FlowTables:
    """The tables of a case, from an input. Problems go to those of the input.

    :param itype: one of `FLOWS`.
    """

    def __init__(self, nml: Namelist, itype: int) -> None:
        self._nml, self._itype = nml, itype
        self._reynolds = nml.real("BasicParam", "re")
        self._stream = (nml.whole("BasicParam", "idir_stream", 1) or 1) - 1

    def add_to(self, document: Document) -> None:
        """Fill in what the flow consists of."""
        parts: dict[str, Any] = {
            "boundaries": [self._side(direction) for direction in "xyz"],
            **self._stretching(),
        }
        document["grid"] |= parts
        document["case"] |= {"name": _NAMES[self._itype], "project": False, **self._beginning()}
        if self._nml.whole("NumOptions", "isecondder", 4) == 5:
            document["numerics"]["hyperviscosity"] = {
                "at_cutoff": float(self._nml.real("NumOptions", "nu0nu", 4.0)),
                "middle": float(self._nml.real("NumOptions", "cnu", 0.44)),
            }
        if self._itype == CHANNEL:
            document["forcing"] = {**self._channel_force(document), **self._spin_up()}
        if self._itype == CYLINDER:
            document["boundary"] = self._inflow()
        scalars = self._scalars()
        if scalars:
            document["scalar"] = scalars
        if self._nml.whole("BasicParam", "iibm", 0):
            document["body"] = self._body()

    # ---- boundaries --------------------------------------------------------------------------------------------------
    def _side(self, direction: str) -> Any:
        names = [self._nml.choice("BasicParam", f"ncl{direction}{end}", _SIDES) for end in "1n"]
        if None in names:
            return None
        if self._itype == CYLINDER and direction == "x":
            if names != ["wall", "wall"]:
                self._nml.reject("BasicParam.nclx1", "and nclxn must be 2 for the cylinder: inflow and outflow")
            return ["inflow", "outflow"]
        if (names[0] == "periodic") != (names[1] == "periodic"):
            low, high = f"ncl{direction}1", f"ncl{direction}n"
            self._nml.reject(f"BasicParam.{low}", f"and {high} must both be periodic, or none of them")
            return None
        return names[0] if names[0] == names[1] else names

    def _stretching(self) -> dict[str, Any]:
        if not self._nml.whole("BasicParam", "istret", 0):
            return {}
        name = self._nml.choice("BasicParam", "istret", _STRETCHINGS)
        return {"stretching": name, "beta": float(self._nml.real("BasicParam", "beta") or 0)} if name else {}

    def _inflow(self) -> dict[str, Any]:
        """The inlet has u1; by its value Xcompact3D also chooses how the outlet carries away."""
        u1, u2 = (float(self._nml.real("BasicParam", key, 0.0) or 0) for key in ("u1", "u2"))
        speeds: dict[float, str | float] = {1.0: "largest", 0.0: "middle", 2.0: u2}
        speed = speeds.get(u1, (u1 + u2) / 2)
        return {"x_lower": [u1, 0.0, 0.0], "outflow_speed": speed, "balance": False}

    # ---- beginning and forces ----------------------------------------------------------------------------------------
    def _beginning(self) -> dict[str, Any]:
        nml = self._nml
        noise = float(nml.real("BasicParam", "init_noise", 0.0) or 0)
        parameters: dict[str, Any] = {"noise": noise} if noise and nml.whole("BasicParam", "iin", 0) else {}
        u1, u2 = (float(nml.real("BasicParam", key, 0.0) or 0) for key in ("u1", "u2"))
        if self._itype == TAYLOR_GREEN:
            at_rest = nml.whole("BasicParam", "iin", 0) == 0
            return {"flow": "uniform", "parameters": {"speed": 0.0}} if at_rest else {"flow": "taylor-green"}
        if self._itype == CHANNEL:
            return {"flow": "channel", "parameters": parameters}
        if self._itype == MIXING_LAYER:
            return {"flow": "mixing-layer", "parameters": {**parameters, "lower": u2, "upper": u1}}
        speed = u1 if self._itype == CYLINDER else 0.0
        return {"flow": "uniform", "parameters": {**parameters, "speed": speed}}

    def _channel_force(self, document: Document) -> dict[str, Any]:
        axis = "xyz"[self._stream]
        if not self._nml.raw("BasicParam", "cpg"):
            return {"flow_rate": _BULK, "direction": axis}
        length = self._nml.real("BasicParam", "yly")
        if self._reynolds is None or length is None:
            return {}
        reynolds = (self._reynolds / 0.116) ** (1 / 0.88)  # of the centre, by the friction law of Dean
        document["case"]["reynolds"] = reynolds
        acceleration = [0.0, 0.0, 0.0]
        acceleration[self._stream] = 2 / length * (self._reynolds / reynolds) ** 2
        return {"acceleration": acceleration}

    def _spin_up(self) -> dict[str, Any]:
        """The rotation about z by which the channel becomes turbulent: in the first steps, up to spinup_time - 1."""
        nml = self._nml
        rotation, steps = nml.real("Statistics", "wrotation", 0.0), nml.whole("Statistics", "spinup_time", 0)
        dt = nml.real("BasicParam", "dt")
        if not rotation or not steps or steps < 2 or not dt or (nml.whole("BasicParam", "iin", 0) or 0) > 2:
            return {}
        return {"coriolis": [0.0, 0.0, -float(rotation)], "coriolis_until": float((steps - 1) * dt)}

    # ---- scalars -----------------------------------------------------------------------------------------------------
    def _scalars(self) -> list[dict[str, Any]]:
        nml = self._nml
        count = nml.whole("BasicParam", "numscalar", 0) or 0
        if count < 1 and nml.raw("BasicParam", "iscalar"):
            nml.reject("BasicParam.iscalar", "needs numscalar, the number of scalars")
        gravity = [float(nml.real("BasicParam", f"grav{axis}", 0.0) or 0) for axis in "xyz"]
        names = ["phi"] if count == 1 else [f"phi{number:02d}" for number in range(1, count + 1)]
        found = []
        for number, name in enumerate(names):
            schmidt, buoyancy, settling, level = (
                self._entry(key, number, default)
                for key, default in (("sc", 1.0), ("ri", 0.0), ("uset", 0.0), ("cp", 1.0))
            )
            scalar: dict[str, Any] = {
                "name": name,
                "schmidt": schmidt,
                "buoyancy": [buoyancy * g for g in gravity],
                "settling": [settling * g for g in gravity],
                "boundaries": [self._scalar_side(axis, level) for axis in "xyz"],
            }
            if self._itype == CHANNEL:
                scalar["initial"] = "linear"
            if self._itype == GRAVITY_CURRENT:
                front = nml.real("CASE", "pfront", 1.0)
                thickness = (schmidt * (self._reynolds or 1.0)) ** -0.5
                scalar |= {"initial": "front", "front": float(front), "thickness": thickness}
            bounds = [self._entry(key, number, None) for key in ("scalar_lbound", "scalar_ubound")]
            if None not in bounds:
                scalar["limits"] = bounds
            found.append(scalar)
        return found

    def _entry(self, key: str, number: int, default: float | None, group: str = "ScalarParam") -> Any:
        """An entry of an array."""
        value = self._nml.raw(group, key)
        entries = value if isinstance(value, list) else [value]
        if number >= len(entries) or entries[number] is None:
            return default
        if isinstance(entries[number], bool) or not isinstance(entries[number], int | float):
            self._nml.reject(f"{group}.{key}({number + 1})", f"must be a number (found {entries[number]})")
            return default
        return float(entries[number])

    def _scalar_side(self, axis: str, level: float) -> list[Any]:
        ends: list[Any] = []
        for upper, end in enumerate("1n"):
            own = self._nml.whole("ScalarParam", f"ncl{axis}S{end}", None)
            kind = own if own is not None else self._nml.whole("BasicParam", f"ncl{axis}{end}", 0)
            if kind not in _SIDES:
                self._nml.reject(f"ScalarParam.ncl{axis}S{end}", f"must be 0, 1 or 2 (found {kind})")
                kind = 1
            ends.append({0: "periodic", 1: "no-flux"}.get(kind, self._given(axis, bool(upper), level)))
        return ends

    def _given(self, axis: str, upper: bool, level: float) -> Any:
        """What Xcompact3D's cases have at an end where the scalar is given."""
        if self._itype == CHANNEL and axis == "y":
            return 0.0 if upper else 1.0
        if self._itype == GRAVITY_CURRENT and axis == "y" and not upper:
            return "deposit"
        if self._itype == CYLINDER and axis == "x":
            return "outflow" if upper else level
        return 0.0

    def _body(self) -> dict[str, Any]:
        nml = self._nml
        if self._itype != CYLINDER:
            nml.reject("BasicParam.iibm", "bodies are those of the cylinder, itype = 5; set it to 0")
        if nml.whole("BasicParam", "iibm", 0) != 2:
            nml.reject("BasicParam.iibm", "must be 0, or 2, the polynomial reconstruction")
        centre = [float(nml.real("ibmstuff", key) or 0) for key in ("cex", "cey")]
        radius, refinement = nml.real("ibmstuff", "ra"), nml.whole("ibmstuff", "nraf", 10)
        body = {"shape": "cylinder", "centre": centre, "radius": float(radius or 1), "refinement": refinement}
        box = self._box()
        return body | ({"box": box} if box else {})

    def _box(self) -> list[Any] | None:
        """The first control volume, where forces are asked for; it reaches from end to end in z."""
        if not self._nml.whole("ibmstuff", "iforces", 0):
            return None
        spans = [[self._entry(key, 0, None, "ForceCVs") for key in keys] for keys in (("xld", "xrd"), ("yld", "yud"))]
        if any(place is None for span in spans for place in span):
            self._nml.reject("ForceCVs", "iforces needs the box around the body: xld(1), xrd(1), yld(1) and yud(1)")
            return None
        return [*spans, "all"]
