"""What an input of Xcompact3D says of its five cases: values that it leaves out, arrays, and what is refused."""

from __future__ import annotations

import pytest

from tailrace.case.document import ConfigError
from tailrace.case.sections.case_section import CaseSection
from tailrace.case.sections.scalar_section import ScalarSection
from tailrace.case.xcompact3d.input import read_input

CYLINDER, CURRENT, CHANNEL, VORTEX, MIXING = 5, 1, 3, 2, 7
ENDS = {CYLINDER: "220000", CURRENT: "112111", CHANNEL: "002200", VORTEX: "000000", MIXING: "001100"}
BODY = "cex = 3.0\ncey = 2.9\nra = 0.5\nnraf = 10\nnobjmax = 2"


def read(tmp_path, itype, basic="", scalar="", body="", numeric=""):
    """The case of an input with these lines; later lines replace earlier ones."""
    names = [f"ncl{axis}{end}" for axis in "xyz" for end in "1n"]
    lines = {"itype": itype, "nx": 33, "ny": 24, "nz": 16, "xlx": 8.0, "yly": 2.0, "zlz": 2.0, "re": 100.0, "dt": 0.01}
    lines |= {"iin": 1, "ifirst": 1, "ilast": 5} | dict(zip(names, ENDS[itype], strict=True))
    if itype == CYLINDER:
        lines["yly"] = 6.0
    for line in filter(None, basic.splitlines()):
        key, _, value = line.partition("=")
        lines[key.strip()] = value
    rows = ["&BasicParam", *(f"{key} = {value}" for key, value in lines.items()), "/", "&NumOptions", "itimescheme = 5"]
    rows += [numeric, "/", "&ScalarParam", scalar, "/", "&ibmstuff", body, "/", "&CASE", "/"]
    (tmp_path / "input.i3d").write_text("\n".join([*rows, ""]))
    return read_input(tmp_path / "input.i3d")


def refused(tmp_path, *args, **kwargs):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, *args, **kwargs)
    return {problem.key: problem.reason for problem in caught.value.problems}


def test_speeds_that_are_left_out_are_2_and_1(tmp_path):
    case, _ = read(tmp_path, CYLINDER)
    assert case.case.parameters.speed == 2.0
    assert case.boundary.x_lower == (2.0, 0.0, 0.0)
    assert case.boundary.outflow_speed == 1.0, "u2, as u1 is 2"


def test_the_concentration_of_a_current_is_cp_and_0_where_it_is_left_out(tmp_path):
    case, _ = read(tmp_path, CURRENT, "numscalar = 2", "sc = 1.0, 1.0\ncp(2) = 0.6")
    assert [scalar.level for scalar in case.scalar] == [0.0, 0.6]
    assert [scalar.front for scalar in case.scalar] == [0.0, 0.0]


def test_an_array_may_begin_at_another_entry(tmp_path):
    case, _ = read(tmp_path, CURRENT, "numscalar = 2\ngravy = -1.0", "sc = 1.0, 1.0\nri(2) = 0.5\nuset(2) = 0.1")
    assert [scalar.buoyancy[1] for scalar in case.scalar] == [0.0, -0.5]
    assert [scalar.settling[1] for scalar in case.scalar] == [0.0, -0.1]


@pytest.mark.parametrize(("key", "limits"), [("scalar_lbound(1)", (0.25, 1e100)), ("scalar_ubound(1)", (-1e100, 0.25))])
def test_a_scalar_may_have_one_bound(tmp_path, key, limits):
    case, _ = read(tmp_path, CURRENT, "numscalar = 1", f"sc(1) = 1.0\n{key} = 0.25")
    assert case.scalar[0].limits == limits


def test_nothing_is_imposed_where_a_case_gives_no_scalar(tmp_path):
    case, _ = read(tmp_path, CURRENT, "numscalar = 1\nnclyn = 2", "sc(1) = 1.0")
    assert case.scalar[0].name == "phi01", "as its files there, also of a single one"
    assert case.scalar[0].boundaries[1] == ("deposit", "free")
    case, _ = read(tmp_path, CHANNEL, "numscalar = 1", "sc(1) = 1.0")
    assert case.scalar[0].boundaries[1] == (1.0, 0.0)
    assert case.scalar[0].initial == 0.0


def test_a_distance_without_a_deposit_is_refused():
    with pytest.raises(ValueError, match="deposit_distance goes with 'deposit' in boundaries"):
        ScalarSection(deposit_distance=0.1, boundaries=("no-flux", "free", "periodic"))
    assert ScalarSection(deposit_distance=0.1, boundaries=("no-flux", "deposit", "periodic")).deposit_distance == 0.1


