"""Analyses of series on disk: the numbers of the run itself, whatever the engine, the ranks and the order of steps."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from helpers.inputs.analyses import assert_close, make_run, output, script, write_case
from tailrace.io.time_series import read_time_series, rewind
from tailrace.replay.analyse import Analyse, AnalysisRequest
from tailrace.replay.source import SeriesSource


@pytest.fixture(scope="module")
def done(tailrace, tmp_path_factory):
    return make_run(tailrace, tmp_path_factory.mktemp("run"))


@pytest.fixture
def analyse(tailrace):
    """`tailrace analyse` in a directory."""
    return lambda directory, *words, **options: tailrace(directory, "analyse", *words, **options)


STATE = '''
import numpy as np
import tailrace as tr

class Mean:
    """Mean of ux over the steps: its profile, and as a field."""

    def start(self, step):
        self.count, self.total, self.steps = 0, step["ux"] * 0.0, []

    def step(self, step):
        self.count += 1
        self.total = self.total + step["ux"]
        self.steps.append(step.index)

    def finish(self):
        return {"count": self.count, "mean": self.total / self.count, "steps": np.array(sorted(self.steps))}
'''
MERGE = """
    def save(self):
        return {"count": self.count, "total": self.total, "steps": np.array(self.steps)}

    def load(self, state):
        self.count, self.total, self.steps = state["count"], state["total"], list(state["steps"])

    def merge(self, other):
        self.count += other.count
        self.total = self.total + other.total
        self.steps += other.steps
