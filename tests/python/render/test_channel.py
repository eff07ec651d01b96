"""The picture of a channel: what is drawn is what the file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from tailrace.render.channel import Profiles, deviations
from tailrace.render.options import Options
from tailrace.render.plot import figures, plot
from tailrace.render.style import PlotError

BOX = tr.UniformGrid((8, 9, 10), spacing=(1.0, 1.0, 1.0), boundaries=("periodic",) * 3)
REFERENCE = Path(__file__).parents[3] / "examples/channel_moser_1999.csv"
Y = np.linspace(0, 1, 21) ** 2


def profiles(factor):
    found = {"y": Y, "y_plus": 100 * Y, "u_plus": factor * 20 * Y**0.25, "uv_plus": -factor * Y * (1 - Y)}
    found |= {f"{a}_rms_plus": factor * at * Y for at, a in enumerate("uvwp", 1)}
    viscous = (1 - Y) ** 2
    found |= {"viscous_stress_plus": viscous, "turbulent_stress_plus": factor * Y * (1 - Y)}
    return found | {"total_stress_plus": viscous + factor * Y * (1 - Y), "straight_stress_plus": 1 - Y}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two steps of profiles, the second with pressure beside a field."""
    path = tmp_path_factory.mktemp("channel") / "channel-final.h5"
    with tr.open(path, "w", grid=BOX) as out:
        for at, factor in enumerate((1.0, 0.9)):
            numbers = {"re_tau": 100.0 + at, "half_height": 0.5, "stress_deviation": 0.0234 + at}
            out.write_step(float(at), index=at, lists=profiles(factor), scalars=numbers)
    return path


def drawn(path, **options):
    ((figure, name),) = figures([path], Options(**options))
    return figure, name


def lines(axes):
    return [(np.asarray(one.get_xdata(), float), np.asarray(one.get_ydata(), float)) for one in axes.lines]


def test_it_is_known_by_its_profiles(path):
    figure, name = drawn(path, steps=[0])
    assert name == "channel-final-channel.png"
    mean, rms, budget = figure.axes
    expected = profiles(1.0)
    near, far, (x, u) = lines(mean)
    assert (mean.get_xscale(), mean.get_title(loc="left")) == ("log", "Mean velocity  $U^+$,  Re$_τ$ = 100.0")
    np.testing.assert_array_equal(near[0], near[1])
    np.testing.assert_allclose(far[1], np.log(far[0]) / 0.41 + 5.2)
    np.testing.assert_array_equal([x, u], [100 * Y[1:], expected["u_plus"][1:]])
    shown = dict(zip(rms.get_legend_handles_labels()[1], lines(rms), strict=True))
    assert list(shown) == ["u rms", "v rms", "w rms", "p rms", "−⟨u′v′⟩"]
    np.testing.assert_array_equal(shown["v rms"], [100 * Y, expected["v_rms_plus"]])
    np.testing.assert_array_equal(shown["−⟨u′v′⟩"], [100 * Y, expected["turbulent_stress_plus"]])
    assert budget.get_title(loc="left") == "Stress over $u_τ^2$:  converged within 2.3 % of its straight line"
    shown = dict(zip(budget.get_legend_handles_labels()[1], lines(budget), strict=True))
    np.testing.assert_array_equal(shown["their sum"], [2 * Y, expected["total_stress_plus"]])
    np.testing.assert_array_equal(shown["straight line"], [2 * Y, 1 - Y])


def test_steps_lie_over_each_other_with_a_reference(path):
    figure, _ = drawn(path, steps=[0, 1], reference=REFERENCE)
    mean, rms, _ = figure.axes
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["channel-final, t = 0", "channel-final, t = 1", "channel moser 1999"]
    assert len(mean.lines) == 5 and len(rms.lines) == 3 * 5
    dots = [one for one in rms.lines if one.get_marker() == "o"]
    peaks = [float(np.max(one.get_ydata())) for one in dots]  # of Moser, Kim and Mansour (1999)
    assert peaks == pytest.approx([2.658, 0.836, 1.087, 1.878, 0.723], abs=1e-3)
    assert mean.lines[-1].get_ydata()[-1] == pytest.approx(18.301)


