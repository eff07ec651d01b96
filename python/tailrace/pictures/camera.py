"""From where a picture is seen. All is local."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Vector3 = tuple[float, float, float]
VIEWS: dict[str, Vector3] = {
    "corner": (0.52, -0.78, 0.48),
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, -1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
}
_ANGLE = 30.0  # degrees from the lower to the upper edge of the picture
_EDGE = 6  # pixels around a part of a picture, for the width of lines
_ROOM = 1.12  # around what is seen


@dataclass(frozen=True)
class Camera:
    """Position and direction, as VTK takes them.

    :param height: of what is seen, for a parallel projection; 0: perspective.
    :param near, far: the distances between which depths are measured.
    """

    position: Vector3
    focus: Vector3
    up: Vector3
    height: float
    near: float
    far: float

    def seen_at(self, point: Vector3, size: tuple[int, int]) -> tuple[float, float]:
        """Where a point is in a picture of `size`, in columns and rows from the upper left corner."""
        position, focus, top = (np.array(one) for one in (self.position, self.focus, self.up))
        towards = (position - focus) / np.linalg.norm(position - focus)
        right = np.cross(top, towards)
        away = np.array(point) - position
        scale = size[1] / (self.height or -2 * float(away @ towards) * math.tan(math.radians(_ANGLE / 2)))
        return size[0] / 2 + float(away @ right) * scale, size[1] / 2 - float(away @ top) * scale

    def cut(self, corners: Sequence[Vector3], size: tuple[int, int]) -> tuple[int, int, int, int]:
        """The part of a picture of `size` that shows what is between corners: left, top, right, bottom. Local."""
        places = np.array([self.seen_at(corner, size) for corner in corners])
        left, top = (int(one) for one in np.floor(places.min(axis=0)) - _EDGE)
        right, bottom = (int(one) for one in np.ceil(places.max(axis=0)) + _EDGE)
        return max(left, 0), max(top, 0), min(right, size[0]), min(bottom, size[1])

    def told(self) -> dict[str, Any]:
        """For the program that draws."""
        return {**vars(self), "angle": _ANGLE}


def camera_of(view: str | Vector3, up: str, lengths: Vector3, aspect: float, turn: float = 0.0) -> Camera:
    """The camera that sees a box from (0, 0, 0) to `lengths` as a whole.

    :param view: a name of `VIEWS`, seen without perspective but for "corner"; or the direction towards the camera.
    :param up: the axis that points upwards, "x", "y" or "z".
    :param aspect: width over height of the picture.
    :param turn: degrees by which the camera has gone around the upward axis.
    """
    flat = isinstance(view, str) and view != "corner"
    axis = "xyz".index(up)
    direction = _direction(view, axis, flat=flat)
    direction = _turned(direction, axis, math.radians(turn))
    upwards = np.eye(3)[axis] if abs(direction[axis]) < 0.999 else np.eye(3)[1 if axis != 1 else 2]
    right = np.cross(upwards, direction)
    right /= np.linalg.norm(right)
    top = np.cross(direction, right)
    box = np.array(lengths)
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * box - box / 2
    wide, high = np.abs(corners @ right), np.abs(corners @ top)
    radius = float(np.linalg.norm(box)) / 2
    if flat:
        height = 2 * _ROOM * max(float(high.max()), float(wide.max()) / aspect)
        distance = 2 * radius
    else:
        slope = math.tan(math.radians(_ANGLE / 2))
        towards = corners @ direction
        distance = max(
            float((towards + _ROOM * high / slope).max()), float((towards + _ROOM * wide / (slope * aspect)).max())
        )
        height = 0.0
    x, y, z = box / 2 + direction * distance
    middle, above = box / 2, tuple(float(one) for one in top)
    return Camera(
        (float(x), float(y), float(z)),
        (float(middle[0]), float(middle[1]), float(middle[2])),
        (above[0], above[1], above[2]),
        height,
        max(distance - 1.1 * radius, 0.01 * radius),
        distance + 1.1 * radius,
    )


def _direction(view: str | Vector3, axis: int, *, flat: bool) -> Any:
    """The unit vector towards the camera; "corner" is above the plane across the upward axis."""
    direction = np.array(VIEWS[view] if isinstance(view, str) else view, float)
    if isinstance(view, str) and not flat:
        direction = np.roll(direction, axis - 2)
    return direction / np.linalg.norm(direction)


def _turned(direction: Any, axis: int, angle: float) -> Any:
    a, b = (axis + 1) % 3, (axis + 2) % 3
    turned = direction.copy()
    turned[a] = math.cos(angle) * direction[a] - math.sin(angle) * direction[b]
    turned[b] = math.sin(angle) * direction[a] + math.cos(angle) * direction[b]
    return turned
