"""The random force on a band of wave numbers: its spectrum, the power that it adds, and its bits after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import tailrace as tr
from tailrace.flow.band import BandForce
from tailrace.flow.model import Model

CASE = {
    "case": {"flow": "isotropic", "parameters": {"k0": 2.0, "energy": 0.5}, "reynolds": 100.0},
    "grid": {"points": (24, 27, 20), "lengths": ("2*pi",) * 3, "boundaries": ("periodic",) * 3},
    "time": {"dt": 0.01, "steps": 6},
    "forcing": {"band": {"k_min": 1.0, "k_max": 2.0, "power": 0.3, "seed": 7}},
}


def force(step, dt=0.01):
    case = tr.Case(**CASE)
    grid = tr.core.Grid(case.grid.points, case.grid.lengths, case.grid.sides)
    return BandForce(case.forcing.band, grid, ((0, 0, 0), case.grid.points))(step, dt)


def test_it_has_energy_in_the_band_alone_and_no_divergence():
    ops = tr.Operators(CASE["grid"]["points"], (2 * np.pi,) * 3, ("periodic",) * 3)
    vector = tr.Vector(*(tr.Field(part, ops) for part in force(3)))
    spectrum = tr.spectrum(vector)
    inside = (spectrum.k > 0.5) & (spectrum.k < 2.5)
    assert spectrum.density[~inside].max() < 1e-12 * spectrum.density[inside].min()
    assert (spectrum.density * 1.0)[inside].sum() == pytest.approx(0.3 / 0.01)  # <f . f> / 2, shells are 1 apart
    assert np.abs(tr.div(vector).data).max() < 0.05 * max(np.abs(part).max() for part in force(3))


def test_each_step_has_another_force_and_the_same_one_again():
    assert not np.array_equal(force(3)[0], force(4)[0])
    for one, other in zip(force(3), force(3), strict=True):
        assert np.array_equal(one, other)


def test_it_adds_the_power_in_the_mean():
    """At rest and without viscosity the energy after a step is power * dt, to the order of the scheme."""
    case = {**CASE, "case": {"flow": "uniform", "parameters": {"speed": 0.0}, "reynolds": 1e9}}
    model = Model(tr.Case(**case))
    model.advance()
    assert model.measure()["kinetic_energy"] == pytest.approx(0.3 * 0.01, rel=1e-3)


def test_a_band_that_does_not_fit_is_an_error():
    for change, reason in (
        ({"k_min": 0.5}, "smallest wave number of the box"),
        ({"k_max": 9.0}, "half of what the grid has"),
        ({"k_min": 3.0}, "to k_max"),
    ):
        band = CASE["forcing"]["band"] | change
        with pytest.raises(tr.ConfigError, match=reason):
            tr.Case(**CASE | {"forcing": {"band": band}})
