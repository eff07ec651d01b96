"""Random velocities: their spectrum is the one asked for, and every rank and grid gets a part of the same field."""

import re

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace import core as _core
from tailrace.flow.initial import isotropic
from tailrace.flow.initial.isotropic import RandomVelocity

LENGTHS = (2 * np.pi, 2 * np.pi, np.pi)
CASE = """
[case]
flow = "isotropic"
reynolds = 40.0
[case.parameters]
k0 = 3.0
energy = 0.7
seed = {seed}
[grid]
points = [32, 36, 30]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "periodic", "periodic"]
[time]
dt = "auto"
steps = 10
"""


def saffman(k):
    return 0.3 * k**2 * np.exp(-k / 2)


def lines(points, lengths=LENGTHS, part=(slice(None),) * 3):
    """x, y, z of the nodes of a part of a grid."""
    x, y, z = (np.arange(n) * length / n for n, length in zip(points, lengths, strict=True))
    return x[None, None, part[0]], y[None, part[1], None], z[part[2], None, None]


def transformed(velocity, points, lengths=LENGTHS):
    """Fourier coefficients of the components, and kx, ky, kz, by NumPy."""
    values = velocity(*lines(points, lengths))
    k = [2 * np.pi / length * np.fft.fftfreq(n, 1 / n) for n, length in zip(points, lengths, strict=True)]
    coefficients = [np.fft.fftn(each) / each.size for each in values]
    return coefficients, (k[0][None, None, :], k[1][None, :, None], k[2][:, None, None])


def test_the_spectrum_is_the_one_asked_for():
    coefficients, (kx, ky, kz) = transformed(RandomVelocity(LENGTHS, saffman, 9, seed=5), (24, 20, 16))
    shell = np.rint(np.sqrt(kx**2 + ky**2 + kz**2)).astype(int)  # of the width 1 = 2 pi / (longest side)
    energy = np.bincount(shell.ravel(), sum(abs(each) ** 2 for each in coefficients).ravel() / 2)
    k = np.arange(1, 10)
    assert energy[1:10] == pytest.approx(saffman(k), rel=1e-10)
    assert energy[0] < 1e-30, "no mean"
    assert energy[10:].sum() < 1e-25
    largest = max(abs(each).max() for each in coefficients)
    divergence = kx * coefficients[0] + ky * coefficients[1] + kz * coefficients[2]
    assert abs(divergence).max() < 1e-13 * largest
    # The amplitudes in a shell are of one size, and have random phases.
    here = (shell == 7) & (kx > 0)
    sizes = sum(abs(each) ** 2 for each in coefficients)[here]
    assert np.ptp(sizes) < 1e-10 * sizes.mean()
    phases = np.concatenate([np.angle(each[here]) for each in coefficients])
    assert abs(np.exp(1j * phases).mean()) < 3 / np.sqrt(phases.size)


def test_the_components_have_one_energy_each():
    coefficients, _ = transformed(RandomVelocity((2 * np.pi,) * 3, saffman, 11, seed=2), (24, 24, 24), (2 * np.pi,) * 3)
    energies = np.array([(abs(each) ** 2).sum() for each in coefficients])
    assert abs(energies / energies.mean() - 1).max() < 0.1


@pytest.mark.parametrize("chunk", [1, 500, 1 << 15])
def test_a_part_has_the_bits_of_the_whole(monkeypatch, chunk):
    velocity = RandomVelocity(LENGTHS, saffman, 5, seed=1)
    points = (24, 20, 12)
    whole = velocity(*lines(points))
    monkeypatch.setattr(isotropic, "_CHUNK", chunk)
    for part in ((slice(3, 24), slice(7, 8), slice(0, 12)), (slice(0, 1), slice(0, 20), slice(5, 12))):
        for ours, theirs in zip(velocity(*lines(points, part=part)), whole, strict=True):
            assert ours.tobytes() == theirs[part[::-1]].tobytes()


def test_the_grid_does_not_matter():
    coarse = RandomVelocity(LENGTHS, saffman, 5, seed=3)(*lines((12, 16, 12)))
    fine = RandomVelocity(LENGTHS, saffman, 5, seed=3)(*lines((24, 16, 36)))
    for one, other in zip(coarse, fine, strict=True):
        assert one == pytest.approx(other[::3, :, ::2], abs=1e-12)