@pytest.mark.parametrize("kind", ["taylor-green", "mixing-layer"])
@pytest.mark.parametrize("key", ["noise", "direction"])
def test_a_first_field_takes_no_parameter_that_it_has_not(kind, key):
    value = {"noise": 0.1, "direction": "z"}[key]
    with pytest.raises(ValueError, match=key):
        CaseSection(flow="xcompact3d", reynolds=10.0, parameters={"kind": kind, key: value})
    CaseSection(flow="xcompact3d", reynolds=10.0, parameters={"kind": "channel", key: value})


def test_what_settles_has_the_mean_distance_where_y_is_stretched(tmp_path):
    basic, scalar = "numscalar = 1\ngravy = -1.0\nny = 21", "sc(1) = 1.0\nuset(1) = 0.1"
    assert read(tmp_path, CURRENT, basic, scalar)[0].scalar[0].deposit_distance is None
    case, _ = read(tmp_path, CURRENT, f"{basic}\nistret = 2\nbeta = 0.5", scalar)
    assert case.scalar[0].deposit_distance == pytest.approx(0.1)


@pytest.mark.parametrize("length", ["Infinity", "1e999"])
def test_a_box_without_end_is_refused(tmp_path, length):
    assert "xlx" in str(refused(tmp_path, VORTEX, f"xlx = {length}\nyly = 6.283185307179586\nzlz = 6.283185307179586"))


def test_the_vortex_keeps_its_waves_in_a_box_that_they_do_not_fit(tmp_path):
    full = "xlx = 6.283185307179586\nyly = 3.14159265358979\nzlz = 12.566370614359172\nncly1 = 1\nnclyn = 1"
    assert read(tmp_path, VORTEX, full)[0].case.flow == "taylor-green"
    for change in ("xlx = 6.0", "ncly1 = 2", "istret = 2\nbeta = 0.5"):
        case, _ = read(tmp_path, VORTEX, f"{full}\n{change}")
        assert (case.case.flow, case.case.parameters.kind) == ("xcompact3d", "taylor-green"), change
    assert read(tmp_path, VORTEX, f"{full}\nnumscalar = 1", "sc(1) = 1.0")[0].scalar[0].initial == "waves"


@pytest.mark.parametrize(
    ("basic", "flow", "kind", "direction"),
    [
        ("", "channel", None, None),
        ("iin = 0", "xcompact3d", "laminar", "x"),
        ("idir_stream = 3", "xcompact3d", "channel", "z"),
        ("yly = 3.0", "xcompact3d", "channel", "x"),
    ],
)
def test_channels_begin_as_there(tmp_path, basic, flow, kind, direction):
    case, _ = read(tmp_path, CHANNEL, f"init_noise = 0.1\n{basic}")
    assert case.case.flow == flow
    assert (case.case.parameters.kind, case.case.parameters.direction) == (kind, direction)
    assert case.case.parameters.noise == (None if kind == "laminar" else 0.1)


def test_another_beginning_may_be_given(tmp_path):
    read(tmp_path, MIXING)
    case, _ = read_input(tmp_path / "input.i3d", ["case.flow=taylor-green"])
    assert (case.case.flow, case.case.parameters) == ("taylor-green", None)
    with pytest.raises(ConfigError) as caught:
        read_input(tmp_path / "input.i3d", ["case.from=old.h5"])
    assert [problem.key for problem in caught.value.problems] == ["case.from"], "only the file is missing"


def test_options_that_are_off_for_each_scalar_are_no_reason(tmp_path):
    scalar = "sc = 1.0, 1.0\nsc_skew = F, F\nsc_even = T, T"
    assert len(read(tmp_path, CHANNEL, "numscalar = 2", scalar)[0].scalar) == 2


def test_noise_at_the_inlet_is_none_there_either(tmp_path):
    _, notes = read(tmp_path, CYLINDER, "inflow_noise = 0.1")
    assert any(note.startswith("BasicParam.inflow_noise = 0.1: the inlet has no noise") for note in notes)


