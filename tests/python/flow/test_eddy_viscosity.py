"""The eddy viscosity of large-eddy simulations, against its formulas computed with NumPy and the operators."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.programs import eddy_programs
from helpers.programs.eddy_programs import LENGTHS, POINTS, beginning, first_right_hand_sides


def expected(name, constant, schmidt):
    """The force and the source, by the gradient of the operators."""
    ops = tr.Operators(POINTS, LENGTHS, ("periodic", "dirichlet", "periodic"), stretching="walls", beta=0.5)
    fields = beginning(ops.grid)

    def slope(values, d):
        return np.asarray((tr.ddx, tr.ddy, tr.ddz)[d](tr.Field(np.ascontiguousarray(values), ops)).data)

    g = np.array([[slope(fields[i], d) for d in range(3)] for i in range(3)])
    strain = (g + g.swapaxes(0, 1)) / 2
    size = (strain**2).sum(axis=(0, 1))
    y = np.array(ops.grid.coordinates(1))
    widths = [LENGTHS[0] / 16, LENGTHS[1] / 20 / np.array(ops.grid.metric(1)), LENGTHS[2] / 12]
    width = np.cbrt(widths[0] * widths[1] * widths[2])[None, :, None]
    if name == "smagorinsky":
        wall = 0.4 * np.minimum(y, LENGTHS[1] - y)[None, :, None]
        with np.errstate(divide="ignore"):
            nu = np.sqrt(2 * size) / (1 / (constant * width) ** 2 + 1 / wall**2)
    else:
        square = np.einsum("ik...,kj...->ij...", g, g)
        trace = np.einsum("ii...->...", square) / 3
        traceless = (square + square.swapaxes(0, 1)) / 2 - np.eye(3)[:, :, None, None, None] * trace
        other = (traceless**2).sum(axis=(0, 1))
        nu = (constant * width) ** 2 * other**1.5 / (size**2.5 + other**1.25)
    force = [sum(slope(2 * nu * strain[i, j], j) for j in range(3)) for i in range(3)]
    source = sum(slope(nu / schmidt * slope(fields[3], d), d) for d in range(3))
    return [*force, source], nu


@pytest.mark.parametrize(("name", "constant"), [("smagorinsky", 0.17), ("wale", 0.5)])
def test_the_force_is_that_of_the_formula(name, constant):
    _, plain = first_right_hand_sides(None, MPI.COMM_SELF, 1, 1)
    _, with_model = first_right_hand_sides((name, constant, 0.7), MPI.COMM_SELF, 1, 1)
    forces, nu = expected(name, constant, 0.7)
    assert nu.max() > 1e-4
    assert nu[:, 0, :].max() < (1e-12 if name == "smagorinsky" else 1e-3)  # it vanishes at a wall
    for before, after, force in zip(plain, with_model, forces, strict=True):
        assert np.abs(force).max() > 1e-3
        np.testing.assert_allclose(after - before, force, rtol=0, atol=1e-11 * np.abs(after).max())


@pytest.mark.parametrize("form", ["conservative", "xcompact3d"])
@pytest.mark.parametrize(("rows", "cols"), [(3, 1), (1, 3)])
def test_it_is_the_same_on_other_ranks(three, rows, cols, form):
    for outcome in three.run(eddy_programs.difference_from_alone, rows=rows, cols=cols, form=form):
        assert outcome.result is not None, outcome.trace
        assert outcome.result < 1e-13


def test_the_form_of_xcompact3d_is_that_of_its_formula():
    """nu_t lap u + 2 S grad nu_t; whole runs of it are compared in test_xcompact3d_inputs."""
    _, plain = first_right_hand_sides(None, MPI.COMM_SELF, 1, 1)
    _, with_model = first_right_hand_sides(("smagorinsky", 0.17, 0.7, "xcompact3d"), MPI.COMM_SELF, 1, 1)
    ops = tr.Operators(POINTS, LENGTHS, ("periodic", "dirichlet", "periodic"), stretching="walls", beta=0.5)
    fields = [tr.Field(np.ascontiguousarray(one), ops) for one in beginning(ops.grid)]
    slopes = (tr.ddx, tr.ddy, tr.ddz)
    g = np.array([[np.asarray(slopes[d](one).data) for d in range(3)] for one in fields])
    strain = (g[:3] + g[:3].swapaxes(0, 1)) / 2
    heights = np.diff(np.array(ops.grid.coordinates(1)))
    width = np.cbrt(LENGTHS[0] / 16 * np.append(heights, heights[-1]) * LENGTHS[2] / 12)[None, :, None]
    nu = (0.17 * width) ** 2 * np.sqrt(2 * (strain**2).sum(axis=(0, 1)))
    gradient = np.array([np.asarray(slope(tr.Field(np.ascontiguousarray(nu), ops)).data) for slope in slopes])
    laplacian = [np.asarray(tr.laplacian(one).data) for one in fields]
    expected = [nu * laplacian[i] + 2 * (strain[i] * gradient).sum(axis=0) for i in range(3)]
    expected.append(nu * laplacian[3] + (g[3] * gradient).sum(axis=0))  # the Schmidt number of the scalar is one
    assert nu[:, 0, :].max() > 1e-3, "it is not damped at a wall"
    for before, after, wanted in zip(plain, with_model, expected, strict=True):
        assert np.abs(wanted).max() > 1e-3
        np.testing.assert_allclose(after - before, wanted, rtol=0, atol=1e-11 * np.abs(after).max())
