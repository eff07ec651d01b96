"""Immersed bodies at rest: shapes that a flow goes around.

A shape tells for points whether they are inside it. The solver rebuilds the lines of its derivatives within the body,
so that the velocity vanishes on its surface (Gautier, Laizet and Lamballais 2014).

Shapes are asked for points of the box only. One that crosses a periodic end must also tell of the part that comes in at
the other end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tailrace.core import Flow32, Flow64, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFINEMENT = 10
"""By how many times a line is refined to find where it enters a body; Xcompact3D's `nraf`."""

_ROUNDING = 10 * np.finfo(np.float64).eps  # nodes on the surface are inside, as in Xcompact3D, whatever rounding does


class Shape(Protocol):
    """Whether points are inside: arrays of x, y and z of one length to booleans (or ones and zeros) of that length."""

    def __call__(self, x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], /) -> NDArray[Any]:
        """Whether each point is inside."""
        ...


@dataclass(frozen=True)
class Cylinder:
    """A circular cylinder, endless along its axis.

    :param centre: of the circle, in the two directions across the axis, in the order x, y, z.
    :param axis: "x", "y" or "z".
    """

    centre: tuple[float, float]
    radius: float
    axis: str = "z"

    def __post_init__(self) -> None:
        if self.axis not in ("x", "y", "z"):
            raise InputError(f'the axis of a cylinder is "x", "y" or "z"; found {self.axis!r}')
        _check(self.centre, 2, self.radius, "cylinder")

    def __call__(self, x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], /) -> NDArray[Any]:
        """Whether each point is inside; points on the surface are."""
        a, b = (points for points, axis in zip((x, y, z), "xyz", strict=True) if axis != self.axis)
        distance = np.sqrt((a - self.centre[0]) ** 2 + (b - self.centre[1]) ** 2)
        return np.asarray(distance - self.radius <= _ROUNDING)


@dataclass(frozen=True)
class Sphere:
    """A sphere around `centre` (x, y, z)."""

    centre: tuple[float, float, float]
    radius: float

    def __post_init__(self) -> None:
        _check(self.centre, 3, self.radius, "sphere")

    def __call__(self, x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], /) -> NDArray[Any]:
        """Whether each point is inside; points on the surface are."""
        cx, cy, cz = self.centre
        return np.asarray(np.sqrt((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2) - self.radius <= _ROUNDING)


def of_distance(distance: Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], NDArray[Any]]) -> Shape:
    """The shape with this signed distance (x, y, z) from its surface: negative inside, positive outside."""
    return lambda x, y, z: np.asarray(distance(x, y, z)) <= 0


def put_into(flow: Flow64 | Flow32, shape: Shape, name: str, refinement: int = REFINEMENT) -> None:
    """Puts a body into a flow, in place of an earlier one. Collective.

    :param shape: a function of x, y, z (arrays of one length), such as `Cylinder` or `Sphere`. It must not communicate.
    :param name: what messages call it.
    :raises InputError: on all ranks, where the shape fails on any rank or returns anything but a truth value for each
        point, or no node is inside it.
    """

    def fill(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], inside: NDArray[np.uint8]) -> None:
        try:
            answer = np.asarray(shape(x, y, z))
        except Exception as error:
            raise InputError(f"{name} failed: {type(error).__name__}: {error}") from error
        if answer.shape != x.shape or answer.dtype.kind not in "biu" or (answer.dtype.kind != "b" and _odd(answer)):
            raise InputError(
                f"{name} must return a truth value for each of {x.size} points; found an array of {answer.dtype} with "
                f"shape {answer.shape}. Where the function is a signed distance, compare it with zero"
            )
        inside[...] = answer

    flow.set_body(fill, refinement)


def _odd(answer: NDArray[Any]) -> bool:
    return bool(((answer != 0) & (answer != 1)).any())


def _check(centre: tuple[float, ...], expected: int, radius: float, what: str) -> None:
    if len(centre) != expected or not np.isfinite(centre).all():
        raise InputError(f"the centre of a {what} is {expected} finite numbers; found {centre!r}")
    if not (np.isfinite(radius) and radius > 0):
        raise InputError(f"the radius of a {what} is a positive number; found {radius!r}")
