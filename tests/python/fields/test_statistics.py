"""Running statistics: against NumPy on all samples, merged, saved and continued, and far from zero."""

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, NODES, noisy_field, shares

NAMES = ("ux", "uy", "uz", "p")
WEIGHTS = (0.5, 1.0, 0.25, 2.0, 1.5)


def sample(ops, number, offset=0.0):
    parities = ((-1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1))
    result = {}
    for at, (name, parity) in enumerate(zip(NAMES, parities, strict=True)):
        values = noisy_field(ops, 10 * number + at).data
        result[name] = tr.Field.from_function(ops, values + (values.dtype.type(at + 1 + offset)), parity=parity)
    return result


def by_numpy(samples, weights, ops, axes):
    """Means and covariances by their definition."""
    values = {name: np.stack([one[name].data.astype(float) for one in samples]) for name in NAMES}
    share = np.asarray(weights)[:, None, None, None] / sum(weights)
    over = (0, *(3 - "xyz".index(axis) for axis in axes))
    for d, axis in enumerate("xyz"):
        if axis in axes:
            line = np.moveaxis(shares(ops), 2 - d, 0)
            line = line[:, 0, 0] / line[:, 0, 0].sum()
            share = share * line.reshape([-1 if e == d else 1 for e in (2, 1, 0)])
    means = {name: (share * one).sum(over, keepdims=True) for name, one in values.items()}
    covariance = {
        (a, b): (share * (values[a] - means[a]) * (values[b] - means[b])).sum(over) for a in NAMES for b in NAMES
    }
    return {name: one.squeeze(over) for name, one in means.items()}, covariance


def compare(found, means, covariance, tolerance=1e-12):
    for name in NAMES:
        assert np.abs(np.asarray(found.mean[name]) - means[name]).max() <= tolerance * np.abs(means[name]).max()
        for other in NAMES:
            error = np.abs(np.asarray(found.covariance(name, other)) - covariance[name, other]).max()
            assert error <= tolerance * np.abs(covariance[name, name]).max(), (name, other, error)
        assert (np.asarray(found.variance(name)) == np.asarray(found.covariance(name, name))).all()


