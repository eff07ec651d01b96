"""What a picture shows, from where, how large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .camera import Vector3
from .colours import Range
from .frame import Theme
from .quantity import Function


@dataclass(frozen=True)
class Layer:
    """A surface, a slice, arrows on a slice, or a volume.

    :param field: whose surface it is, or what the slice shows; see `quantity.quantity`.
    :param levels: the values of the surfaces; none: chosen at the first picture.
    :param colour: what a surface is coloured by; "": its own field.
    :param axis, place: of a slice: the direction across it and its coordinate; "": it is a surface.
    :param normal, through: of a slice that is oblique: the direction across it and a point of it; None: the middle
        of the box.
    :param spacing: of arrows: how many nodes they are apart, the longest being as long; 0: it has no arrows.
    :param opacity: of a volume: what a tenth of the box hides where values are largest; 0: it is none.
    :param limits: the range of the colours; None: that of the pictures so far.
    :param colours: a colour map of matplotlib; "": by the range.
    :param label: the name of what the colours show; "": its field.
    """

    field: str
    levels: tuple[float, ...] = ()
    colour: str = ""
    axis: str = ""
    place: float = 0.0
    normal: Vector3 | None = None
    through: Vector3 | None = None
    spacing: int = 0
    opacity: float = 0.0
    limits: Range | None = None
    colours: str = ""
    label: str = ""

    @property
    def shown(self) -> str:
        """The field whose values the colours show."""
        return self.colour or self.field


@dataclass(frozen=True)
class Scene:
    """What a picture shows, from where, how large.

    :param size: columns and rows.
    :param smooth: each side of a pixel is drawn by so many, of which it is the mean: edges have no steps.
    :param view, up: see `camera.camera_of`.
    :param orbit: degrees by which the camera goes around in a unit of time.
    :param turn: degrees by which it has gone around at first.
    :param clear: nothing is behind what is shown.
    :param functions: of a step, by the names that layers use.
    """

    layers: tuple[Layer, ...]
    size: tuple[int, int] = (1280, 720)
    smooth: int = 2
    view: str | Vector3 = "corner"
    up: str = "z"
    orbit: float = 0.0
    turn: float = 0.0
    title: str = ""
    theme: Theme = field(default_factory=Theme)
    clear: bool = False
    functions: Mapping[str, Function] = field(default_factory=dict)
