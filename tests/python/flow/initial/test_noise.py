"""Noise is the same on every part of a grid, free of divergence on wish; functions that are not so are noticed."""

import math

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run

LENGTHS = (3.0, 2.0, 4.0)
BETWEEN_WALLS = ("periodic", "wall", "periodic")


def smooth(**more):
    return tr.noise(3, lengths=LENGTHS, spectrum=lambda k: k * np.exp(-k / 4), shells=5, **more)


def nodes(points=(24, 25, 30)):
    """x, y, z, where y is stretched and both its ends are nodes."""
    nx, ny, nz = points
    y = (1 - np.cos(np.pi * np.arange(ny) / (ny - 1))) * LENGTHS[1] / 2
    x, z = np.arange(nx) * LENGTHS[0] / nx, np.arange(nz) * LENGTHS[2] / nz
    return x.reshape(1, 1, nx), y.reshape(1, ny, 1), z.reshape(nz, 1, 1)


MADE = {
    "white": tr.noise(5),
    "white between walls": tr.noise(5, lengths=LENGTHS, boundaries=BETWEEN_WALLS),
    "smooth": smooth(),
    "smooth between walls": smooth(boundaries=BETWEEN_WALLS),
    "solenoidal between walls": smooth(boundaries=BETWEEN_WALLS, solenoidal=True),
}


@pytest.mark.parametrize("name", MADE)
def test_a_part_has_the_bits_of_the_whole(name):
    x, y, z = nodes()
    whole = MADE[name](x, y, z)
    part = MADE[name](x[..., 5:18], y[:, 9:], z[3:4])
    for all_of_it, some in zip(whole, part, strict=True):
        assert np.array_equal(all_of_it[3:4, 9:, 5:18], some)
    assert len({values.tobytes() for values in whole}) == 3, "three components of their own"


def test_white_noise_is_evenly_spread_and_independent():
    values = np.array(tr.noise(1)(*nodes((40, 41, 42))))
    size = values[0].size
    assert abs(values).max() < 1
    assert abs(values.mean(axis=(1, 2, 3))).max() < 4 / math.sqrt(3 * size)
    assert (values**2).mean(axis=(1, 2, 3)) == pytest.approx([1 / 3] * 3, rel=4 / math.sqrt(size))
    share, _ = np.histogram(values, bins=10, range=(-1, 1))
    assert share / values.size == pytest.approx([0.1] * 10, abs=4 * math.sqrt(0.09 / values.size))
    others = [np.roll(values[0], 1, axis=axis) for axis in range(3)] + [values[1], tr.noise(2)(*nodes((40, 41, 42)))[0]]
    for other in others:
        assert abs((values[0] * other).mean()) < 4 / (3 * math.sqrt(size))


def test_one_component_for_a_scalar():
    assert np.array_equal(tr.noise(9, components=1)(*nodes()), tr.noise(9)(*nodes())[0])


def test_smooth_noise_has_the_energy_of_its_spectrum():
    width = 2 * np.pi / 4.0
    wanted = sum(k * math.exp(-k / 4) * width for k in width * np.arange(1, 6))
    u, v, w = smooth()(*nodes((24, 24, 30))[:1], np.arange(24).reshape(1, 24, 1) / 12, nodes()[2])
    assert (u**2 + v**2 + w**2).mean() / 2 == pytest.approx(wanted, rel=1e-12)


def test_solenoidal_noise_has_no_divergence_and_is_zero_at_walls():
    """By central differences of sixth order on ever finer spacings about points of which one is near a wall."""
    made = smooth(boundaries=BETWEEN_WALLS, solenoidal=True)
    plain = smooth(boundaries=BETWEEN_WALLS)

    def divergence(velocity, place, h):
        total = 0.0
        for d in range(3):
            for step, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
                ahead, behind = (
                    velocity(*(np.array(place[i] + sign * step * h * (i == d)).reshape(1, 1, 1) for i in range(3)))[d]
                    for sign in (1, -1)
                )
                total += weight * float((ahead - behind).item()) / h
        return total

    for place in ((0.7, 0.3, 2.9), (2.2, 1.1, 0.4)):
        assert abs(divergence(made, place, 1e-2)) < 1e-7
        assert abs(divergence(plain, place, 1e-2)) > 1e-2, "the other one has some"
    x, _, z = nodes()
    for end in (0.0, LENGTHS[1]):
        assert max(abs(component).max() for component in made(x, np.full((1, 1, 1), end), z)) < 1e-14


