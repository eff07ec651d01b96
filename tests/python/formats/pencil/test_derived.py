"""Derived fields of the Pencil Code against exact derivatives, on equal and unequal spacing."""

import numpy as np
import pytest

from helpers.inputs.pencil_runs import HandMade
from tailrace.formats.pencil import dataset_at
from tailrace.formats.pencil.snapshots import derived
from tailrace.io.placement import Box

K = (2 * np.pi, np.pi, 2 * np.pi / 3)  # periods 1, 2, 3


def potential(made, derivative=(0, 0, 0)):
    """ax, ay, az as sums and products of waves, differentiated so many times in x, y, z."""
    z, y, x = np.meshgrid(*(axis.astype(float) for axis in made.axes[::-1]), indexing="ij")

    def wave(k, at, times, shift):
        return k**times * np.sin(k * at + shift + times * np.pi / 2)

    return [
        wave(K[0], x, derivative[0], 0.3 * i)
        * wave(K[1], y, derivative[1], 1 + 0.5 * i)
        * wave(K[2], z, derivative[2], 2 - 0.7 * i)
        for i in range(3)
    ]


def inner(values):
    return values[3:-3, 3:-3, 3:-3]


def box_of(found, name, box=None):
    box = box or Box((0, 0, 0), found.derived(0)[name].shape)
    out = np.empty(box.count[::-1], found.derived(0)[name].dtype)
    found.read(0, name, box, out)
    return out


def waves(tmp_path, stretched=False):
    made = HandMade(tmp_path / "data", (32, 48, 30), (2, 2, 1), stretched=stretched).texts()
    made.fields[4:7] = potential(made)
    made.fields[0:3] = 3.0 * made.fields[4:7]
    made.dist()
    return made, dataset_at(tmp_path)


@pytest.mark.parametrize("stretched", [False, True])
def test_curls(tmp_path, stretched):
    made, found = waves(tmp_path, stretched)
    unit = np.eye(3, dtype=int)

    def d(component, *axes):
        return inner(potential(made, tuple(sum(unit[axis] for axis in axes)))[component])

    for i, axis in enumerate("xyz"):
        j, k = (i + 1) % 3, (i + 2) % 3
        curl = d(k, j) - d(j, k)
        twice = d(j, i, j) + d(k, i, k) - d(i, j, j) - d(i, k, k)
        assert np.allclose(box_of(found, f"b{axis}"), curl, rtol=0, atol=1e-4)
        assert np.allclose(box_of(found, f"o{axis}"), 3 * curl, rtol=0, atol=3e-4)
        assert np.allclose(box_of(found, f"j{axis}"), twice / 2.0, rtol=0, atol=2e-3)  # mu0 = 2
    assert found.vectors(0) | {"bb": ("bx", "by", "bz"), "vort": ("ox", "oy", "oz")} == found.vectors(0)


def test_boxes_are_parts_of_the_whole(tmp_path, monkeypatch):
    _, found = waves(tmp_path)
    whole = {name: box_of(found, name) for name in ("bx", "jz", "rho")}
    monkeypatch.setattr(derived, "_PIECE", 2000)  # a row or two at once
    for name, values in whole.items():
        box = Box((5, 7, 9), (11, 13, 15))
        assert np.array_equal(box_of(found, name, box), values[9:24, 7:20, 5:16])


def test_the_temperature_of_an_ideal_gas(tmp_path):
    made = HandMade(tmp_path / "data", names=["lnrho", "ss"]).texts()
    (made.data / "index.pro").write_text(" ilnrho=1\n iss=2\n")
    (made.data / "varname.dat").write_text("   1  lnrho\n   2  ss\n")
    found = dataset_at(made.collect().data)
    gamma, cp, cs0, rho0 = 5 / 3, 1.5, 2.0, 0.5
    lnrho, ss = (inner(one) for one in made.fields)
    expected = cs0**2 / (cp * (gamma - 1)) * np.exp(gamma / cp * ss + (gamma - 1) * (lnrho - np.log(rho0)))
    assert np.allclose(box_of(found, "tt"), expected, rtol=1e-14)
    assert np.array_equal(box_of(found, "rho"), np.exp(lnrho))
    (made.data / "param.nml").unlink()
    assert list(dataset_at(made.data).derived(0)) == ["rho"]


def test_what_is_stored_is_not_computed(tmp_path):
    made = HandMade(tmp_path / "data", names=["ax", "ay", "az", "bx", "by", "bz", "rho", "lnTT"]).texts()
    (made.data / "index.pro").write_text("\n".join(f" i{name}={at}" for at, name in enumerate(made.names, 1)))
    (made.data / "varname.dat").unlink()
    found = dataset_at(made.dist().data)
    assert list(found.derived(0)) == ["jx", "jy", "jz", "tt"]
    assert np.array_equal(box_of(found, "tt"), np.exp(inner(made.fields[7])))
    assert not dataset_at(made.data, {"ghosts": "true"}).derived(0)


def test_a_plane_has_no_derivatives_across(tmp_path):
    made = HandMade(tmp_path / "data", (32, 48, 1), (2, 1, 1)).texts()
    made.fields[4:7] = potential(made)
    made.axes[2][:] = 1.5  # as the code has it in a direction of one point
    found = dataset_at(made.dist().data)
    assert found.grid.points == (32, 48, 1)
    dy = inner(potential(made, (0, 1, 0))[2])
    assert np.allclose(box_of(found, "bx"), dy, rtol=0, atol=1e-4)