"""
EVERYTHING = '''
import matplotlib.pyplot as plt
import numpy as np
import tailrace as tr

def analyse(step, level=1.0):
    """One of each kind."""
    w = tr.curl(step.vector("u"))
    figure, axes = plt.subplots()
    axes.plot([0, level], [0, 1])
    profile = tr.mean(step["ux"], "xz")
    return {"w": w, "high": w["z"] > 0.1, "profile": profile, "table": np.outer([1, 2], profile), "line": figure,
            "level": level}
'''


@pytest.mark.parametrize(
    ("source", "ranks", "more"),
    [("run.h5", 1, ()), ("run.bp", 2, ()), ("raw", 3, ()), ("run.bp", 3, ("--steps-at-once=3",))],
)
def test_numbers_are_those_of_the_run(analyse, done, tmp_path, source, ranks, more):
    analyse(done, "budget", source, "-o", tmp_path, *more, ranks=ranks)
    assert_close(tmp_path / "budget.csv", done / "time_series.csv")


def test_it_starts_mpi_itself_and_passes_everything_on(done, tmp_path):
    text = "def analyse(step, a=0): return {'ranks': step.comm.size, 'a': a}"
    path = script(tmp_path, text)
    words = (path, "run.h5", "-n", 2, "-o", tmp_path, "--set=a=7", "--steps=1:", "--every=2", "--engine=bp5")
    result = mpi_run.tailrace("analyse", *words, cwd=done)
    assert result.code == 0, result.text
    rows = read_time_series(tmp_path / "script.csv")
    assert list(rows["step"]) == [2, 6]
    assert set(rows["ranks"]) == {2} and set(rows["a"]) == {7}
    assert tr.open(tmp_path / "script.bp").steps[1].scalars == {"ranks": 2.0, "a": 7.0}


def test_stored_precision_is_kept_unless_asked_otherwise(analyse, done, tmp_path):
    path = script(tmp_path, "def analyse(step): return {'size': step['ux'].dtype.itemsize}")
    for more, size in (([], 4), (["--precision=float64"], 8)):
        analyse(done, path, "single.h5", "-o", tmp_path, *more)
        assert set(read_time_series(tmp_path / "script.csv")["size"]) == {size}
    analyse(done, "budget", "single.h5", "-o", tmp_path, "--precision=float64")
    assert_close(tmp_path / "budget.csv", done / "time_series.csv", tolerance=1e-4)


def test_a_coarsened_whole_is_analysed_and_a_part_is_refused(analyse, done, tmp_path):
    analyse(done, "enstrophy", "coarse.h5", "-o", tmp_path)
    assert_close(tmp_path / "enstrophy.csv", done / "time_series.csv", ("enstrophy",), 0.01)
    result = analyse(done, "enstrophy", "plane.h5", "-o", tmp_path, code=1)
    assert "holds a part of the field only: 1 points in z" in result.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_everything_that_can_be_returned_is_stored(analyse, done, tmp_path, ranks):
    path = script(tmp_path, EVERYTHING)
    more = ["--steps-at-once=3"] if ranks > 1 else []
    analyse(done, path, "run.h5", "-o", tmp_path, "--set=level=2", *more, ranks=ranks)
    with tr.open(done / "run.h5") as flow, tr.open(tmp_path / "script.h5") as found:
        assert found.verify() == []
        ops = tr.Operators((24, 20, 17), (2 * np.pi, 2 * np.pi, np.pi), ("periodic", "periodic", "free-slip"))
        assert [step.index for step in found] == [0, 2, 4, 6]
        assert found.attributes["wx/parity"] == [1, 1, -1]
        for step, origin in zip(found, flow, strict=True):
            u = tr.Vector(*(tr.Field(origin[f"u{a}"], ops, parity=p) for a, p in zip("xyz", SIGNS, strict=True)))
            w = tr.curl(u)
            for axis in "xyz":
                np.testing.assert_allclose(step[f"w{axis}"], w[axis].data, atol=1e-13)
            np.testing.assert_array_equal(step["high"], step["wz"] > 0.1)
            profile = tr.mean(u["x"], "xz")
            np.testing.assert_allclose(step["profile"], profile, atol=1e-14)
            np.testing.assert_allclose(step["table"], np.outer([1, 2], profile), atol=1e-14)
            assert step.scalars == {"level": 2.0}
    pictures = sorted(tmp_path.glob("*.png"))
    assert [path.name for path in pictures] == [f"script-line-00000{n}.png" for n in (0, 2, 4, 6)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


SIGNS = ((1, 1, 1), (1, 1, 1), (1, 1, -1))


def test_results_can_be_analysed_in_turn(analyse, done, tmp_path):
    analyse(done, script(tmp_path, EVERYTHING), "run.bp", "-o", tmp_path)
    text = "def analyse(step):\n    w = step.vector('w')\n    return {'enstrophy': (w @ w).mean() / 2}"
    analyse(tmp_path, script(tmp_path, text, "again.py"), "script.bp", ranks=2)
    assert_close(tmp_path / "analysis/again.csv", done / "time_series.csv", ("enstrophy",))


def test_a_second_run_replaces_and_resume_goes_on(analyse, done, tmp_path):
    path = script(tmp_path, EVERYTHING)
    counted = script(tmp_path, "def analyse(step):\n    print('saw', step.index)\n    return step.time", "counted.py")
    analyse(done, path, counted, "run.h5", "-o", tmp_path)
    whole = cases.table(tmp_path / "counted.csv")
    analyse(done, path, counted, "run.h5", "-o", tmp_path, "--steps=:2", "--overwrite")
    assert len(list(tmp_path.glob("*.png"))) == len(tr.open(tmp_path / "script.h5")) == 2
    with (tmp_path / "counted.csv").open("a") as file:
        file.write("4,0.08,0.0")  # torn
    result = analyse(done, path, counted, "run.h5", "-o", tmp_path, "--resume", ranks=2)
    assert "saw 2" not in result.out and "saw 4" in result.out
    assert cases.table(tmp_path / "counted.csv") == whole
    assert list(read_time_series(tmp_path / "script.csv")["step"]) == [0, 2, 4, 6]
    assert [step.index for step in tr.open(tmp_path / "script.h5")] == [0, 2, 4, 6]
    assert len(list(tmp_path.glob("*.png"))) == 4
    stateful = script(tmp_path, STATE, "stateful.py")
    result = analyse(done, stateful, "run.h5", "-o", tmp_path, "--resume", code=1)
    assert "'stateful' may keep a state" in result.err


@pytest.mark.parametrize("last", [2, -1], ids=["later", "first"])
@pytest.mark.parametrize("ahead", ["table", "series"])
def test_resume_goes_on_where_both_files_are_complete(analyse, done, tmp_path, ahead, last):
    """A kill between a row and the step of the series leaves one of them ahead; at the first step, the other empty."""
    path = script(tmp_path, "def analyse(step):\n    return {'time_squared': step.time**2, 'ux': step['ux']}")
    analyse(done, path, "run.h5", "-o", tmp_path)
    whole = cases.table(tmp_path / "script.csv")  # without the comments, which have the date
    if ahead == "series":
        rewind(tmp_path / "script.csv", last)
    else:
        tr.open(tmp_path / "script.h5", "a", rewind_to=last).close()
    analyse(done, path, "run.h5", "-o", tmp_path, "--resume")
    assert cases.table(tmp_path / "script.csv") == whole
    assert [step.index for step in tr.open(tmp_path / "script.h5")] == [0, 2, 4, 6]


def test_resume_reads_what_any_script_lacks(analyse, done, tmp_path):
    behind, ahead = (script(tmp_path, "def analyse(step):\n    return step.time", f"{name}.py") for name in "ab")
    analyse(done, behind, "run.h5", "-o", tmp_path, "--steps=:2")
    analyse(done, ahead, "run.h5", "-o", tmp_path)
    analyse(done, behind, ahead, "run.h5", "-o", tmp_path, "--resume")
    for name in "ab":
        assert list(read_time_series(tmp_path / f"{name}.csv")["step"]) == [0, 2, 4, 6]


STREAM = """
import sys
import numpy as np
import tailrace as tr