def test_the_difference_from_a_reference_is_told(path, tmp_path):
    """A part of the profiles is larger than the table; what lies outside of y+ 1 to 85 does not count."""
    y = np.array([0.5, 1.0, 3.7, 20.0, 85.0, 99.0]) / 100
    near = {"u_plus": 20 * y**0.25, "u_rms_plus": y / 1.03, "w_rms_plus": 3 * y, "uv_plus": -y * (1 - y) / 0.9}
    near["w_rms_plus"][[0, -1]] = 1e3
    table = tmp_path / "table.csv"
    rows = np.column_stack([100 * y, *near.values()])
    table.write_text("\n".join([",".join(["y_plus", *near]), *(",".join(f"{v:.17g}" for v in row) for row in rows)]))
    (legend,) = drawn(path, steps=[0], reference=table)[0].legends
    (text,) = [one.get_text() for one in legend.get_texts()]
    name, said = text.split("\n")
    assert (name, said.split(": ")[0]) == ("table", "largest difference between $y^+$ = 1 and 0.85 h")
    found = dict(one.rsplit(" ", 2)[:2] for one in said.split(": ")[1].split(", "))
    assert (found["u"], found["⟨u′v′⟩"]) == ("3", "10")
    assert float(found["w"]) < 1e-10 and 0 < float(found["U"]) < 1


def test_the_shear_stress_of_another_reynolds_number_is_compared_by_its_share(path, tmp_path):
    """That of the file is y / h of the total stress; so is that of the table, which ends at 110 instead of 100."""
    table, at = tmp_path / "table.csv", np.array([2.0, 30.0, 80.0, 110.0])
    stress = -at / 100 * (1 - at / 110)
    table.write_text("\n".join(["y_plus,uv_plus", *(f"{y},{uv:.17g}" for y, uv in zip(at, stress, strict=True))]))
    (legend,) = drawn(path, steps=[0], reference=table)[0].legends
    said = legend.get_texts()[0].get_text()
    assert float(said.rsplit(" ", 2)[1]) < 1e-10, said


def test_a_step_without_profiles_shows_those_before_it(tmp_path):
    path = tmp_path / "channel.h5"
    with tr.open(path, "w", grid=BOX) as out:
        for at in range(4):
            lists = profiles(1 + 0.1 * at) if at in (0, 2) else {}
            out.write_step(float(at), index=10 * at, lists=lists, scalars={"re_tau": 100.0 + at})
    figure, _ = drawn(path, kind="channel")
    assert figure.axes[0].get_title(loc="left").endswith("= 102.0")
    figure, _ = drawn(path, kind="channel", times=[1.0])
    np.testing.assert_array_equal(lines(figure.axes[0])[2][1], profiles(1.0)["u_plus"][1:])


def test_what_cannot_be_drawn_is_said(path, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("y_plus,u\n0,0\n1,1\n")
    with pytest.raises(PlotError, match=r"expected columns y_plus and some of u_plus.*found y_plus, u"):
        drawn(path, reference=table)
    with pytest.raises(PlotError, match="at most 4 channels"):
        drawn(path, steps=[0, 1, 0, 1, 0])
    with pytest.raises(PlotError, match=r"--slope is for pictures.*this is a channel"):
        drawn(path, slopes=["-1"])
    with tr.open(tmp_path / "rows.h5", "w", grid=BOX) as out:
        out.write_step(0.0, index=0, scalars={"u_tau": 1.0})
        out.write_step(1.0, index=1, lists={**profiles(1.0), "y_plus": np.nan * Y})
    with pytest.raises(PlotError, match="exerts no friction"):
        drawn(tmp_path / "rows.h5")
    with pytest.raises(PlotError, match=r"has no y, y_plus.*analysis 'channel' at its end"):
        drawn(tmp_path / "rows.h5", kind="channel", steps=[0])
    assert plot(path, tmp_path / "one.png", columns=["u_plus"], kind="profile") == [tmp_path / "one.png"]


def test_both_halves_beside_each_other_differ_from_the_table_as_one_half_does(tmp_path):
    """Without symmetry the profiles go to the other wall, at twice the friction Reynolds number."""
    one = profiles(1.0)
    both = {name: np.concatenate([values, values[-2::-1]]) for name, values in one.items()}
    both["y"] = np.concatenate([Y, 2 - Y[-2::-1]])
    both["y_plus"] = 100 * both["y"]
    both["uv_plus"] = np.concatenate([one["uv_plus"], -one["uv_plus"][-2::-1]])
    table = {name: one[name][1:] for name in ("y_plus", "u_plus", "uv_plus", "u_rms_plus")}
    table = {name: np.interp(np.linspace(5, 100, 96), 100 * Y, one[name]) for name in table}
    found = []
    for arrays in (one, both):
        found.append(deviations(Profiles("a", arrays, {"re_tau": 100.0}), table))
    assert found[0].keys() == found[1].keys() >= {"u_plus", "uv_plus"}
    for name, difference in found[0].items():
        assert found[1][name] == pytest.approx(difference, abs=1e-9), name
