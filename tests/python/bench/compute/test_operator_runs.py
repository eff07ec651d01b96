"""`tailrace bench analysis`: operators on fields."""

import numpy as np
import pytest

from helpers.harness.bench_runs import cells, interrupted, refused, run
from tailrace.bench.compute.operators import OPERATIONS, enstrophy, waves

POINTS = 20 * 16 * 12
MOVED = {"gradients": 16, "curl": 6, "enstrophy": 3, "spectrum": 3}  # fields read and written


def test_operations_on_one_and_two_ranks(tmp_path):
    found = run(tmp_path, "analysis", "--global", "20,16,12", "--ranks", "1,2", "--rounds", "2", "--transpose",
                "alltoall", "--transpose", "auto")  # fmt: skip
    assert not found.failures
    variants = cells(found)
    assert {(one.cell.operation, one.cell.ranks, one.cell.name) for one in variants} == {
        (name, ranks, how) for name in OPERATIONS for ranks in (1, 2) for how in ("alltoall", "auto")
    }
    assert all(m.bytes == MOVED[one.cell.operation] * POINTS * 8 for one in variants for m in one.rounds)
    alone = [one for one in cells(found, "limit") if one.cell.name == "independent runs"]
    assert {(one.cell.operation, one.cell.ranks) for one in alone} == {(name, 2) for name in OPERATIONS}
    assert {one.cell.setting for one in alone} <= {one.cell.setting for one in variants}


def test_some_operations_in_single_precision(tmp_path):
    words = ("--local", "20,16,12", "--ranks", "1", "--rounds", "1", "--operations", "curl", "--precision", "float32")
    found = run(tmp_path, "analysis", *words)
    [one] = cells(found)
    assert one.cell.operation == "curl"
    assert one.rounds[0].bytes == MOVED["curl"] * POINTS * 4


def test_what_is_computed_is_right():
    fields = waves((24, 24, 24))
    velocity = [np.array(field) for field in fields[:3]]
    [x, y, z] = [2 * np.pi / 24 * np.arange(24)] * 3
    k, j, i = z[:, None, None], y[None, :, None], x[None, None, :]
    for shift, found in enumerate(velocity):
        assert found == pytest.approx(np.sin(i + shift) * np.cos(2 * j - shift) * np.cos(k + 2 * shift), abs=1e-12)
    gradient = OPERATIONS["gradients"].work(fields)
    assert len(gradient) == 4
    assert np.array(gradient[0].x) == pytest.approx(np.cos(i) * np.cos(2 * j) * np.cos(k), abs=1e-3)
    energies = OPERATIONS["spectrum"].work(fields).energy
    assert energies.sum() == pytest.approx(0.5 * sum((part**2).mean() for part in velocity))
    [u, v, w] = [OPERATIONS["gradients"].work(fields)[n] for n in range(3)]
    parts = (w.y - v.z, u.z - w.x, v.x - u.y)
    assert enstrophy(fields) == pytest.approx(0.5 * sum((np.array(part) ** 2).mean() for part in parts))


def test_interrupted(tmp_path):
    interrupted(tmp_path, "analysis", "--global", "12,12,12", "--ranks", "2", "--rounds", "5000")


def test_wrong_words(tmp_path):
    assert "'torsion' is not known; expected some of gradients" in refused(
        tmp_path, "analysis", "--operations", "torsion"
    )