target, factor, *steps = sys.argv[1:]
grid = tr.UniformGrid((8, 10, 9), spacing=(1 / 8, 1 / 10, 1 / 9), boundaries=("periodic",) * 3)
waits = {"wait_for_reader": 60} if target.startswith("sst:") else {}
with tr.open(target, "w", grid=grid, parameters=waits) as out:
    for index in map(int, steps):
        out.write_step(0.1 * index, index=index, ux=np.full((9, 10, 8), float(factor) * index))
"""


@pytest.mark.skipif("sst" not in tr.core.engine_names(), reason="there is no engine sst")
@pytest.mark.parametrize("first", [0, 4])
def test_a_stream_replaces_the_results_from_its_first_step_on(analyse, tmp_path, first):
    """Of a run that has gone on from a checkpoint: earlier results stay, also the last one before it."""
    path = script(tmp_path, "def analyse(step):\n    return {'mean': step['ux'].mean(), 'ux': step['ux']}")
    (tmp_path / "stream.py").write_text(STREAM)
    write = [sys.executable, "stream.py"]
    earlier, later = [0, 3, 4, 6], [first, first + 2]
    writer = mpi_run.start([*write, "run.h5", "1", *map(str, earlier)], tmp_path)
    assert mpi_run.finish(writer, 60).code == 0
    analyse(tmp_path, path, "run.h5", "-o", tmp_path)
    writer = mpi_run.start([*write, "sst:run", "10", *map(str, later)], tmp_path)
    analyse(tmp_path, path, "sst:run", "-o", tmp_path, "--resume")
    assert mpi_run.finish(writer, 60).code == 0
    kept = [step for step in earlier if step < first]
    means = [*kept, *(10 * step for step in later)]
    rows = read_time_series(tmp_path / "script.csv")
    assert list(rows["step"]) == kept + later
    np.testing.assert_allclose(rows["mean"], means, rtol=1e-14)
    with tr.open(tmp_path / "script.h5") as found:
        assert [(step.index, step["ux"][8, 9, 7]) for step in found] == list(zip(kept + later, means, strict=True))


@pytest.mark.skipif("sst" not in tr.core.engine_names(), reason="there is no engine sst")
def test_steps_of_a_stream_are_counted_from_0(analyse, tmp_path):
    path = script(tmp_path, "def analyse(step):\n    return {'mean': step['ux'].mean()}")
    (tmp_path / "stream.py").write_text(STREAM)
    writer = mpi_run.start([sys.executable, "stream.py", "sst:run", "1", "0", "3", "4"], tmp_path)
    analyse(tmp_path, path, "sst:run", "-o", tmp_path, "--steps=0:9")
    assert mpi_run.finish(writer, 60).code == 0
    assert list(read_time_series(tmp_path / "script.csv")["step"]) == [0, 3, 4]


@pytest.mark.parametrize(("chosen", "wanted"), [(slice(0, 5, 2), [0, 2, 4]), (slice(3, 4), [3]), (slice(2), [0, 1])])
def test_no_step_of_a_stream_is_waited_for_after_the_last_that_is_wanted(chosen, wanted):
    source, read = SeriesSource.__new__(SeriesSource), iter(range(1, 9))
    source._pending, source._series = 0, SimpleNamespace(next_step=lambda: next(read, None))
    assert list(source.stream(chosen)) == wanted
    assert next(read) == wanted[-1] + 1


@pytest.mark.parametrize(("ranks", "more"), [(2, ()), (2, ("--steps-at-once=2",))])
def test_a_class_sees_all_steps_and_has_the_last_word(analyse, done, tmp_path, ranks, more):
    analyse(done, script(tmp_path, STATE + MERGE), "run.h5", "-o", tmp_path, *more, ranks=ranks)
    with tr.open(done / "run.h5") as flow, tr.open(tmp_path / "script-final.h5") as found:
        assert len(found) == 1
        assert found[0].index == 6
        assert found[0].scalars == {"count": 4.0}
        np.testing.assert_allclose(found[0]["mean"], sum(step["ux"] for step in flow) / 4, atol=1e-14)
        assert list(found[0]["steps"]) == [0, 2, 4, 6]
    assert not (tmp_path / "script.csv").exists()


FIGURES = """
import matplotlib.pyplot as plt