def test_more_shells_add_to_the_field_and_another_seed_changes_it():
    def low_modes(shells, seed):
        coefficients, (kx, ky, kz) = transformed(RandomVelocity(LENGTHS, saffman, shells, seed), (24, 20, 12))
        low = kx**2 + ky**2 + kz**2 < 3.4**2
        return np.concatenate([each[low] for each in coefficients])

    assert low_modes(5, 7) == pytest.approx(low_modes(3, 7), abs=1e-14)
    assert abs(low_modes(3, 7) - low_modes(3, 8)).max() > 0.01


@pytest.mark.parametrize(
    ("spectrum", "shells", "message"),
    [
        (saffman, 0, "1 to 64 shells"),
        (saffman, 65, "1 to 64 shells"),
        (lambda k: -k, 4, "is -1.0 at k = 1"),
        (lambda k: np.where(k == 3, np.nan, k), 4, "is nan at k = 3"),
        (lambda k: k[:2], 4, "one for each k"),
    ],
)
def test_bad_spectra(spectrum, shells, message):
    with pytest.raises(_core.InputError, match=message):
        RandomVelocity(LENGTHS, spectrum, shells)


def test_what_the_points_do_not_resolve_is_refused():
    velocity = RandomVelocity(LENGTHS, saffman, 6)
    with pytest.raises(_core.InputError, match=r"6 modes in y, too many for a spacing of 0\.524"):
        velocity(*lines((16, 12, 12)))
    with pytest.raises(_core.InputError, match="x as a line along axis 2"):
        velocity(np.zeros((4, 4, 4)), np.zeros((4, 4, 4)), np.zeros((4, 4, 4)))


def load(tmp_path, *overrides, seed=4):
    (tmp_path / "case.toml").write_text(CASE.format(seed=seed))
    return tr.load_case(tmp_path / "case.toml", overrides)


def test_the_flow_of_a_case(tmp_path):
    model = tr.Model(load(tmp_path), MPI.COMM_SELF)
    operators = model.operators()
    found = tr.spectrum(tr.Vector(*(tr.Field(model.field(name), operators) for name in ("ux", "uy", "uz"))))
    k = found.k[1:13]
    form = k**4 * np.exp(-2 * (k / 3) ** 2)
    assert found.energy[1:13] == pytest.approx(0.7 * form / form.sum(), rel=1e-3), "the projection changes little"
    assert found.energy[:9].sum() == pytest.approx(0.7, rel=1e-4)
    assert model.measure()["max_divergence"] < 1e-12


@pytest.mark.parametrize(
    ("overrides", "key", "reason"),
    [
        (["case.parameters.k0=30.0"], "case.parameters.k0", "must be at most 16"),
        (["case.parameters.k0=9.0"], "case.parameters.k0", "at least 44 x 44 x 44 points"),
        (["case.parameters.k0=0.5"], "case.parameters.k0", "the smallest wave number of the box, 1"),
        (["case.parameters.seed=-1"], "case.parameters.seed", "must be at least 0"),
        (["case.parameters.k=1.0"], "case.parameters.k", "did you mean case.parameters.k0?"),
        (['grid.boundaries[1]="free-slip"'], "case.flow", "'isotropic' needs periodic boundaries in x, y and z"),
        (["case.flow=taylor-green"], "case", "parameters.k0 does not go with flow ="),
        (["case.flow=isotropc"], "case.flow", "did you mean 'isotropic'?"),
    ],
)
def test_problems(tmp_path, overrides, key, reason):
    with pytest.raises(tr.ConfigError) as caught:
        load(tmp_path, *overrides)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert reason in problem.reason


@pytest.mark.parametrize("k0", [1.4, 4.0, 6.7])
def test_the_points_that_a_message_names_are_enough(tmp_path, k0):
    with pytest.raises(tr.ConfigError) as caught:
        load(tmp_path, f"case.parameters.k0={k0}", "grid.points=[8,8,8]")
    points = re.search(r"at least (\d+) x (\d+) x (\d+) points", caught.value.problems[0].reason).groups()
    load(tmp_path, f"case.parameters.k0={k0}", f"grid.points=[{', '.join(points)}]")
