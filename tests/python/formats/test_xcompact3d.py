"""Xcompact3D: inputs, histories with corrected times, snapshots."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from tailrace.case.case import ConfigError, load_case
from tailrace.formats.xcompact3d.history import read_history, read_input, read_snapshot, read_time_evol

SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"

# Written from the layout, not with the reader: comments, capitals, Fortran numbers and trailing text, as users do.
INPUT = """! -*- mode: f90 -*-
!===================
&BasicParam
!===================
itype = 2              ! flow
p_row=2
p_col=3
NX=24 ! nodes
ny=33
nz=40
istret = 0
xlx = 6.283185307179586d0
yly = 3.14159265358979
zlz = 12.566370614359172
nclx1 = 0
nclxn = 0
ncly1 = 1
nclyn = 1
nclz1 = 0
nclzn = 0
iin = 1
re = 800.
dt = 1.d-3
ifirst = 1
ilast = 250
ilesmod=0
iscalar=0
iibm=0
ivisu=1
/End
&NumOptions
ifirstder = 4
isecondder = 4
itimescheme = 3
/End
&InOutParam
irestart = 0
icheckpoint = 100
ioutput = 50
nvisu = 1
/End
&Statistics
nstat = 1
/End
&CASE
/End
"""


def read(tmp_path, text=INPUT, overrides=()):
    path = tmp_path / "input.i3d"
    path.write_text(text, encoding="latin-1")
    return read_input(path, overrides)


def problems(tmp_path, text, overrides=()):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, overrides)
    return {problem.key: problem.reason for problem in caught.value.problems}


def change(key, value):
    """The input with one value changed, or with the line added to its group where it is not there."""
    lines = INPUT.splitlines()
    for at, line in enumerate(lines):
        if line.lower().replace(" ", "").startswith(f"{key.lower()}="):
            lines[at] = f"{key} = {value}"
            return "\n".join(lines)
    group = "&NumOptions" if key in ("ipinter", "iimplicit") else "&InOutParam" if key == "nprobes" else "&BasicParam"
    return INPUT.replace(group, f"{group}\n{key} = {value}")


def test_an_input_becomes_a_case(tmp_path):
    case, notes = read(tmp_path)
    assert case.case.flow == "taylor-green"
    assert case.case.reynolds == 800.0
    assert case.grid.points == (24, 33, 40)
    assert case.grid.lengths == pytest.approx((2 * math.pi, math.pi, 4 * math.pi), rel=1e-14)
    assert case.grid.boundaries == ("periodic", "free-slip", "periodic")
    assert (case.time.scheme, case.time.dt, case.time.steps) == ("ab3", 1e-3, 250)
    assert (case.parallel.rows, case.parallel.cols) == (2, 3)
    assert case.numerics.interpolation == "aggressive"
    assert case.checkpoint.every == 100
    assert case.diagnostics.every == 10
    (snapshots,) = case.output
    assert (snapshots.engine, snapshots.path, snapshots.every) == ("raw", "data", 50)
    assert set(snapshots.fields) == {"ux", "uy", "uz", "pressure", "vorticity", "q"}
    assert any("precision" in note for note in notes)


def test_the_case_survives_toml(tmp_path):
    case, _ = read(tmp_path)
    (tmp_path / "case.toml").write_text(case.to_toml())
    assert load_case(tmp_path / "case.toml") == case


@pytest.mark.parametrize(("number", "name"), [(1, "euler"), (2, "ab2"), (3, "ab3"), (5, "rk3")])
def test_time_schemes(tmp_path, number, name):
    assert read(tmp_path, change("itimescheme", number))[0].time.scheme == name


@pytest.mark.parametrize(("number", "name"), [(1, "classic"), (2, "optimised"), (3, "aggressive")])
def test_interpolations(tmp_path, number, name):
    assert read(tmp_path, change("ipinter", number))[0].numerics.interpolation == name


@pytest.mark.parametrize(
    ("key", "value", "where", "reason"),
    [
        ("itype", 9, "BasicParam.itype", "7 (mixing layer) (found 9, turbulent boundary layer)"),
        ("iin", 2, "BasicParam.iin", "must be one of 0 (at rest), 1 (the vortex) (found 2)"),
        ("nclyn", 3, "BasicParam.nclyn", "must be one of 0 (periodic), 1 (free-slip), 2 (wall) (found 3)"),
        ("nclyn", 0, "BasicParam.ncly1", "and nclyn must both be periodic, or none of them"),
        ("istret", 4, "BasicParam.istret", "must be one of 1 (centre), 2 (walls), 3 (bottom) (found 4)"),
        ("istret", 1, "BasicParam.beta", "is missing or empty"),
        ("ilesmod", 1, "LESModel.jles", "is missing or empty"),
        ("iscalar", 1, "BasicParam.iscalar", "needs numscalar, the number of scalars"),
        ("iibm", 2, "BasicParam.iibm", "bodies are those of the cylinder"),
        ("mhd_active", ".true.", "BasicParam.mhd_active", "magnetohydrodynamics"),
        ("iimplicit", 1, "NumOptions.iimplicit", "must be 0, or 2 with ncly1 = nclyn = 1"),
        ("itimescheme", 4, "NumOptions.itimescheme", "1 (euler), 2 (ab2), 3 (ab3), 5 (rk3) (found 4)"),
        ("isecondder", 6, "NumOptions.isecondder", "or 5, the hyperviscous one (found 6)"),
        ("ifirstder", 3, "NumOptions.ifirstder", "must be 4"),
        ("ipinter", 4, "NumOptions.ipinter", "1 (classic), 2 (optimised), 3 (aggressive) (found 4)"),
        ("nx", "3x3", "BasicParam.nx", "must be a whole number (found 3 x3)"),
        ("nx", "33.5", "BasicParam.nx", "must be a whole number (found 33.5)"),
        ("nx", "", "BasicParam.nx", "is missing or empty: it must be a whole number"),
        ("nx", 4, "BasicParam.nx", "must be at least 8 (found 4)"),
        ("nz", 1, "BasicParam.nz", "two-dimensional runs are not supported"),
        ("zlz", -1.0, "BasicParam.zlz", "must be greater than 0 (found -1.0)"),
        ("re", 0.0, "BasicParam.re", "must be greater than 0"),
        ("re", "'high'", "BasicParam.re", "must be a number (found high)"),
        ("dt", -0.001, "BasicParam.dt", "must be greater than 0"),
        ("ilast", 0, "BasicParam.ilast", "must be at least ifirst = 1 (found 0)"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_namelist_key(tmp_path, key, value, where, reason):
    assert reason in problems(tmp_path, change(key, value)).get(where, "-")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("isecondder = 4", "isecondder = 5"),
        ("itimescheme = 3", "itimescheme = 5"),
        ("ncly1 = 1", "ncly1 = 2"),
        ("iscalar=0", "numscalar = 1\n/\n&ScalarParam\nnclySn = 2\n/\n&Other"),
    ],
)
def test_implicit_diffusion_is_computed_where_it_is_the_same(tmp_path, before, after):
    text = change("iimplicit", 2)
    assert read(tmp_path, text)[0].numerics.implicit_y
    told = problems(tmp_path, text.replace(before, after))["NumOptions.iimplicit"]
    assert "(found 2); set it to 0, and give numerics.implicit_y = true" in told


def large_eddies(model, basic=""):
    text = change("ilesmod", f"1\n{basic}").replace("iibm=0\n", "")
    return text + f"\n&LESModel\n{model}\n/End\n"


@pytest.mark.parametrize(
    ("model", "name", "constant"),
    [
        ("jles = 1", "smagorinsky", 0.15),
        ("jles = 1\nsmagcst = 0.2", "smagorinsky", 0.2),
        ("jles = 2\nwalecst = 0.3", "wale", 0.3),
    ],
)
def test_an_eddy_viscosity_is_computed_in_the_form_of_xcompact3d(tmp_path, model, name, constant):
    case, _ = read(tmp_path, large_eddies(model))
    eddies = case.numerics.eddy_viscosity
    assert (eddies.model, eddies.constant, eddies.form) == (name, constant, "xcompact3d")


@pytest.mark.parametrize(
    ("model", "basic", "key", "reason"),
    [
        ("jles = 3", "", "LESModel.jles", "the dynamic Smagorinsky model is not supported; choose 1, 2 or 4 (found 3)"),
        ("jles = 2", "", "LESModel.walecst", "is missing or empty"),
        ("jles = 1, 2", "", "LESModel.jles", "must be a whole number (found 1 2)"),
        ("jles = 1\nsmagcst = 0.0", "", "LESModel.smagcst", "must be a number greater than 0 (found 0.0)"),
        ("jles = 1\niconserv = 1", "", "LESModel.iconserv", "must be 0"),
        ("jles = 1", "iibm = 2", "BasicParam.ilesmod", "beside a body is not supported"),
        ("jles = 1\n/\n&ScalarParam\nnclyS1 = 2", "numscalar = 1", "ScalarParam.nclyS1", "as ncly1 = 1 (found 2)"),
    ],
)
def test_eddy_viscosities_that_are_not_computed_are_refused(tmp_path, model, basic, key, reason):
    assert reason in problems(tmp_path, large_eddies(model, basic)).get(key, "-")


def test_an_implicit_large_eddy_simulation_is_that_of_the_second_derivative(tmp_path):
    text = change("ilesmod", 1).replace("isecondder = 4", "isecondder = 5\nnu0nu = 63\ncnu = 0.22")
    case, notes = read(tmp_path, text + "\n&LESModel\njles = 4\nsmagcst = 0.165\n/End\n")
    assert (case.numerics.hyperviscosity.at_cutoff, case.numerics.hyperviscosity.middle) == (63, 0.22)
    assert case.numerics.eddy_viscosity is None
    assert any(note.startswith("LESModel.jles = 4: no eddy viscosity") for note in notes)


def test_all_problems_come_at_once(tmp_path):
    text = INPUT.replace("itype = 2", "itype = 9").replace("nclxn = 0", "nclxn = 7").replace("iibm=0", "iibm=1")
    assert set(problems(tmp_path, text)) >= {"BasicParam.itype", "BasicParam.nclxn", "BasicParam.iibm"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (INPUT.replace("ivisu=1\n/End", "ivisu=1"), "group &BasicParam is not closed by a line with /"),
        (INPUT.rsplit("/End", 1)[0], "group &CASE is not closed"),
        (INPUT.replace("nz=40", "nz='40"), "a quote is not closed, in: nz='40"),
        ("", "there is no group &BasicParam ... /; found no groups at all"),
        ("nx = 3\n", "there is no group &BasicParam"),
        ("&Other\nx = 1\n/\n", "found &other"),
        (INPUT.replace("nz=40", "nz=" + "{a=" * 60_000), "an input has at most 50000 letters (found 18"),
        (INPUT.replace("nz=40", "nz=4_0"), "nz: 4_0 is no number of a namelist, which takes no kind; write 4"),
        (INPUT.replace("nz=40", "nz=40, dt = -1.6E3_8 ! _"), "dt: -1.6E3_8 is no number"),
        (INPUT.replace("nz=40", "gravz(1) = 1.0,\n .5d-1_dp\n"), ": .5d-1_dp is no number"),
        (INPUT + INPUT, "&basicparam: is there more than once; keep one"),
    ],
)
def test_broken_namelists(tmp_path, text, reason):
    with pytest.raises(ConfigError, match=r"input\.i3d") as caught:
        read(tmp_path, text)
    assert reason in str(caught.value)


def test_what_looks_like_a_kind_in_a_text_is_none(tmp_path):
    case, _ = read(tmp_path, INPUT.replace("nz=40", "nz=40, filename = 'run 2_8 ! 3_8'"))
    assert case.grid.points[2] == 40


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    case, _ = read(tmp_path, "\xef\xbb\xbf" + INPUT[INPUT.index("&BasicParam") :])  # as read in Latin-1
    assert case.grid.points[2] == 40


def test_a_comment_in_another_encoding_does_no_harm(tmp_path):
    case, _ = read(tmp_path, INPUT.replace("! flow", "! écoulement"))
    assert case.grid.points[0] == 24


def test_notes_tell_what_is_left_behind(tmp_path):
    text = INPUT.replace("nvisu = 1", "nvisu = 2\nnprobes = 4\nilist = 5").replace("irestart = 0", "irestart = 1")
    (tmp_path / "adios2_config.xml").write_text("<x/>")
    case, notes = read(tmp_path, text.replace("ifirst = 1\n", "ifirst = 101\n"))
    told = "\n".join(notes)
    for words in ("nvisu = 2", "nprobes = 4", "ilist", "irestart", "adios2_config.xml", "snapshots go to data/"):
        assert words in told
    assert case.time.steps == 250, "without the old checkpoint, the whole way to ilast"
    assert read(tmp_path, INPUT.replace("ifirst = 1\n", "ifirst = 101\n"))[0].time.steps == 150


def test_a_misspelt_key_is_noted(tmp_path):
    _, notes = read(tmp_path, INPUT.replace("icheckpoint", "icheckpont"))
    assert "InOutParam.icheckpont is not known and ignored; did you mean icheckpoint?" in notes


def test_the_channel_spins_up_as_there(tmp_path):
    """Checked against Xcompact3D 5.0: it rotates in steps 1 to spinup_time - 1, and with the other sign."""
    text = change("itype", 3).replace("ncly1 = 1", "ncly1 = 2").replace("nclyn = 1", "nclyn = 2")
    text = text.replace("&Statistics", "&Statistics\nwrotation = 0.12\nspinup_time = 51")
    case, _ = read(tmp_path, text)
    assert case.forcing.coriolis == (0.0, 0.0, -0.12)
    assert case.forcing.coriolis_at(49.5e-3) == (0.0, 0.0, -0.12), "step 50 has its middle there"
    assert case.forcing.coriolis_at(50.5e-3) == (0.0, 0.0, 0.0)
    assert case.forcing.flow_rate == pytest.approx(2 / 3)
    assert read(tmp_path, text.replace("= 51", "= 1"))[0].forcing.coriolis == (0.0, 0.0, 0.0)


def test_no_snapshots_where_none_are_wanted(tmp_path):
    assert read(tmp_path, change("ivisu", 0))[0].output == []
    assert read(tmp_path, INPUT.replace("ioutput = 50\n", ""))[0].output == []


def test_overrides_speak_the_words_of_a_case(tmp_path):
    case, _ = read(tmp_path, INPUT, ["time.steps=5", "grid.points[0]=32"])
    assert (case.time.steps, case.grid.points[0]) == (5, 32)
    assert "by --set" in problems(tmp_path, INPUT, ["grid.points[0]=3"])["grid.points[0]"]


def test_the_sample_input():
    case, _ = read_input(SAMPLE / "input.i3d")
    assert (case.grid.points, case.time.steps, case.time.dt) == ((33, 33, 33), 4000, 0.005)


def test_the_history_gets_its_right_times():
    table = read_time_evol(SAMPLE / "time_evol.dat")
    assert table["t"][0] == 0.05, "the first row is the state after ten steps, and prints the time of nine"
    np.testing.assert_allclose(table["t"], 0.05 * np.arange(1, 401), rtol=1e-14)
    assert table["t"][-1] == pytest.approx(20.0)
    # The proof that the shift is right: at the beginning the energy falls by the dissipation, from 1/8 at t = 0.
    assert table["kinetic_energy"][0] + 0.05 * table["dissipation2"][0] == pytest.approx(0.125, abs=2e-8)
    slope = np.gradient(table["kinetic_energy"], table["t"])
    np.testing.assert_allclose(-slope[1:60], table["dissipation2"][1:60], rtol=2e-3)


def test_the_history_without_an_input_needs_dt(tmp_path):
    path = tmp_path / "time_evol.dat"
    path.write_text("  0.9E-01  0.125E+00 0.1-100 0.1E-02 0.3E+00\n")
    with pytest.raises(ConfigError, match="dt: is needed to correct the times"):
        read_time_evol(path)
    table = read_time_evol(path, dt=0.01)
    assert table["t"][0] == pytest.approx(0.1)
    assert table["dissipation"][0] == 1e-101, "Fortran drops the E of a three-digit exponent"
    with pytest.raises(ConfigError, match=r"time 0.09 is no multiple of dt = 0.04"):
        read_time_evol(path, dt=0.04)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0.09 0.1 0.1\n", "line 1: must have 5 columns; it has 3"),
        ("0.09 0.1 0.1 0.1 0.1\n0.19 ***** 0.1 0.1 0.1\n", "line 2: is not a row of numbers"),
        ("", "has no rows"),
    ],
)
def test_broken_histories(tmp_path, text, reason):
    (tmp_path / "time_evol.dat").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read_time_evol(tmp_path / "time_evol.dat", dt=0.01)


def test_the_published_table_keeps_its_times():
    samples = os.environ.get("TAILRACE_SAMPLES")
    if not samples:
        pytest.skip("TAILRACE_SAMPLES is not set: the published table may not be copied into the tests")
    table = read_history(Path(samples) / "xcompact3d" / "TGV_Re1600.dat")
    assert (table["t"][0], table["t"][-1], table["kinetic_energy"][0]) == (0.0, 20.0, 0.125)
    np.testing.assert_allclose(table["dissipation"], 2 / 1600 * table["enstrophy"], rtol=1e-3)


def test_a_wide_table_is_the_published_one(tmp_path):
    (tmp_path / "table.dat").write_text("# a comment\n" + " ".join(map(str, range(17))) + "\n")
    table = read_history(tmp_path / "table.dat")
    assert [table[name][0] for name in table.dtype.names] == [0, 1, 3, 2, 4]


@pytest.mark.parametrize("precision", ["<f8", "<f4"])
def test_snapshots_are_x_fastest(tmp_path, precision):
    nx, ny, nz = 5, 3, 2
    (tmp_path / "data").mkdir()
    values = np.arange(nx * ny * nz, dtype=precision)
    values.tofile(tmp_path / "data" / "pp-12.bin")
    field = read_snapshot(tmp_path, 12, (nx, ny, nz), ["pressure"])["pressure"]
    assert (field.shape, field.dtype) == ((nz, ny, nx), np.dtype(precision))
    assert field[1, 2, 3] == 3 + nx * (2 + ny * 1)
    assert "pp" in read_snapshot(tmp_path / "data", 12, (nx, ny, nz), ["pp"])


def test_the_sample_snapshot_is_the_flow_of_the_history():
    fields = read_snapshot(SAMPLE, 2, (33, 33, 33))
    energy = 0.5 * sum(field[:-1, :-1, :-1] ** 2 for field in fields.values()).mean()
    table = read_time_evol(SAMPLE / "time_evol.dat")
    row = table[np.argmin(abs(table["t"] - 10.0))]
    assert energy == pytest.approx(row["kinetic_energy"], rel=1e-11)
    assert np.all(fields["ux"][:, :, 0] == 0), "no flow through the plane x = 0: the order of the axes is right"
    assert np.all(fields["uz"][0] == 0)


def test_snapshots_that_do_not_fit(tmp_path):
    np.zeros(100).tofile(tmp_path / "ux-1.bin")
    with pytest.raises(
        ConfigError, match=r"has 800 bytes; expected 240 bytes \(float64\) or 120 \(float32\) for 5 x 3 x 2 points"
    ):
        read_snapshot(tmp_path, 1, (5, 3, 2), ["ux"])
    with pytest.raises(ConfigError, match=r"ux-2.bin: there is no such file; there are ux-1.bin"):
        read_snapshot(tmp_path, 2, (5, 3, 2), ["ux"])