class Figures:
    def step(self, step):
        return {"line": plt.figure(), "dots": plt.figure()} if step.comm.rank == 0 else None

    def finish(self):
        return plt.figure()
"""


def test_figures_alone_are_counted(analyse, done, tmp_path):
    said = analyse(done, script(tmp_path, FIGURES), "run.h5", "-o", tmp_path, "--every=2", ranks=2).out
    assert re.search(rf"^script: 4 pictures, [\d.]+ s in the script -> {tmp_path}/script-\*\.png$", said, re.M)
    assert len(list(tmp_path.glob("script-[ld]*.png"))) == 4
    assert f"script-final: 1 picture -> {tmp_path}/script-final-*.png\n" in said
    assert len(list(tmp_path.glob("script-final-*.png"))) == 1
    said = analyse(done, script(tmp_path, "def analyse(step): pass"), "run.h5", "-o", tmp_path / "none").out
    assert said.startswith("script: no results, ")


@pytest.mark.parametrize(
    ("ranks", "arguments", "said"),
    [
        (1, ["run.h5"], "needs a script and a source"),
        (1, ["budget", "nowhere.h5"], "nowhere.h5"),
        (1, ["budget", "run.h5", "--steps=3"], "--steps must be A:B"),
        (1, ["budget", "run.h5", "--engine=sst"], "--engine must be one of"),
        (1, ["budget", "run.h5", "--steps-at-once=2"], "1 ranks do not make 2 groups"),
        (2, ["{state}", "run.h5", "--steps-at-once=2"], "has no save, load, merge"),
        (2, ["{state}", "run.h5", "--set=x=1"], "'stateful' has no parameter 'x'"),
    ],
)
def test_wrong_requests_are_reported(analyse, done, tmp_path, ranks, arguments, said):
    path = script(tmp_path, STATE, "stateful.py")
    code = 1 if ranks > 1 or "nowhere" in arguments[-1] or "at-once" in arguments[-1] else 2
    words = [word.format(state=path) for word in arguments]
    result = analyse(done, *words, "-o", tmp_path, ranks=ranks, code=code)
    assert said in result.err


FAILS = """
import tailrace as tr

def analyse(step, ranks=(0,), wait=False):
    if step.index == 2 and step.comm.rank in ranks:
        raise ValueError("out of luck")
    if wait:
        step.comm.barrier()
    return {"index": step.index} if step.index < 4 or step.comm.rank == 0 else {"other": 1}