@pytest.mark.parametrize("axes", ["", "x", "y", "xz", "zy", "xyz"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_statistics_equal_numpy(axes, dtype):
    ops = tr.Operators(NODES, LENGTHS, MIXED, dtype=dtype)
    samples = [sample(ops, n) for n in range(5)]
    found = tr.Statistics(NAMES, axes)
    for one, weight in zip(samples, WEIGHTS, strict=True):
        found.update(one, weight)
    compare(found, *by_numpy(samples, WEIGHTS, ops, axes))
    assert found.updates == 5
    assert found.weight == sum(WEIGHTS)
    assert (np.asarray(found.reynolds_stress("x", 1)) == np.asarray(found.covariance("ux", "uy"))).all()
    # In two halves, merged.
    halves = tr.Statistics(NAMES, axes), tr.Statistics(NAMES, axes)
    for n, (one, weight) in enumerate(zip(samples, WEIGHTS, strict=True)):
        halves[n % 2].update(one, weight)
    both = tr.Statistics(NAMES, axes)
    for half in (*halves, tr.Statistics(NAMES, axes)):
        both.merge(half)
    compare(both, *by_numpy(samples, WEIGHTS, ops, axes))
    assert both.updates == 5


@pytest.mark.parametrize("axes", ["", "xz"])
def test_no_cancellation_far_from_zero(axes):
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    samples = [sample(ops, n, offset=1e8) for n in range(5)]
    found = tr.Statistics(NAMES, axes)
    for one, weight in zip(samples, WEIGHTS, strict=True):
        found.update(one, weight)
    # Sums of squares would lose all sixteen digits; this loses only those the values themselves have lost.
    exact = [{name: one[name] - (at + 1 + 1e8) for at, name in enumerate(NAMES)} for one in samples]
    covariance = by_numpy(exact, WEIGHTS, ops, axes)[1]
    for a in NAMES:
        assert np.abs(np.asarray(found.variance(a)) - covariance[a, a]).max() < 2e-7


@pytest.mark.parametrize("axes", ["", "xz", "xyz"])
def test_going_on_gives_the_same_bits(axes):
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    samples = [sample(ops, n) for n in range(5)]
    whole, first, second = (tr.Statistics(NAMES, axes) for _ in range(3))
    for one, weight in zip(samples, WEIGHTS, strict=True):
        whole.update(one, weight)
    for one, weight in zip(samples[:3], WEIGHTS[:3], strict=True):
        first.update(one, weight)
    state = first.save()
    kept = {key: np.array(value) for key, value in state.items()}
    first.update(samples[4], 9.0)
    assert all((np.asarray(state[key]) == value).all() for key, value in kept.items()), "what is saved stays"
    second.load({k: v.with_parity((1, 1, 1)) if isinstance(v, tr.Field) else v for k, v in state.items()})
    for one, weight in zip(samples[3:], WEIGHTS[3:], strict=True):
        second.update(one, weight)
    assert all((np.asarray(state[key]) == value).all() for key, value in kept.items()), "what is loaded stays"
    expected = whole.save()
    found = second.save()
    assert list(found) == list(expected)
    if not axes:  # files do not have the parity; the samples have it
        assert second.mean["ux"].parity == (-1, 1, 1)
    for key, value in expected.items():
        assert (np.asarray(found[key]) == np.asarray(value)).all(), key
    empty = tr.Statistics(NAMES, axes)
    empty.load(tr.Statistics(NAMES, axes).save())
    empty.update(samples[0])
    assert empty.updates == 1


def test_results_are_fields_that_can_be_derived():
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    found = tr.Statistics()
    v = tr.Vector(*(sample(ops, 0)[name] for name in NAMES[:3]))
    found.update(v)
    found.update(v * 3.0)
    assert found.mean["ux"].parity == (-1, 1, 1)
    assert found.reynolds_stress("x", "x").parity == (1, 1, 1)
    assert found.reynolds_stress(0, 1).parity == (-1, 1, 1)
    assert np.allclose(tr.ddx(found.mean["ux"]).data, 2 * tr.ddx(v[0]).data, rtol=1e-12, atol=1e-12)
    assert np.allclose(found.reynolds_stress("y", "z").data, (v[1] * v[2]).data, rtol=1e-13, atol=1e-15)
    before = found.mean["uy"].data.copy()
    mean = found.mean["uy"]
    found.update(v)
    assert (mean.data == before).all(), "results do not change afterwards"


def test_one_name_needs_no_list():
    one = sample(tr.Operators(NODES, LENGTHS, MIXED), 0)
    found = tr.Statistics("ux")
    found.update(one)
    assert found.names == ("ux",) and (found.mean["ux"].data == one["ux"].data).all()


def test_wrong_use():
    ops = tr.Operators(NODES, LENGTHS, MIXED)
    one = sample(ops, 0)
    found = tr.Statistics(("ux", "p"))
    for wrong, text in (
        (lambda: tr.Statistics(()), "some, all different"),
        (lambda: tr.Statistics(("a", "a")), "all different"),
        (lambda: tr.Statistics(("a",), "xq"), "axis 'xq'"),
        (lambda: found.variance("p"), "there are no samples yet"),
        (lambda: found.update({"ux": one["ux"]}), "no field 'p' among ux"),
        (lambda: found.update(one, 0.0), "positive"),
        (lambda: found.update(one, np.nan), "positive"),
        (lambda: found.merge(tr.Statistics(("ux", "p"), "x")), "cannot take in"),
        (lambda: found.load({"weight": 1.0, "updates": 1}), "no 'mean_ux'"),
    ):
        with pytest.raises(tr.InputError, match=text):
            wrong()
    found = tr.Statistics(("ux", "p"))
    found.update(one)
    other = tr.Operators((8, 8, 8), LENGTHS, MIXED)
    for wrong, text in (
        (lambda: found.update(sample(other, 0)), "another grid"),
        (lambda: found.covariance("ux", "uy"), "no 'uy'"),
        (lambda: found.reynolds_stress("x", "y"), "no 'uy'"),
        (lambda: found.load({**found.save(), "mean_p": one["p"].data}), "from fields"),
    ):
        with pytest.raises(tr.InputError, match=text):
            wrong()
    assert found.updates == 1
    assert (found.mean["p"].data == one["p"].data).all(), "what fails changes nothing"
    profiles = tr.Statistics(("ux", "p"), "xz")
    profiles.update(one)
    again = tr.Statistics(("ux", "p"), "xz")
    again.load(profiles.save())
    with pytest.raises(tr.InputError, match=r"\(10,\) points cannot take in \(8,\)"):
        again.update(sample(other, 0))
