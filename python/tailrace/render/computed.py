"""Spectra, histograms and profiles that are computed from stored fields when they are drawn.

The functions are those of analyses, so that the curves are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailrace.core import InputError
from tailrace.fields import distributions, reductions, spectra
from tailrace.fields.field import Field
from tailrace.fields.vector import Vector

from .curves import Curve
from .quantities import arrays, field_of, has_velocity
from .style import AXES, PlotError

if TYPE_CHECKING:
    from tailrace.steps.abscissae import Kind
    from tailrace.steps.stored_step import StoredStep


def computed_curve(
    step: StoredStep, path: str, kind: Kind, name: str | None, axis: str | None, label: str, note: str
) -> Curve:
    """A spectrum (of a vector: of all components), a histogram or a profile of a field (of a vector: of its length).

    :param axis: the direction of a profile (default y) or of a one-dimensional spectrum; without it, over shells.
    :raises PlotError: the field does not exist, its grid is not known, or a spectrum needs periodic boundaries.
    """
    name = name or default_field(step, kind)
    found = field_of(step, name, path)
    try:
        if kind == "spectrum":
            return _spectrum(found, name, axis, label, note)
    except InputError as error:
        raise PlotError(f"{path}: {error}") from None
    field = found.norm() if isinstance(found, Vector) else found
    if kind == "histogram":
        histogram = distributions.histogram(field)
        return Curve("probability density", histogram.edges, histogram.density, name, label, note)
    axis = axis or "y"
    places = field.operators.coordinates(field.centred)[AXES.index(axis)]
    return Curve(f"⟨{name}⟩", places, reductions.mean(field, "xyz".replace(axis, "")), axis, label, note)


def _spectrum(found: Field | Vector, name: str, axis: str | None, label: str, note: str) -> Curve:
    if axis is None:
        one = spectra.spectrum(found)
        return Curve(f"E(k) of {name}", one.k, one.density, "wave number  k", label, note)
    parts = [spectra.spectrum_1d(part, axis) for part in ([found] if isinstance(found, Field) else found)]
    density = np.sum([part.density for part in parts], axis=0)
    return Curve(f"E(k{axis}) of {name}", parts[0].k, density, f"wave number  k{axis}", label, note)


def default_field(step: StoredStep, kind: Kind) -> str:
    """The field of which a curve is drawn if the user names none; "" if no field can be drawn."""
    stored = arrays(step)
    if kind == "spectrum" and has_velocity(step):
        return "u"
    if kind == "histogram" and "vorticity" in stored:
        return "vorticity"
    return stored[0] if stored else ""