"""


@pytest.mark.parametrize("more", [(), ("--steps-at-once=3",)])
def test_an_error_on_one_rank_is_everybodys(analyse, done, tmp_path, more):
    path = script(tmp_path, FAILS)
    ranks = "[0]" if more else "[1, 2]"  # in groups of one rank, that of the second step fails
    result = analyse(done, path, "run.h5", "-o", tmp_path, f"--set=ranks={ranks}", *more, ranks=3, code=1)
    assert result.err.count("tailrace: analysis 'script' failed") == 1
    assert "script.py, line 6, in analyse: ValueError: out of luck" in result.err
    assert "Traceback" not in result.err
    if not more:
        assert list(read_time_series(tmp_path / "script.csv")["step"]) == [0]


def test_an_error_switches_one_script_off(analyse, done, tmp_path):
    path = script(tmp_path, FAILS)
    result = analyse(
        done, path, "enstrophy", "run.h5", "-o", tmp_path, "--set=ranks=[1]", "--on-error=off", ranks=2, code=1
    )
    assert "out of luck" in result.err and "it is switched off" in result.err
    assert list(read_time_series(tmp_path / "script.csv")["step"]) == [0]
    assert list(read_time_series(tmp_path / "enstrophy.csv")["step"]) == [0, 2, 4, 6]


@pytest.mark.parametrize(("ranks", "more"), [(2, ()), (2, ("--steps-at-once=2",)), (4, ("--steps-at-once=4",))])
def test_results_that_cannot_be_stored_switch_one_script_off(analyse, done, tmp_path, ranks, more):
    """In groups, the steps of one round may differ."""
    text = "def analyse(step): return {'u': step['ux'], 'a': 1.0} | ({'b': 2.0} if step.index > 3 else {})"
    words = (done, script(tmp_path, text), "enstrophy", "run.h5", "-o", tmp_path, *more)
    result = analyse(*words, "--on-error=off", ranks=ranks, code=1)
    assert result.err.count("analysis 'script' failed at step 4, t = 0.08: ") == 1
    assert "script.csv (new: b)" in result.err and "it is switched off" in result.err
    assert list(read_time_series(tmp_path / "script.csv")["step"]) == [0, 2]
    assert list(read_time_series(tmp_path / "enstrophy.csv")["step"]) == [0, 2, 4, 6]
    with tr.open(tmp_path / "script.h5") as stored:
        assert [step.index for step in stored] == [0, 2] and not stored.verify()
    result = analyse(*words, "--overwrite", ranks=ranks, code=1)
    assert result.err.count("analysis 'script' failed at step 4, t = 0.08: ") == 1


def test_results_of_finish_that_cannot_be_stored_are_an_error_of_the_script(analyse, done, tmp_path):
    text = """
import numpy as np

class Last:
    def step(self, step): pass
    def finish(self): return {"a": 1.0, "mine": np.ma.masked_array([1.0, 2.0], [True, False])}