@pytest.mark.parametrize(
    ("itype", "basic", "scalar", "key", "reason"),
    [
        (VORTEX, "numscalar = 2", "sc_even = T, F", "ScalarParam.sc_even", "set it to T (found True False)"),
        (CHANNEL, "numscalar = 2", "sc_skew = F, T", "ScalarParam.sc_skew", "set it to 0 (found False True)"),
        (CHANNEL, "numscalar = 2", "sc = 1.0, 'a'", "ScalarParam.sc(2)", "must be a number (found a)"),
        (CHANNEL, "numscalar = 1", "ri = T", "ScalarParam.ri(1)", "must be a number (found True)"),
        (CHANNEL, "iin = 4", "", "BasicParam.iin", "2 (with noise) (found 4)"),
        (CHANNEL, "idir_stream = 2", "", "BasicParam.idir_stream", "must be one of 1 (x), 3 (z) (found 2)"),
        (CHANNEL, "idir_stream = 3\nnclx1 = 2\nnclxn = 2", "", "BasicParam.nclx1", "for a constant flow rate"),
        (MIXING, "iin = 2", "", "BasicParam.iin", "1 (the mixing layer) (found 2)"),
        (CYLINDER, "iin = 3", "", "BasicParam.iin", "2 (with noise) (found 3)"),
        (CYLINDER, "numscalar = 1\nu1 = 1.0\nu2 = 0.0", "", "BasicParam.u2", "(found u1 = 1, u2 = 0)"),
        (CURRENT, "numscalar = 1\ngravy = 1.0", "uset(1) = 0.1", "BasicParam.gravy", "must be below 0"),
        (CURRENT, "numscalar = 1\ngravy = -1.", "uset = 0.1\nnclyS1 = 1", "ScalarParam.nclyS1", "ncly1 = 2 (found 1)"),
    ],
)  # fmt: skip
def test_what_differs_from_there_is_refused_by_key(tmp_path, itype, basic, scalar, key, reason):
    assert reason in refused(tmp_path, itype, basic, scalar).get(key, "-")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("npif = 3", "must be 2"),
        ("izap = 0", "must be 1"),
        ("imove = 1", "must be 0"),
        ("ubcx = 0.2", "must be 0"),
        ("cey = 0.7", "must be from 0.75 to 5.125: three nodes"),
        ("cey = 5.2", "must be from 0.75 to 5.125"),
    ],
)
def test_bodies_that_are_not_computed_are_refused(tmp_path, line, reason):
    body = "\n".join(one for one in BODY.splitlines() if one.split()[0] != line.split()[0])
    found = refused(tmp_path, CYLINDER, "iibm = 2\nny = 48", body=f"{body}\n{line}")
    assert reason in found[f"ibmstuff.{line.split()[0]}"]
    assert read(tmp_path, CYLINDER, "iibm = 2\nny = 48", body=BODY)[0].body is not None


def test_a_body_ends_below_the_top(tmp_path):
    walls, body = "iibm = 2\nny = 49\nncly1 = 1\nnclyn = 1", BODY.replace("cey = 2.9", "cey = 5.6")
    assert "must be below 5.5" in refused(tmp_path, CYLINDER, walls, body=body)["ibmstuff.cey"]


@pytest.mark.parametrize(
    ("itype", "basic", "numeric", "said"),
    [
        (CHANNEL, "istret = 3\nbeta = 0.5", "", "BasicParam.istret = 3: Xcompact3D 5.0 leaves a divergence"),
        (CURRENT, "istret = 2\nbeta = 0.5", "ipinter = 2", "NumOptions.ipinter = 2: Xcompact3D 5.0 leaves a"),
        (CURRENT, "nclz1 = 2\nnclzn = 2", "", "BasicParam.nclz1, nclzn = 2: Xcompact3D 5.0 mixes up"),
        (MIXING, "", "isecondder = 5", "NumOptions.isecondder = 5: the first field goes through"),
        (VORTEX, "nclx1 = 1\nnclxn = 1", "isecondder = 5", "NumOptions.isecondder = 5: the first field goes through"),
    ],
)
def test_notes_tell_where_fields_differ(tmp_path, itype, basic, numeric, said):
    _, notes = read(tmp_path, itype, basic, numeric=numeric)
    assert any(note.startswith(said) for note in notes), notes
    assert not any(note.startswith(said) for note in read(tmp_path, itype)[1])


@pytest.mark.parametrize(
    ("itype", "basic"),
    [
        (VORTEX, "nclx1 = 1\nnclxn = 1\nxlx = 6.283185307"),
        (VORTEX, "nclz1 = 1\nnclzn = 1"),
        (VORTEX, "nclx1 = 1\nnclxn = 1\niin = 0"),
        (MIXING, "yly = 41.0"),
        (CURRENT, ""),
    ],
)
def test_a_field_that_stays_within_free_slip_is_that_of_xcompact3d(tmp_path, itype, basic):
    """The waves of the vortex end at multiples of pi in x and y, and it has no velocity along z."""
    _, notes = read(tmp_path, itype, basic, numeric="isecondder = 5")
    assert not any("goes through the free-slip ends" in note for note in notes), notes
