"""The ready-made analyses `channel` and `statistics` on flows of which every number is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis.script import load
from tailrace.steps.step import Step

NU = 0.02
WALLS = "dirichlet"
Profile = Callable[[Any], Any]


def rest(y: Any) -> Any:
    return 0 * y


def laminar(y: Any) -> Any:
    return y * (2 - y)


def steps(
    u: Profile = laminar, *, ends: str = WALLS, points: int = 33, times: tuple[float, ...] = (1.0, 1.5),
    swing: float = 0.0, scalars: dict[str, Profile] | None = None, pressure: Profile | None = None,
    attributes: dict[str, Any] | None = None, **grid: Any,
) -> list[Step]:  # fmt: skip
    """Steps of a flow in x: u (1 + swing cos kx), v = -swing u cos kx; and scalars."""
    ops = tr.Operators((8, points, 8), (1.0, 2.0, 1.0), ("periodic", ends, "periodic"), comm=MPI.COMM_SELF, **grid)
    x, y, z = np.meshgrid(*ops.coordinates(), indexing="ij")
    wave = np.cos(2 * np.pi * x)
    fields = {"ux": u(y) * (1 + swing * wave), "uy": -swing * u(y) * wave, "uz": 0 * z}
    fields |= {} if pressure is None else {"pressure": pressure(y) * wave}
    fields |= {name: one(y) for name, one in (scalars or {}).items()}
    known = {"reynolds": 1 / NU} | {f"{name}/parity": [1, 1, 1] for name in scalars or {}}
    known |= {f"{name}/schmidt": 0.5 for name in scalars or {}} | (attributes or {})
    arrays = {name: np.ascontiguousarray(np.broadcast_to(one, x.shape).T) for name, one in fields.items()}
    return [
        Step(index, time, ops, list(arrays), arrays.__getitem__, attributes=known) for index, time in enumerate(times)
    ]


def channel(given: list[Step], **values: Any) -> tuple[list[Any], Any]:
    """What it returns for each step, and at the end."""
    script = load("channel")
    for name, value in values.items():
        script.set(name, value)
    one = script.make()
    one.start(given[0])
    return [one.step(step) for step in given], one.finish()


# ---- numbers ---------------------------------------------------------------------------------------------------------
def test_the_time_that_steps_stand_for():
    """The first one has the weight of the second, which is not known before."""
    rows, last = channel(steps(times=(1.0, 1.5, 1.75, 3.0)))
    assert [row["duration"] for row in rows] == [0.0, 1.0, 1.25, 2.5]
    assert [row["samples"] for row in rows] == [1, 2, 3, 4] and last["duration"] == 2.5


@pytest.mark.parametrize("time", [1.5, 1.0])
def test_times_rise(time: float):
    with pytest.raises(tr.InputError, match=rf"channel: the time of the steps must rise, from 1\.5 on; found {time}"):
        channel(steps(times=(1.0, 1.5, time)))


def test_steps_before_the_start_do_not_count():
    rows, last = channel(steps(times=(1.0, 1.5, 2.0, 2.5)), start=1.5)
    assert rows[0] is None and [row["samples"] for row in rows[1:]] == [1, 2, 3] and last["samples"] == 3
    assert channel(steps(), start=99.0) == ([None, None], None)


@pytest.mark.parametrize(
    "values", [{"start": "inf"}, {"start": "nan"}, {"profiles_every": -1}, {"profiles_every": "inf"}]
)
def test_times_are_finite(values: dict[str, Any]):
    with pytest.raises(tr.InputError, match="times must be finite: start = "):
        channel(steps(), **values)


def test_profiles_come_in_their_rhythm():
    rows, _ = channel(steps(times=(1.0, 1.5, 2.0, 2.5, 3.0)), profiles_every=1.0)
    assert ["y" in row for row in rows] == [False, False, True, False, True]


@pytest.mark.parametrize(("ends", "half"), [(WALLS, 1.0), ("dirichlet|free-slip", 2.0), ("free-slip|dirichlet", 2.0)])
def test_the_bulk_of_a_linear_profile_is_exact(ends: str, half: float):
    """By the trapezoidal rule; at the ends of the box half a cell counts."""
    _, last = channel(steps(lambda y: 3 + y, ends=ends, points=17))
    assert last["u_bulk"] == pytest.approx(4.0, rel=1e-13) and last["half_height"] == half


def test_a_flow_at_rest_has_no_wall_units():
    _, last = channel(steps(rest, scalars={"phi": lambda y: 1 - y / 2}))
    assert (last["u_tau"], last["re_tau"], last["u_bulk"]) == (0.0, 0.0, 0.0)
    assert math.isnan(last["skin_friction"]) and np.isnan(last["u_plus"]).all()
    assert last["phi_nusselt"] == pytest.approx(1.0) and last["phi_flux"] == pytest.approx(NU / 0.5 / 2)


def test_covariances_in_wall_units():
    _, last = channel(steps(swing=0.3, pressure=laminar), symmetry="off")
    tau = last["u_tau"]
    assert tau == pytest.approx(math.sqrt(2 * NU), rel=1e-4)
    y = last["y"]
    np.testing.assert_allclose(last["uv_plus"] * tau**2, -0.5 * (0.3 * laminar(y)) ** 2, atol=1e-13)
    np.testing.assert_allclose(last["p_rms_plus"] * tau**2, laminar(y) / math.sqrt(2), atol=1e-13)
    np.testing.assert_allclose(last["v_rms_plus"] * tau, 0.3 * laminar(y) / math.sqrt(2), atol=1e-13)
    np.testing.assert_allclose(last["y_plus"], y * tau / NU, rtol=1e-13)
    np.testing.assert_allclose(last["turbulent_stress_plus"] * tau**2, -last["uv"], atol=1e-13)
    assert last["skin_friction"] == pytest.approx(2 * tau**2 / last["u_bulk"] ** 2)


def test_a_flow_without_a_pressure_has_no_moments_of_it():
    _, last = channel(steps())
    assert not {"mean_p", "pp", "p_rms_plus"} & set(last) and "mean_w" in last


# ---- scalars ---------------------------------------------------------------------------------------------------------
def test_the_nusselt_number_of_walls_of_one_temperature():
    """140 / 17 with a constant flux of heat: phi has the curvature of the flow."""
    _, last = channel(steps(points=65, scalars={"phi": lambda y: 5 - 6 * (y - 1) ** 2 + (y - 1) ** 4}))
    assert last["phi_nusselt"] == pytest.approx(140 / 17, rel=1e-3)
    assert last["phi_flux"] == pytest.approx(NU / 0.5 * 8, rel=1e-3)


@pytest.mark.parametrize(
    ("phi", "nusselt"),
    [
        (lambda y: 3 + 0 * y, math.nan),
        (lambda y: y, 1.0),
        (lambda y: y + 0.4 * (y - 1) * y * (y - 2), 1.8),
        (lambda y: y + 0.004 * y * (2 - y), 1.0),
    ],
)
def test_the_nusselt_number_of_walls_of_two_temperatures(phi: Profile, nusselt: float):
    _, last = channel(steps(points=65, scalars={"phi": phi}))
    np.testing.assert_allclose(last["phi_nusselt"], nusselt, rtol=1e-3)
    assert len(last["y"]) == 33, "both halves are alike"


def test_one_wall_has_no_nusselt_number():
    _, last = channel(steps(ends="dirichlet|free-slip", scalars={"phi": lambda y: y * (4 - y)}))
    assert math.isnan(last["phi_nusselt"]) and last["phi_flux"] == pytest.approx(NU / 0.5 * 4, rel=1e-3)


def test_values_at_a_wall_may_be_a_little_off():
    """By a thousandth of the range; where they change, there is no Nusselt number."""
    for swing, known in ((2e-4, True), (0.01, False)):
        given = steps(points=33, scalars={"phi": lambda y: y}, times=(1.0, 1.5))
        ops = given[0].operators
        x, y, _ = np.meshgrid(*ops.coordinates(), indexing="ij")
        phi = np.ascontiguousarray((y + 2 * swing * np.cos(2 * np.pi * x)).T)
        arrays = {name: given[0][name].data for name in ("ux", "uy", "uz")} | {"phi": phi}
        same = [
            Step(one.index, one.time, ops, list(arrays), arrays.__getitem__, attributes=one.attributes) for one in given
        ]
        _, last = channel(same)
        assert math.isfinite(last["phi_nusselt"]) == known


def test_only_fields_that_are_stored_are_scalars():
    told = {f"{name}/parity": [1, 1, 1] for name in ("ux", "pressure", "vorticity", "q", "gone", "p")}
    given = steps(scalars={"phi": laminar, "p": laminar}, pressure=laminar, attributes=told)
    _, last = channel(given)
    assert [name for name in last if name.endswith("_nusselt")] == ["phi_nusselt", "p_nusselt"]
    assert {"mean_phi", "mean_scalar_p", "mean_p", "u_scalar_p"} <= set(last) and "mean_ux" not in last


# ---- both halves -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("u", "symmetry", "folded"),
    [
        (laminar, "auto", True),
        (laminar, "on", True),
        (laminar, "off", False),
        (lambda y: laminar(y) * (1 + 0.02 * (y - 1)), "auto", True),
        (lambda y: laminar(y) * (1 + 0.5 * (y - 1)), "auto", False),
        (lambda y: laminar(y) * (1 + 0.5 * (y - 1)), "on", True),
        (lambda y: y, "auto", False),
        (lambda y: y, "off", False),
    ],
)
@pytest.mark.parametrize("points", [33, 32])
def test_which_profiles_are_averaged_over_both_halves(u: Profile, symmetry: str, folded: bool, points: int):
    _, last = channel(steps(u, points=points), symmetry=symmetry)
    assert len(last["y"]) == ((points + 1) // 2 if folded else points)
    y = last["y"]
    np.testing.assert_allclose(last["mean_u"], 0.5 * (u(y) + u(2 - y)) if folded else u(y), atol=1e-14)


def test_halves_of_moving_walls_are_not_alike():
    with pytest.raises(tr.InputError, match="symmetry = 'on', but the walls move at different speeds; set it 'off'"):
        channel(steps(lambda y: y), symmetry="on")
    _, last = channel(steps(lambda y: 1 + laminar(y)), symmetry="on")
    assert len(last["y"]) == 17


def test_halves_with_other_scalars_are_not_alike():
    for phi, alike in (
        (lambda y: y, True),
        (lambda y: y**3, False),
        (laminar, True),
        (lambda y: laminar(y) * y, False),
    ):
        _, last = channel(steps(scalars={"phi": phi}))
        assert len(last["y"]) == (17 if alike else 33)
        if alike:
            np.testing.assert_allclose(last["mean_phi"], phi(last["y"]), atol=1e-14)


def test_nodes_that_are_denser_at_one_wall_are_not_folded():
    given = steps(laminar, points=33, stretching="bottom", beta=0.3)
    _, last = channel(given)
    assert len(last["y"]) == 33
    with pytest.raises(tr.InputError, match="symmetry = 'on' needs walls and equal nodes at both ends"):
        channel(given, symmetry="on")


# ---- statistics ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", ["xz", ""])
def test_statistics_of_the_velocity(axes: str):
    script = load("statistics")
    script.set("axes", axes)
    given = steps(swing=0.3)
    one, other = script.make(), script.make()
    for each, step in ((one, given[0]), (other, given[1])):
        each.start(step)
        assert each.step(step) == {"samples": 1}
    again = script.make()
    again.start(given[0])
    again.load(one.save())
    again.merge(other)
    assert again.step(given[0]) == {"samples": 3}
    found = again.finish()
    moments = ["uu", "uv", "uw", "vv", "vw", "ww"]
    assert list(found) == [*(["y"] if axes else []), "mean_ux", "mean_uy", "mean_uz", *moments]
    if axes:
        y = np.asarray(found["y"])
        np.testing.assert_allclose(found["mean_ux"], laminar(y), atol=1e-14)
        np.testing.assert_allclose(found["uv"], -0.5 * (0.3 * laminar(y)) ** 2, atol=1e-14)
    else:
        np.testing.assert_allclose(found["mean_ux"].data, given[0]["ux"].data, atol=1e-14)


def test_the_budget_of_a_shear_flow():
    """u = y (2 - y): the dissipation is nu <(du/dy)^2>, of which the enstrophy is half without nu."""
    found = load("budget").make().step(steps(points=65)[0])
    assert found["dissipation"] == pytest.approx(2 * NU * found["enstrophy"], rel=1e-3)
    assert found["dissipation"] == pytest.approx(NU * 4 / 3, rel=1e-2)