"""
    result = analyse(done, script(tmp_path, text), "enstrophy", "run.h5", "-o", tmp_path, "--on-error=off", code=1)
    assert "analysis 'script' failed at its end: " in result.err and "mine: 1 of its 2 values are masked" in result.err
    with tr.open(tmp_path / "script-final.h5") as stored:
        assert len(stored) == 0
    assert list(read_time_series(tmp_path / "enstrophy.csv")["step"]) == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("name", "column"), [("d\u00fc-1.py", "d__1"), ("my file \u00fc-1.py", "my_file___1"), ("2d.py", "_2d")]
)
def test_a_number_without_a_name_has_that_of_its_script_in_plain_letters(analyse, done, tmp_path, name, column):
    analyse(done, script(tmp_path, "def analyse(step): return step.time", name), "run.h5", "-o", tmp_path)
    assert list(read_time_series(tmp_path / f"{name[:-3]}.csv")) == ["step", "time", column]


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3), (2, 1)])
def test_a_run_that_goes_on_with_another_rhythm_has_missed_no_step(tailrace, analyse, tmp_path, before, after):
    blocks = ("[checkpoint]\nevery = 6\n", output("h5", "hdf5", "run.h5"))
    case = write_case(tmp_path, *blocks)
    tailrace(tmp_path, "run", case, f"--set=output[0].every={before}")
    tailrace(tmp_path, "run", case, "--resume", f"--set=output[0].every={after}", "--set=time.steps=12")
    result = analyse(tmp_path, script(tmp_path, "def analyse(step): return len(step.missed)"), "run.h5")
    rows = read_time_series(tmp_path / "analysis/script.csv")
    assert list(rows["step"]) == [*range(0, 6, before), *range(6, 13, after)]
    assert not rows["script"].any() and "missed" not in result.out


# ---- sources that do not tell their grid -----------------------------------------------------------------------------
GRID = """
reynolds = 100.0
[grid]
points = [24, 20, 17]
lengths = ["2*pi", "2*pi", "pi"]
boundaries = ["periodic", "periodic", "free-slip"]
[variables]
ux = "u"
uy = "v"
uz = "w"
[time]
dt = 0.04
start = 1.0
"""


@pytest.fixture(scope="module")
def foreign(done):
    """Series with other names, and nothing but arrays in them."""
    for name in ("foreign.bp", "foreign.h5"):
        with tr.open(done / "run.h5") as flow, tr.open(done / name, "w") as out:
            for number, step in enumerate(flow):
                out.write_step(number, index=number, u=step["ux"], v=step["uy"], w=step["uz"])
    return done


@pytest.mark.parametrize("source", ["foreign.bp", "foreign.h5"])
def test_a_grid_file_tells_what_the_source_does_not(analyse, foreign, tmp_path, source):
    (tmp_path / "grid.toml").write_text(GRID)
    analyse(foreign, "budget", source, "-o", tmp_path, f"--grid={tmp_path / 'grid.toml'}", ranks=2)
    ours, theirs = read_time_series(tmp_path / "budget.csv"), read_time_series(foreign / "time_series.csv")
    np.testing.assert_allclose(ours["time"], 1.0 + theirs["time"], rtol=1e-14)
    for name in ("dissipation", "enstrophy"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12)


def test_without_it_the_message_says_what_to_write(analyse, foreign, tmp_path):
    result = analyse(foreign, "budget", "foreign.bp", "-o", tmp_path, code=1)
    assert "has no attribute 'lengths'" in result.err and "--grid FILE" in result.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[24, 20, 17]", "[24, 20, 18]"), "no field has the grid.points = [24, 20, 18]"),
        (('"2*pi", "pi"]', '"pi"]'), "lengths: must have three values"),
        (("lengths", "length"), "grid.length: unknown key; did you mean grid.lengths?"),
        (('"free-slip"]', '"slip"]'), "did you mean 'free-slip'?"),
        (('ux = "u"', 'ux = "uu"'), "has no 'uu' (variables.ux of the grid file); did you mean 'u'?"),
        (("dt = 0.04", "dt = 0.0"), "time.dt: must be greater than 0"),
        (("reynolds", "reynold"), "did you mean reynolds?"),
        (("[variables]", "[variables"), "is not valid TOML"),
    ],
)
def test_a_wrong_grid_file_is_reported(foreign, tmp_path, change, said):
    assert change[0] in GRID
    path = tmp_path / "grid.toml"
    path.write_text(GRID.replace(*change))
    request = AnalysisRequest(["budget"], str(foreign / "foreign.bp"), tmp_path / "out", grid=path)
    with pytest.raises(ValueError) as caught:
        Analyse(request, MPI.COMM_SELF)
    assert said in str(caught.value)


def test_results_never_replace_their_source(analyse, done, tmp_path):
    analyse(done, "qcriterion", "run.h5", "-o", tmp_path)
    before = (tmp_path / "qcriterion.h5").read_bytes()
    path = script(tmp_path, "def analyse(step): return step['q'] * 2.0", "qcriterion.py")
    said = analyse(tmp_path, path, "qcriterion.h5", "-o", ".", code=1).err
    assert "qcriterion.h5 is where the results of analysis 'qcriterion' go; choose another directory by -o" in said
    assert (tmp_path / "qcriterion.h5").read_bytes() == before