def test_what_does_not_go_together_is_refused():
    for words, given in {
        "the seed of noise is from 0 to": {"seed": -1},
        "needs lengths": {"spectrum": lambda k: k},
        "ends that are not periodic, needs lengths": {"boundaries": BETWEEN_WALLS},
        "white noise cannot be solenoidal": {"solenoidal": True},
        "noise has 3 components, or 1 where it is white": {"components": 2},
        "expected three lengths and three boundaries": {"lengths": LENGTHS, "boundaries": "wall"},
    }.items():
        with pytest.raises(tr.InputError, match=words):
            tr.noise(**{"seed": 1, **given})


CASE = """
[case]
reynolds = 100.0
flow = "own.py:velocity"
[grid]
points = [12, 17, 8]
lengths = [3.0, 2.0, 4.0]
boundaries = ["periodic", "wall", "periodic"]
[time]
dt = 1e-3
steps = 1
[[scalar]]
name = "heat"
initial = "own.py:heat"
"""
FLOWS = {
    "random numbers": "rng.standard_normal((z.size, y.size, x.size)), 0 * y, 0 * y",
    "the numbers of one rank's grid": "rng.standard_normal((8, 17, 12)), 0 * y, 0 * y",
    "a mean": "np.sin(x + y) - np.sin(x + y).mean() + 0 * z, 0 * y, 0 * y",
    "noise": "noise(x, y, z)",
    "a formula": "y * (2 - y) * np.cos(x), 0.0, 0.1 * np.sin(z)",
}
DEPENDS = ("random numbers", "the numbers of one rank's grid", "a mean")


def write(directory, flow, heat="y"):
    (directory / "case.toml").write_text(CASE)
    (directory / "own.py").write_text(
        "import numpy as np\nimport tailrace as tr\n\nrng = np.random.default_rng(1)\n"
        "noise = tr.noise(3, lengths=(3.0, 2.0, 4.0), boundaries=('periodic', 'wall', 'periodic'))\n\n\n"
        f"def velocity(x, y, z):\n    return {flow}\n\n\ndef heat(x, y, z):\n    return {heat}\n"
    )
    return directory / "case.toml"


@pytest.mark.parametrize("flow", FLOWS)
def test_a_flow_that_depends_on_the_ranks_is_noticed(tmp_path, flow):
    case = tr.load_case(write(tmp_path, FLOWS[flow]))
    lines = [line for line in tr.Model(case, MPI.COMM_SELF).concerns() if "own.py" in line]
    assert len(lines) == (flow in DEPENDS), lines
    for line in lines:
        assert line.startswith("own.py:velocity gives a node another value where it is asked for a part of the grid")
        assert "tr.noise" in line


def test_the_numbers_of_a_scalar_are_noticed_and_stay_those_of_one_call(tmp_path):
    """The trial comes after all are set: it takes no numbers of a generator away from the flow."""
    case = tr.load_case(write(tmp_path, FLOWS["a formula"], "rng.random((z.size, y.size, x.size))"))
    model = tr.Model(case, MPI.COMM_SELF)
    assert np.array_equal(model.field("heat"), np.random.default_rng(1).random((8, 17, 12)))
    (line,) = (line for line in model.concerns() if "own.py" in line)
    assert line.startswith("own.py:heat (scalar[0].initial) gives a node another value")


@pytest.mark.parametrize("flow", ["random numbers", "noise"])
def test_a_run_warns_once(tmp_path, flow):
    write(tmp_path, FLOWS[flow])
    result = mpi_run.tailrace("run", "case.toml", cwd=tmp_path, ranks=2)
    assert result.code == 0, result.text
    assert result.text.count("gives a node another value") == (flow in DEPENDS)
