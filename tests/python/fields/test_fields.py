"""Fields: NumPy on their parts, reductions over the whole, parities, and derivatives that use them."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.programs import field_programs

NODES, LENGTHS = (17, 12, 14), (2.0, 3.0, 1.5)
MIXED = ("free-slip", "periodic", "free-slip")


@pytest.fixture
def ops():
    return tr.Operators(NODES, LENGTHS, MIXED)


@pytest.fixture
def noise(ops):
    values = np.random.default_rng(5).standard_normal((2, *ops.local_shape()))
    return [tr.Field.from_function(ops, part, name=name) for part, name in zip(values, "fg", strict=True)]


def test_arithmetic_is_numpys(noise):
    f, g = noise
    a, b = np.asarray(f), np.asarray(g)
    for found, expected in (
        (2 * f + g / 3 - 1, 2 * a + b / 3 - 1),
        (-f * abs(g) ** 1.5, -a * abs(b) ** 1.5),
        (np.sin(f) + np.maximum(f, g), np.sin(a) + np.maximum(a, b)),
        (f > g, a > b),
        (np.where(np.asarray(f > 0), f, 0) * 1.0, np.where(a > 0, a, 0)),
        (np.float64(3) * f, 3 * a),
        (f + b, a + b),
        (np.hypot(f, g), np.hypot(a, b)),
        (f // 0.5, a // 0.5),
    ):
        assert (np.asarray(found) == expected).all()
    assert isinstance(2 * f + g, tr.Field)
    f[0, 1:3] = 7
    f += 1
    assert (f[0, 1:3] == 8).all()
    assert f[..., 2].shape == (14, 12)
    assert (f[np.asarray(g) > 0] == np.asarray(f)[np.asarray(g) > 0]).all()


def test_memory_is_shared_where_it_says_so(noise):
    f, g = noise
    own = f.copy()
    assert np.asarray(f) is f.data
    assert f.to_xarray().data.base is f.data or np.shares_memory(f.to_xarray().data, f.data)
    assert not np.shares_memory(own.data, f.data)
    out = np.add(f, g, out=own)
    assert out is own
    assert (own.data == f.data + g.data).all()
    array = f.to_xarray()
    assert array.dims == ("z", "y", "x")
    assert np.allclose(array.coords["y"], np.arange(12) * 0.25)
    assert np.allclose(array.coords["x"], np.linspace(0, 2, 17))


def test_memory_is_used_again_but_never_while_it_is_held(ops):
    held = [tr.Field.from_function(ops, float(n)) for n in range(40)]
    for _ in range(5):
        held[1] * held[2] + 3
    assert [f.data[3, 2, 1] for f in held] == list(range(40))


def test_reductions_weigh_the_ends_of_open_directions(ops):
    x, y, z = np.pi / 2.0, 2 * np.pi / 3.0, np.pi / 1.5
    f = tr.Field.from_function(ops, lambda X, Y, Z: np.cos(x * X) ** 2 * np.sin(y * Y) ** 2 * np.cos(z * Z) ** 2)
    assert abs(f.mean() - 1 / 8) < 1e-15
    assert abs(f.integral() - 9 / 8) < 1e-14
    assert np.mean(f) == f.mean() == tr.mean(f)
    assert abs(f.mean("xz") - np.sin(y * np.arange(12) * 0.25) ** 2 / 4).max() < 1e-15
    assert f.mean("y").shape == (14, 17)
    assert abs(f.mean(axis=(0, 2)) - f.mean("xz")).max() == 0
    assert f.sum() == pytest.approx(np.asarray(f).sum(), rel=1e-14)
    assert (f.min(), np.max(f)) == (np.asarray(f).min(), np.asarray(f).max())
    assert f.std() == pytest.approx(np.sqrt((f * f).mean() - 1 / 64), rel=1e-13)
    assert np.std(f) == np.std(f, ddof=0) == f.std(ddof=0) == f.std()
    assert np.var(f) == np.var(f, ddof=0) == f.var(ddof=0) == f.var()
    assert bool(np.all(f >= 0)) and not (f > 0.5).all()
    assert np.isnan((f * np.where(np.asarray(f) > 0.2, np.nan, 1)).max())


def test_float32_is_summed_in_double():
    ops = tr.Operators((256, 16, 16), (1, 1, 1), ("periodic",) * 3, dtype=np.float32)
    f = tr.Field.from_function(ops, 0.1)
    assert f.dtype == np.float32
    assert (f * 2).dtype == np.float32
    assert abs(f.mean() / float(np.float32(0.1)) - 1) < 1e-7
    assert abs(f.sum() / (float(np.float32(0.1)) * 65536) - 1) < 1e-12


def test_parity_follows_arithmetic(ops):
    odd = tr.Field.from_function(ops, 1.0, parity=(-1, 1, 1))
    even = tr.Field.from_function(ops, 2.0)
    lost = (odd + even).parity
    assert lost == (0, 1, 1)
    for found, expected in (
        (odd * odd, 1), (odd * even, -1), (odd / even, -1), (2 * odd, -1), (odd + odd, -1), (abs(odd), 1), (odd**2, 1),
        (odd**3, -1), (np.sin(odd), -1), (np.cos(odd), 1), (np.exp(odd), 0), (np.exp(even), 1), (odd - 1, 0),
        (np.sqrt(odd * odd), 1), (even**0.5, 1), (-odd, -1), (odd + even, 0),
    ):  # fmt: skip
        assert found.parity[0] == expected, found
    assert tr.Field.from_function(ops, 1.0, parity=(1, -1, 1)).parity == (1, 1, 1), "periodic directions have none"
    with pytest.raises(tr.InputError, match=r"free-slip boundary in x is not known.*with_parity\(\(1 or -1, 1, 1\)\)"):
        tr.ddx(odd + even)
    tr.ddy(odd + even)
    assert tr.ddx((odd + even).with_parity((1, 1, 1))).parity == (-1, 1, 1)


def waves(ops):
    """Velocity and pressure of a Taylor-Green vortex between free-slip walls."""
    a, b, c = np.pi / 2.0, 2 * np.pi / 3.0, np.pi / 1.5
    u = tr.Vector.from_function(
        ops,
        lambda x, y, z: (
            np.sin(a * x) * np.cos(b * y) * np.cos(c * z),
            np.cos(a * x) * np.sin(b * y + 0.3) * np.cos(c * z),
            np.cos(a * x) * np.cos(b * y) * np.sin(c * z),
        ),
    )
    return u, tr.Field.from_function(ops, lambda x, y, z: np.cos(a * x) * np.sin(b * y) * np.cos(c * z), name="p")


def errors(n):
    """The errors of all derivatives on n nodes, by name."""
    ops = tr.Operators((n + 1, n, n + 1), LENGTHS, MIXED)
    u, p = waves(ops)
    a, b, c = np.pi / 2.0, 2 * np.pi / 3.0, np.pi / 1.5
    x, y, z = p.coordinates()
    sx, cx, sz, cz = np.sin(a * x), np.cos(a * x), np.sin(c * z), np.cos(c * z)
    exact = {
        "grad x": (tr.grad(p)[0], -a * sx * np.sin(b * y) * cz),
        "grad y": (tr.grad(p)["y"], b * cx * np.cos(b * y) * cz),
        "grad z": (tr.grad(p)[2], -c * cx * np.sin(b * y) * sz),
        "laplacian": (tr.laplacian(p), -(a * a + b * b + c * c) * np.asarray(p)),
        "div": (tr.div(u), (a + c) * cx * np.cos(b * y) * cz + b * cx * np.cos(b * y + 0.3) * cz),
        "curl x": (tr.curl(u)[0], -b * cx * np.sin(b * y) * sz + c * cx * np.sin(b * y + 0.3) * sz),
        "curl y": (tr.curl(u)[1], (a - c) * sx * np.cos(b * y) * sz),
        "curl z": (tr.curl(u)[2], -a * sx * np.sin(b * y + 0.3) * cz + b * sx * np.sin(b * y) * cz),
        "S_xz": (tr.strain(u)[0, 2], -(a + c) / 2 * sx * np.cos(b * y) * sz),
        "W_xy": (tr.rotation(u)[0, 1], (-b * sx * np.sin(b * y) + a * sx * np.sin(b * y + 0.3)) / 2 * cz),
        "laplacian of u": (tr.laplacian(u)[1], -(a * a + b * b + c * c) * np.asarray(u[1])),
        "product": (tr.ddx(u[0] * u[0]), 2 * a * sx * cx * (np.cos(b * y) * cz) ** 2),
    }
    return {name: abs(np.asarray(found) - wanted).max() for name, (found, wanted) in exact.items()}


def test_derivatives_are_of_sixth_order():
    coarse, fine = errors(16), errors(32)
    for name, error in coarse.items():
        if error > 1e-13:
            assert np.log2(error / fine[name]) > 5.7, name


def test_identities_on_periodic_grids():
    ops = tr.Operators((16, 12, 14), LENGTHS, ("periodic",) * 3)
    rng = np.random.default_rng(1)
    u = tr.Vector(*(tr.Field.from_function(ops, rng.standard_normal(ops.local_shape())) for _ in range(3)))
    scale = np.max(abs(tr.grad(tr.curl(u)[0])[0]))
    assert np.max(abs(tr.div(tr.curl(u)))) < 1e-13 * scale
    p = u[0]
    assert all(np.max(abs(part)) < 1e-13 * scale for part in tr.curl(tr.grad(p)))
    g = tr.grad(u)
    assert all((tr.grad([p, u[1]])[1][d].data == g[1, d].data).all() for d in range(3))
    assert np.max(abs(g.trace - tr.div(u))) < 1e-13 * scale
    s, w = tr.strain(u), tr.rotation(u)
    assert np.max(abs(s.contract(s) - w.contract(w) - g.contract(g.T))) < 1e-12 * scale**2
    assert np.max(abs((s + w)[1, 2] - g[1, 2])) < 1e-14 * scale


def test_vectors(ops):
    u, p = waves(ops)
    v = u * 2 + u / 4 - u
    assert np.allclose(v[1].data, 1.25 * u[1].data, rtol=1e-15)
    assert np.allclose((u @ v).data, 1.25 * sum(f.data**2 for f in u), rtol=1e-13)
    assert np.allclose((u.cross(v)).norm().data, 0, atol=1e-14)
    assert np.allclose((p * u)["z"].data, p.data * u[2].data, rtol=0)
    assert [f.parity for f in (np.float64(2) * u)] == [f.parity for f in u]
    assert np.allclose((tr.grad(u) @ u)[0].data, sum(tr.grad(u[0])[d].data * u[d].data for d in range(3)), atol=1e-13)
    assert tr.mean_square(u) == pytest.approx(tr.mean(u @ u), rel=1e-14)
    assert tr.mean_square(p.astype(np.float32)) == pytest.approx(tr.mean(p * p), rel=1e-6)
    assert u.mean() == pytest.approx([f.mean() for f in u])
    with pytest.raises(TypeError):
        u * u


def test_interpolation_moves_between_nodes_and_centres():
    ops = tr.Operators((33, 32, 33), LENGTHS, MIXED)
    _, p = waves(ops)
    there = tr.interpolate(p, "x", "centre")
    assert there.centred == (True, False, False)
    assert there.shape == (33, 32, 32)
    x, y, z = there.coordinates()
    wave = np.cos(np.pi / 2 * x) * np.sin(2 * np.pi / 3 * y) * np.cos(np.pi / 1.5 * z)
    assert abs(there.data - wave).max() < 1e-6
    assert abs(there.mean() - p.mean()) < 1e-8
    centred = tr.Vector(there, there, there)
    assert abs((centred @ centred).data - 3 * there.data**2).max() < 1e-15
    back = tr.interpolate(there, "x", "node")
    assert abs(back.data - p.data).max() < 1e-6
    with pytest.raises(tr.InputError, match=r"on the cell centres in x.*interpolate"):
        there + p
    with pytest.raises(tr.InputError, match="take fields on the nodes"):
        tr.ddx(there)


def test_interpolation_keeps_name_and_parity():
    """Back on the nodes, the derivative of a field has the closures of its parity again."""
    ops = tr.Operators((33, 32, 33), LENGTHS, MIXED)
    v, p = waves(ops)
    for f in (*v, p):
        for axis in "xyz":
            there = tr.interpolate(f.like(f.data, name="f"), axis, "centre")
            back = tr.interpolate(there, axis, "node")
            assert [(one.parity, one.name) for one in (there, back)] == [(f.parity, "f")] * 2
            assert abs(tr.ddx(back).data - tr.ddx(f).data).max() < 1e-4


def test_wrong_use(ops, noise):
    f, _ = noise
    other = tr.Field.from_function(tr.Operators(NODES, (2.0, 3.0, 1.6), MIXED), 0.0, name="h")
    with pytest.raises(tr.InputError, match="h is on another grid"):
        f + other
    with pytest.raises(tr.InputError, match=r"shape \(3, 3, 3\).*\(14, 12, 17\)"):
        tr.Field(np.zeros((3, 3, 3)), ops)
    with pytest.raises(tr.InputError, match=r"\(4, 12, 17\) does not fit.*\(14, 12, 17\)"):
        f + np.zeros((4, 12, 17))
    with pytest.raises(tr.InputError, match="axis 'q'"):
        f.mean("q")
    with pytest.raises(tr.InputError, match="axis 'w'"):
        tr.derivative(f, "w")
    with pytest.raises(tr.InputError, match="to = 'cells': expected 'centre', the cell centres, or 'node', the nodes"):
        tr.interpolate(f, "x", "cells")
    with pytest.raises(tr.InputError, match="to = 'cells': expected 'centre'"):
        ops.staggered(f.data, 0, "derivative", "cells")
    for reduction in (np.std, np.var):
        with pytest.raises(tr.InputError, match="ddof = 1: the variance of a field is an average over the volume"):
            reduction(f, ddof=1)
        with pytest.raises(tr.InputError, match="no argument keepdims"):
            reduction(f, keepdims=True)
    with pytest.raises(tr.InputError, match="no argument keepdims"):
        f.mean(keepdims=True)
    assert "f: 17 x 12 x 14, float64; min" in repr(f)


@pytest.mark.parametrize("kinds", [["periodic"] * 3, MIXED], ids=["periodic", "mixed"])
def test_any_number_of_ranks_gives_the_same(kinds):
    expected = None
    for ranks in (1, 2, 3, 4, 6):
        found = KEPT.ranks(ranks).results(field_programs.numbers_of_fields, limit=60, kinds=kinds)[0]
        expected = expected or found
        assert len(found) > 40 and np.allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["complex128", "int64", "bool", "float64", "float32"])
def test_a_copy_has_the_same_type_and_values(dtype):
    values = np.arange(NODES[0] * NODES[1] * NODES[2]).reshape(NODES[::-1])
    values = ((values % 2 == 0) if dtype == "bool" else values + (2**60 + 1 if dtype == "int64" else 0)).astype(dtype)
    if dtype == "complex128":
        values = values * (1 + 2j)
    ops = tr.Operators(NODES, LENGTHS, MIXED, dtype="float32" if dtype == "float64" else "float64")
    field = tr.Field(values, ops, name="a")
    own = field.copy()
    assert own.dtype == field.dtype and own.name == "a" and not np.shares_memory(own.data, field.data)
    assert (own.data == values).all()


def test_all_and_any_are_over_the_whole_field(noise):
    for reduce in (np.any, np.all):
        assert reduce(noise[0] > -100)
        with pytest.raises(tr.InputError, match="over the whole field"):
            reduce(noise[0] > 0, axis=0)
