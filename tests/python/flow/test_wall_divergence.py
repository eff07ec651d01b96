"""Runs whose divergence is one-sided at walls: on any number of ranks, resumed, and what does not go with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs import cases
from helpers.programs import parts
from tailrace import core as _core
from tailrace.io.time_series import read_time_series

CASE = """
[case]
flow = "flow.py:initial"
reynolds = 60.0
[grid]
points = [16, 15, 9]
lengths = [4.0, 2.0, 1.5]
boundaries = ["periodic", "wall", "periodic"]
stretching = "walls"
beta = 0.3
[boundary]
velocity = "flow.py:wall"
[numerics]
wall_divergence = "one-sided"
[time]
dt = 0.01"""
CASE += parts.TWELVE_STEPS
FLOW = (
    parts.SHEARED
    + """

def wall(x, y, z, t):
    through = 0.05 * np.sin(np.pi * x + 5 * t)  # the same at both walls, so that nothing piles up between them
    return 0.1 * np.sin(7 * t) * (y < 1e-9) + 0 * x + 0 * z, through + 0 * y + 0 * z, 0
"""
)


def written(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flow.py").write_text(FLOW)
    (folder / "case.toml").write_text(CASE)
    return folder / "case.toml"


def test_a_restart_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts.assert_a_restart_changes_nothing(written, tmp_path, monkeypatch)


@pytest.mark.parametrize("ranks", [2, 3, 4, 6])
def test_the_number_of_ranks_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tailrace: Any, ranks: int
) -> None:
    parts.assert_ranks_do_not_matter(written, tmp_path, monkeypatch, tailrace, ranks, ("ux", "uy", "uz"))


def test_the_option_reaches_the_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each leaves no divergence of its own kind, and the velocities differ beside the walls most."""
    one_sided, mirrored = (written(tmp_path / name) for name in ("one", "other"))
    for case, more in ((one_sided, ()), (mirrored, ("numerics.wall_divergence='mirrored'",))):
        monkeypatch.chdir(case.parent)
        parts.simulate(case, *more)
        rows = read_time_series(case.parent / "time_series.csv")
        assert np.max(rows["max_divergence"]) * 4 < 1e-11
    difference = np.abs(cases.state(one_sided.parent, 12)["uy"] - cases.state(mirrored.parent, 12)["uy"])
    beside, middle = difference[:, [1, -2]].max(), difference[:, 5:-5].max()
    assert beside > 1e-3
    assert beside > middle > 0


@pytest.mark.parametrize(
    ("boundaries", "said"),
    [
        (["periodic", "free-slip", "periodic"], "needs a wall in y (grid.boundaries[1] is ['free-slip', 'free-slip'])"),
        (["free-slip", "wall", "periodic"], "needs a periodic x and z (grid.boundaries[0] is not); take 'mirrored'"),
        (["periodic", "wall", "wall"], "needs a periodic x and z (grid.boundaries[2] is not); take 'mirrored'"),
    ],
)
def test_what_does_not_go_with_it(boundaries: list[str], said: str) -> None:
    with pytest.raises(tr.ConfigError) as error:
        tr.Case(
            case={"reynolds": 100.0, "flow": "uniform", "parameters": {"speed": 0.0}},
            grid={"points": (8, 13, 9), "lengths": (4.0, 2.0, 3.0), "boundaries": boundaries},
            time={"dt": "auto", "end": 10.0},
            numerics={"wall_divergence": "one-sided"},
        )
    assert f"numerics.wall_divergence: 'one-sided' {said}" in str(error.value)


def test_only_known_names() -> None:
    options = _core.FlowOptions(0.01, "rk3", "aggressive")
    with pytest.raises(_core.InputError, match="'odd'; expected mirrored or one-sided"):
        options.set_wall_divergence("odd")
