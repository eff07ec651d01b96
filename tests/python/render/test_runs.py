"""Pictures of tables: those of runs, and any column."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tailrace.case.case import ConfigError
from tailrace.io.time_series import COLUMNS, TimeSeries
from tailrace.render.options import Options
from tailrace.render.plot import figures, plot
from tailrace.render.style import PlotError, save

SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"


def series(path, count=30, factor=1.0):
    with TimeSeries(path, provenance={"made_by": "run", "case": "[case]"}) as file:
        for step in range(count):
            file.append({name: factor * math.exp(-step / 10) for name in COLUMNS} | {"step": step, "time": 0.1 * step})
    return path


def drawn(*paths, **options):
    ((figure, name),) = figures([Path(path) for path in paths], Options(**options))
    return figure, name


def xy(line):
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def test_a_run_with_a_reference(tmp_path):
    figure, name = drawn(series(tmp_path / "a.csv"), reference=SAMPLE / "time_evol.dat")
    assert name == "a.png"
    energy, dissipation, enstrophy = figure.axes
    x, y = xy(energy.lines[0])
    np.testing.assert_allclose(x, 0.1 * np.arange(30), atol=1e-15)
    np.testing.assert_allclose(y, np.exp(-np.arange(30) / 10))
    assert energy.get_legend_handles_labels()[1] == ["a", "reference: time_evol.dat"]
    assert (enstrophy.get_xlabel(), enstrophy.get_ylim()[0]) == ("time  t U / L", 0)
    assert len(dissipation.lines) == 3
    assert save(figure, tmp_path / "out" / "a.png").stat().st_size > 10_000


def test_the_axis_begins_at_zero_only_where_the_curves_fill_it(tmp_path):
    with TimeSeries(tmp_path / "a.csv") as file:
        for step in range(5):
            file.append(dict.fromkeys(COLUMNS, 10.0 + step / 100) | {"step": step, "time": 0.1 * step})
    assert drawn(tmp_path / "a.csv")[0].axes[0].get_ylim()[0] > 9.9


def test_curves_below_zero_are_not_cut(tmp_path):
    """As a dissipation by the scheme where walls move a fluid at rest."""
    for name, factor in (("a", -1.0), ("b", 1.0)):
        figure, _ = drawn(series(tmp_path / f"{name}.csv", factor=factor))
        low, high = figure.axes[0].get_ylim()
        assert (low < -1.0 < high) if factor < 0 else low == 0


def test_files_of_one_label_are_all_drawn(tmp_path):
    for name, factor in (("a", 1.0), ("b", 2.0)):
        (tmp_path / name).mkdir()
        series(tmp_path / name / "time_series.csv", factor=factor)
    figure, _ = drawn(tmp_path / "a" / "time_series.csv", tmp_path / "b" / "time_series.csv", label="Re 100")
    first, second = figure.axes[0].lines[:2]
    assert first.get_label() != second.get_label() and first.get_color() != second.get_color()
    assert xy(first)[1][0] == 1.0 and xy(second)[1][0] == 2.0


def test_the_balance_of_the_energy_of_a_run(tmp_path):
    columns = (*COLUMNS, "work", "energy_residual")
    with TimeSeries(tmp_path / "a.csv", columns=columns) as file:
        for step in range(9):
            numbers = {"work": 3.0, "dissipation_laplacian": 2.0, "energy_residual": math.nan if step == 0 else 0.5}
            file.append(dict.fromkeys(columns, 1.0) | {"step": step, "time": 0.1 * step} | numbers)
    figure, _ = drawn(tmp_path / "a.csv")
    balance = figure.axes[3]
    found = {line.get_label(): xy(line)[1][-1] for line in balance.lines}
    assert found == {"work": 3.0, "− dissipation": -2.0, "d energy / dt": 1.5, "residual": 0.5}
    assert balance.get_title(loc="left").endswith("residual up to 0.2 of the largest part")
    assert len(drawn(tmp_path / "a.csv", reference=SAMPLE / "time_evol.dat")[0].axes) == 3


def test_several_runs_have_different_labels(tmp_path):
    for name in ("coarse", "fine"):
        (tmp_path / name).mkdir()
    paths = [series(tmp_path / name / "time_series.csv") for name in ("coarse", "fine")]
    figure, _ = drawn(*paths, reference=series(tmp_path / "long.csv", 300))
    energy, dissipation, enstrophy = figure.axes
    labels = energy.get_legend_handles_labels()[1]
    assert [Path(label).parent.name for label in labels[:2]] == ["coarse", "fine"]
    assert labels[2] == "reference: long.csv"
    assert energy.lines[0].get_color() != energy.lines[1].get_color()
    for number in range(2):
        of_run = [energy.lines[number], *dissipation.lines[2 * number : 2 * number + 2], enstrophy.lines[number]]
        assert len({line.get_color() for line in of_run}) == 1, "a run has one colour in all panels"
    assert energy.lines[2].get_xdata().max() <= 2.9 * 1.02, "the reference is cut where the runs end"
    assert len(dissipation.lines) == 5 and enstrophy.get_ylim()[0] == 0
    assert len(set(dissipation.get_legend_handles_labels()[1])) == len(dissipation.get_legend().get_texts())


def test_one_row_is_a_dot(tmp_path):
    path = series(tmp_path / "a.csv", 1)
    assert drawn(path)[0].axes[0].lines[0].get_marker() == "o"
    assert drawn(path, columns=["cfl"])[0].axes[0].lines[0].get_markevery() == [0]
    (tmp_path / "holes.csv").write_text("time,a,b\n0,1,nan\n1,inf,nan\n2,3,nan\n3,4,nan\n4,nan,nan\n5,1,nan\n")
    first, second = drawn(tmp_path / "holes.csv")[0].axes
    assert first.lines[0].get_markevery() == [0, 5], "points between holes are seen"
    assert [text.get_text() for text in second.texts] == ["no finite value"]


def test_columns_have_a_panel_each_and_files_a_colour_each(tmp_path):
    figure, _ = drawn(
        series(tmp_path / "a.csv"), series(tmp_path / "b.csv", 20, 2.0), columns=["cfl", "kinetic_energy"], log=True
    )
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["cfl", "Kinetic energy  ⟨u·u⟩/2"]
    assert [line.get_label() for line in first.lines] == ["a", "b"]
    np.testing.assert_allclose(xy(second.lines[1])[1], 2 * np.exp(-np.arange(20) / 10))
    assert (first.get_yscale(), first.get_xscale(), first.get_xlabel()) == ("log", "linear", "time  t U / L")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_names_that_matplotlib_would_take_for_something_else(tmp_path):
    for name in ("_cost in $ per $x", "b"):
        (tmp_path / f"{name}.csv").write_text("time,$a_$,b\n" + f"0,1,{'nan' if name == 'b' else 2}\n1,2,3\n")
    plot([tmp_path / "_cost in $ per $x.csv", tmp_path / "b.csv"], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "<!-- cost in $ per $x -->" in text and "<!-- $a_$ -->" in text


def test_a_table_of_somebody_else(tmp_path):
    path = tmp_path / "spectrum.csv"
    path.write_text("# from my script\nk,E, other\n" + "".join(f"{k},{k**-2.0},{3.0 * k}\n" for k in range(1, 30)))
    figure, _ = drawn(path, slopes=["-5/3"], columns=["E"])
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "wave number  k")
    curve, slope = axes.lines
    np.testing.assert_allclose(xy(curve)[1], np.arange(1, 30) ** -2.0)
    x, y = xy(slope)
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-5 / 3, rel=1e-12)
    assert (y > x**-2.0).all(), "above the curve"
    assert axes.texts[0].get_text() == "$k^{-5/3}$"
    figure, _ = drawn(path, columns=["other"], x="E", kind="profile")
    np.testing.assert_allclose(xy(figure.axes[0].lines[0])[0], np.arange(1, 30) ** -2.0)


def test_what_cannot_be_drawn_of_tables(tmp_path):
    path = series(tmp_path / "a.csv")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,x\n")
    (tmp_path / "numbers.csv").write_text("1,2\n3,4\n")
    (tmp_path / "names.csv").write_text("a,b\n")
    (tmp_path / "wide.csv").write_text(",".join(f"c{n}" for n in range(20)) + "\n" + ",".join(["1"] * 20) + "\n")
    (tmp_path / "time_evol.dat").write_text("0.09 1 1 1 1\n")
    (tmp_path / "mine.png").write_text("mine")
    for paths, options, message in (
        ([path], {"columns": ["cfll"]}, "no column 'cfll'; did you mean 'cfl'"),
        ([path], {"x": "tim", "columns": ["cfl"]}, "no column 'tim'; did you mean 'time'"),
        ([path], {"index": 3}, "--index is for pictures of the kind slice; this is a time-series"),
        ([path], {"slopes": ["2"]}, "--slope is a line between two logarithmic axes; add --loglog"),
        ([path], {"slopes": ["2/0"]}, "--slope 2/0: expected a number or a fraction"),
        ([path], {"kind": "slice"}, "is a table, which has no slice"),
        ([path], {"kind": "pie"}, "--kind pie: expected one of time-series, spectrum"),
        ([path], {"reference": path, "columns": ["cfl"]}, "--reference is for the picture of whole runs"),
        ([series(tmp_path / "empty.csv", 0)], {}, "has no rows yet"),
        ([tmp_path / "bad.csv"], {}, "bad.csv, line 3: expected 2 numbers, found: 3,x"),
        ([tmp_path / "numbers.csv"], {}, "is no table"),
        ([tmp_path / "names.csv"], {}, "has no rows yet"),
        ([tmp_path / "wide.csv"], {}, "there are 19 columns, and a picture has at most 12; choose some by --column"),
        (
            [series(tmp_path / "zero.csv", 3, 0.0)],
            {"columns": ["cfl"], "log": True},
            "there is no value that a logarithmic",
        ),
        ([path], {"out": tmp_path / "a.xyz"}, "a picture is a .png, .pdf or .svg file"),
        ([path], {"out": tmp_path / "mine.png"}, "is there already, and is no picture of tailrace plot"),
        ([tmp_path / "none.csv"], {}, "there is no such file"),
    ):
        with pytest.raises(PlotError) as error:
            plot(paths, **{"out": tmp_path / "new.png", **options})
        assert message in str(error.value)
    with pytest.raises(ConfigError, match="dt: is needed"):
        plot(path, tmp_path / "new.png", reference=tmp_path / "time_evol.dat")
    assert (tmp_path / "mine.png").read_text() == "mine" and not (tmp_path / "new.png").exists()


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_our_own_pictures_are_replaced(tmp_path, ending):
    out = tmp_path / f"a.{ending}"
    plot(series(tmp_path / "a.csv", 3), out, columns=["cfl"])
    first = out.read_bytes()
    assert plot(series(tmp_path / "a.csv", 9), out, columns=["cfl"]) == [out]
    assert out.read_bytes() != first


def test_comparison_tells_the_largest_difference(tmp_path):
    from tailrace.render.comparison import QUANTITIES, plot_comparison

    rows = np.linspace(1, 2, 5)
    for name, steps, factor in (("first", range(5), 1.0), ("same", range(5), 1.0), ("other", (0, 2, 4), 1 + 1e-9)):
        lines = ["step,time," + ",".join(QUANTITIES)]
        lines += [f"{n},{n / 10}," + ",".join([f"{rows[n] * factor:.17g}"] * 4) for n in steps]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    histories = {name: tmp_path / f"{name}.csv" for name in ("first", "same", "other")}
    found = plot_comparison(histories, tmp_path / "out.png", 1e-12)
    assert found["same"] == 0
    assert found["other"] == pytest.approx(1e-9, rel=1e-6)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "empty.csv").write_text("step,time," + ",".join(QUANTITIES) + "\n9,0.9,1,1,1,1\n")
    with pytest.raises(ValueError, match="no step in common"):
        plot_comparison({**histories, "empty": tmp_path / "empty.csv"}, tmp_path / "out.png", 1e-12)
