"""The flow that an input of Xcompact3D describes: boundaries, forces, scalars and the body, as tables of a case.

The cases are itype 1 (gravity current), 2 (Taylor-Green vortex), 3 (channel), 5 (cylinder) and 7 (mixing layer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.case.document import Document
from tailrace.case.values import LARGEST

from .input_beginning import CHANNEL, CYLINDER, GRAVITY_CURRENT, MIXING_LAYER, TAYLOR_GREEN, beginning_of

if TYPE_CHECKING:
    from .namelist import Namelist

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
_BODY = {"npif": 2, "izap": 1, "imove": 0, "ubcx": 0, "ubcy": 0, "ubcz": 0}  # all that is computed
_BULK = 2 / 3  # the mean velocity of the channel, which is not a key of the input


def refuse_other_ends(nml: Namelist, axes: str, what: str) -> None:
    """Add a problem for each end along these axes where scalars have another kind of boundary than the velocity."""
    for axis in axes:
        for end in "1n":
            key = f"ncl{axis}{end}"
            velocity, scalar = nml.raw("BasicParam", key), nml.raw("ScalarParam", f"ncl{axis}S{end}")
            if scalar is not None and scalar != velocity:
                reason = f"with {what} it must be as {key} = {velocity} (found {scalar})"
                nml.reject(f"ScalarParam.ncl{axis}S{end}", reason)


class FlowTables:
    """The tables of a case, from an input. Problems go to those of the input.

    :param itype: one of `FLOWS`.
    """

    def __init__(self, nml: Namelist, itype: int) -> None:
        self._nml, self._itype = nml, itype
        self._reynolds = nml.real("BasicParam", "re")
        # u1 and u2; Xcompact3D has 2 and 1 where the input does not give them.
        self._speeds = [float(nml.real("BasicParam", key, default) or 0) for key, default in (("u1", 2), ("u2", 1))]
        self._stream = nml.choice("BasicParam", "idir_stream", {1: "x", 3: "z"}, 1) or "x" if itype == CHANNEL else "x"

    def add_to(self, document: Document) -> None:
        """Fill in what the flow consists of."""
        parts: dict[str, Any] = {
            "boundaries": [self._side(direction) for direction in "xyz"],
            **self._stretching(),
        }
        document["grid"] |= parts
        beginning = beginning_of(self._nml, self._itype, self._speeds[0], parts["boundaries"])
        document["case"] |= {"name": _NAMES[self._itype], "project": False, **beginning}
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
        u1, u2 = self._speeds
        speeds: dict[float, str | float] = {1.0: "largest", 0.0: "middle", 2.0: u2}
        speed = speeds.get(u1, (u1 + u2) / 2)
        if self._nml.whole("BasicParam", "numscalar", 0) and speeds.get(u2) != speed:
            both = "chooses the outflow of scalars, u1 that of the velocity: both must be 0, both 1 or both 2"
            self._nml.reject("BasicParam.u2", f"{both} (found u1 = {u1:g}, u2 = {u2:g})")
        return {"x_lower": [u1, 0.0, 0.0], "outflow_speed": speed, "balance": False}

    # ---- forces ------------------------------------------------------------------------------------------------------
    def _channel_force(self, document: Document) -> dict[str, Any]:
        if not self._nml.raw("BasicParam", "cpg"):
            for at in (0, 2):
                if document["grid"]["boundaries"][at] not in ("periodic", None):
                    key = f"BasicParam.ncl{'xyz'[at]}1"
                    self._nml.reject(key, "must be 0, as must the other end, for a constant flow rate (cpg = F)")
            return {"flow_rate": _BULK, "direction": self._stream}
        length = self._nml.real("BasicParam", "yly")
        if self._reynolds is None or length is None:
            return {}
        reynolds = (self._reynolds / 0.116) ** (1 / 0.88)  # of the centre, by the friction law of Dean
        document["case"]["reynolds"] = reynolds
        acceleration = [0.0, 0.0, 0.0]
        acceleration["xyz".index(self._stream)] = 2 / length * (self._reynolds / reynolds) ** 2
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
        names = [f"phi{number:02d}" for number in range(1, count + 1)]
        found = []
        for number, name in enumerate(names):
            schmidt, buoyancy, settling, level = (
                self._entry(key, number, default)
                for key, default in (("sc", 1.0), ("ri", 0.0), ("uset", 0.0), ("cp", 0.0))
            )
            scalar: dict[str, Any] = {
                "name": name,
                "schmidt": schmidt,
                "buoyancy": [buoyancy * g for g in gravity],
                "settling": [settling * g for g in gravity],
                "boundaries": [self._scalar_side(axis, level) for axis in "xyz"],
            }
            if self._itype == TAYLOR_GREEN and nml.whole("BasicParam", "iin", 0) == 1:
                scalar["initial"] = "waves"
            if self._itype == GRAVITY_CURRENT:
                front = nml.real("CASE", "pfront", 0.0)
                thickness = (schmidt * (self._reynolds or 1.0)) ** -0.5
                scalar |= {"initial": "front", "front": float(front or 0), "thickness": thickness, "level": level}
            if settling:
                self._check_settling(number, gravity)
            if settling and "deposit" in scalar["boundaries"][1]:
                scalar |= self._deposit(number, gravity[1])
            least, most = (self._entry(key, number, None) for key in ("scalar_lbound", "scalar_ubound"))
            if (least, most) != (None, None):
                scalar["limits"] = [-LARGEST if least is None else least, LARGEST if most is None else most]
            found.append(scalar)
        return found

    def _check_settling(self, number: int, gravity: list[float]) -> None:
        """Xcompact3D differentiates what settles with the boundaries of the velocity, the rest with the scalar's."""
        for axis, pull in zip("xyz", gravity, strict=True):
            if pull:
                refuse_other_ends(self._nml, axis, f"uset({number + 1}) and gravity along {axis}")

    def _deposit(self, number: int, gravity: float) -> dict[str, Any]:
        """What settles at the bottom; Xcompact3D takes the mean distance of nodes there, also where y is stretched."""
        if gravity >= 0:
            self._nml.reject(
                "BasicParam.gravy", f"must be below 0, as uset({number + 1}) is for what settles (found {gravity:g})"
            )
        length, nodes = self._nml.raw("BasicParam", "yly"), self._nml.raw("BasicParam", "ny")
        stretched = self._nml.raw("BasicParam", "istret")
        if not stretched or not isinstance(length, int | float) or not isinstance(nodes, int) or nodes < 2:
            return {}
        return {"deposit_distance": length / (nodes - 1)}

    def _entry(self, key: str, number: int, default: float | None, group: str = "ScalarParam") -> Any:
        """An entry of an array."""
        value = self._nml.entry(group, key, number)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._nml.reject(f"{group}.{key}({number + 1})", f"must be a number (found {value})")
            return default
        return float(value)

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
        return "free"

    def _body(self) -> dict[str, Any]:
        nml = self._nml
        if self._itype != CYLINDER:
            nml.reject("BasicParam.iibm", "bodies are those of the cylinder, itype = 5; set it to 0")
        if nml.whole("BasicParam", "iibm", 0) != 2:
            nml.reject("BasicParam.iibm", "must be 0, or 2, the polynomial reconstruction")
        for key, only in _BODY.items():
            value = nml.real("ibmstuff", key, only)
            if value is not None and value != only:
                nml.reject(f"ibmstuff.{key}", f"must be {only}: bodies are at rest, and of one scheme (found {value})")
        centre = [float(nml.real("ibmstuff", key) or 0) for key in ("cex", "cey")]
        radius, refinement = nml.real("ibmstuff", "ra"), nml.whole("ibmstuff", "nraf", 10)
        body = {"shape": "cylinder", "centre": centre, "radius": float(radius or 1), "refinement": refinement}
        self._check_place(centre[1], body["radius"])
        box = self._box()
        return body | ({"box": box} if box else {})

    def _check_place(self, middle: float, radius: float) -> None:
        """Where y is periodic a body of Xcompact3D does not go on at the other end, nor do the nodes around it.

        At the upper end of another y it has half of the distance by which bodies are continued at the other ends.
        """
        length, nodes = self._nml.raw("BasicParam", "yly"), self._nml.raw("BasicParam", "ny")
        numbers = isinstance(length, int | float) and isinstance(nodes, int) and nodes > 0
        if numbers and self._nml.raw("BasicParam", "ncly1") and middle + radius >= length:
            self._nml.reject("ibmstuff.cey", f"must be below {length - radius:.4g}, yly - ra (found {middle:g})")
        if not numbers or self._nml.raw("BasicParam", "ncly1") != 0:
            return
        step = length / nodes
        low, high = 2 * step + radius, length - 3 * step - radius
        if not low <= middle <= high:
            reason = "three nodes must lie between the body and each end of a periodic y"
            self._nml.reject("ibmstuff.cey", f"must be from {low:.4g} to {high:.4g}: {reason} (found {middle:g})")

    def _box(self) -> list[Any] | None:
        """The first control volume, where forces are asked for; it reaches from end to end in z."""
        if not self._nml.whole("ibmstuff", "iforces", 0):
            return None
        spans = [[self._entry(key, 0, None, "ForceCVs") for key in keys] for keys in (("xld", "xrd"), ("yld", "yud"))]
        if any(place is None for span in spans for place in span):
            self._nml.reject("ForceCVs", "iforces needs the box around the body: xld(1), xrd(1), yld(1) and yud(1)")
            return None
        return [*spans, "all"]
