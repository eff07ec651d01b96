"""Analyses inside a run: the solver's own arrays, errors that stop or switch off, and resuming."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases, running_mean
from helpers.inputs.analyses import assert_close, output, script, write_case
from tailrace.io.time_series import read_time_series


def block(name, rhythm="every = 2", more=""):
    return f'[[analysis]]\nscript = "{name}"\n{rhythm}\n{more}\n'


@pytest.fixture
def run(tailrace):
    """`tailrace run` in the directory of a case."""
    return lambda case, *words, **options: tailrace(case.parent, "run", case, *words, **options)


SEES = """
import numpy as np

def analyse(step, factor=2.0):
    assert step.dt == 0.02 and step.viscosity == 0.01 and not step.missed
    q = step["q"]
    return {"time": step.time} if factor == 0 else {"twice": factor * step.index, "q": q, "lowest": q.min(),
            "address": float(step["ux"].data.__array_interface__["data"][0]),
            "writable": step["ux"].data.flags.writeable}
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_numbers_are_those_of_the_run(run, tailrace, tmp_path, ranks):
    """Inside and afterwards, they are those that the solver itself computes."""
    case = write_case(tmp_path, output("bp", "bp5", "run.bp"), block("budget"))
    result = run(case, ranks=ranks)
    assert_close(tmp_path / "analysis/budget.csv", tmp_path / "time_series.csv")
    assert "analysis budget" in result.out, "the summary tells its time"
    if ranks == 2:
        tailrace(tmp_path, "analyse", "budget", "run.bp", "-o", "after", ranks=3)
        assert_close(tmp_path / "after/budget.csv", tmp_path / "analysis/budget.csv")


def test_it_sees_the_arrays_of_the_solver(tmp_path, monkeypatch):
    script(tmp_path, SEES)
    parameters = "[analysis.parameters]\nfactor = 3"
    times = 'interval = 0.03\nout = "here"\nname = "own"\nengine = "bp5"'
    case = write_case(tmp_path / "case", output("h5", "hdf5", "run.h5"), block("../script.py", times, parameters))
    monkeypatch.chdir(case.parent)
    simulation = tr.Simulation(tr.load_case(case), MPI.COMM_SELF)
    assert simulation.run() == 0
    rows = read_time_series(tmp_path / "case/here/own.csv")
    np.testing.assert_allclose(rows["time"], [0, 0.03, 0.06, 0.09], rtol=1e-14)
    assert set(rows["writable"]) == {0.0}
    address = simulation.field("ux").__array_interface__["data"][0]
    assert set(rows["address"]) == {float(address)}
    np.testing.assert_array_equal(rows["twice"], 3 * rows["step"])
    with tr.open("here/own.bp") as found:
        assert found.attributes["boundaries"] == "periodic,periodic,free-slip"
        assert [step["q"].min() for step in found] == list(rows["lowest"])


@pytest.mark.parametrize(
    ("block_text", "said"),
    [
        (block("missing.py"), "analysis[0].script: there is no file"),
        (block("budgte"), "did you mean 'budget'?"),
        (block("bad.py"), "bad.py, line 1: is not valid Python"),
        (block("budget", "every = 2\ninterval = 0.1"), "give exactly one of every"),
        (block("budget") + block("budget"), "'budget' is taken by analysis[0].name"),
        (block("budget", more='engine = "sst"'), "engine: must be"),
        (block("budget", more='on_eror = "off"'), "did you mean analysis[0].on_error?"),
    ],
)
def test_a_wrong_block_is_reported_before_anything_starts(tmp_path, block_text, said):
    script(tmp_path, "def analyse(step\n", "bad.py")
    case = write_case(tmp_path, block_text)
    with pytest.raises(tr.ConfigError) as caught:
        tr.load_case(case)
    assert said in str(caught.value)


def test_the_case_survives_being_written_out(tmp_path):
    case = tr.load_case(write_case(tmp_path, block("budget", more="[analysis.parameters]\nx = [1, 2]")))
    (tmp_path / "again.toml").write_text(case.to_toml())
    assert tr.load_case(tmp_path / "again.toml") == case
    assert "every = 100 is more" in str(tr.load_case(tmp_path / "case.toml", ["analysis[0].every=100"]).warnings())


def test_an_unknown_parameter_stops_the_start(run, tmp_path):
    case = write_case(tmp_path, block("budget", more="[analysis.parameters]\nx = 1"))
    assert "analysis 'budget' has no parameter 'x'" in run(case, code=2).err


FAILS = """
def analyse(step):
    if step.index == 4 and step.comm.rank == 1:
        raise ValueError("out of luck")
    return step.time
"""


def test_an_error_stops_the_run_cleanly(run, tmp_path, ranks=2):
    script(tmp_path, FAILS)
    case = write_case(
        tmp_path, "[checkpoint]\nevery = 100", output("h5", "hdf5", "run.h5", "[output.parameters]\nbuffers = 2"),
        block("script.py"),
    )  # fmt: skip
    result = run(case, ranks=ranks, code=1)
    assert result.err.count("analysis 'script' failed at step 4, t = 0.08") == 1
    assert "script.py, line 4, in analyse: ValueError: out of luck" in result.err
    assert "Traceback" not in result.err
    with tr.open(tmp_path / "run.h5") as stored:
        assert [step.index for step in stored] == [0, 2, 4]
        assert stored.verify() == []
    assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == [0, 2]
    script(tmp_path, FAILS.replace("== 4", "== 400"))
    run(case, "--resume", ranks=ranks)
    assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == [0, 2, 4, 6]


def test_an_error_switches_one_script_off(run, tmp_path):
    script(tmp_path, FAILS)
    case = write_case(tmp_path, block("script.py", more='on_error = "off"'), block("enstrophy"))
    result = run(case, ranks=2)
    assert "out of luck" in result.text and "it is switched off" in result.text
    assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == [0, 2]
    assert_close(tmp_path / "analysis/enstrophy.csv", tmp_path / "time_series.csv", ("enstrophy",))


UNLIKE = """
import numpy as np
from tblib import pickling_support

pickling_support.install()  # as Dask does: errors are sent with their causes, which not all can be

def analyse(step, kind="numbers", last=3):
    late = step.index > last
    other = {"numbers": {"b": 1.0} if late else {}, "columns": {"b": np.zeros((2, 3 if late else 2))},
             "type": {"b": np.zeros(2) if late else np.arange(2)}, "figure": {"line": Figure(late)}}
    return {"u": step["ux"], "a": step.time, **other[kind]}


def Figure(late):
    import matplotlib.pyplot as plt
    return plt.figure(figsize=(1, 1)).text(0, 0, r"$\\frac{1$" if late else "1").figure
"""
SAID = {
    "numbers": "the columns of analysis/script.csv (new: b)",
    "columns": "shape of 'b' was 2 x 2 x 1 before and is now 3 x 2 x 1",
    "type": "'b' is stored as int64, which cannot hold float64",
    "figure": "the figure 'line' cannot be drawn: ValueError",
}


@pytest.mark.parametrize("kind", SAID)
def test_results_that_cannot_be_stored_stop_the_run_as_an_error_of_the_script(run, tmp_path, kind):
    path = script(tmp_path, UNLIKE)
    blocks = [block("script.py", more=f'[analysis.parameters]\nkind = "{kind}"\nlast = 3'), block("enstrophy")]
    case = write_case(tmp_path, "[checkpoint]\nevery = 100\n", *blocks)
    result = run(case, ranks=2, code=1)
    assert result.err.count(f"analysis 'script' failed at step 4, t = 0.08: {path}: what it returned") == 1
    assert SAID[kind] in result.err
    assert "fix the script, then go on with --resume, from checkpoints/step-00000004" in result.text
    for last in (2, 6):
        assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == list(range(0, last + 1, 2))
        assert len(list((tmp_path / "analysis").glob("*.png"))) == (last // 2 + 1 if kind == "figure" else 0)
        with tr.open(tmp_path / "analysis/script.h5") as stored:
            assert [step.index for step in stored] == list(range(0, last + 1, 2)) and not stored.verify()
        if last == 2:
            run(case, "--resume", "--set=analysis[0].parameters.last=9", ranks=2)
    assert list(read_time_series(tmp_path / "analysis/enstrophy.csv")["step"]) == [0, 2, 4, 6]


@pytest.mark.parametrize("kind", SAID)
def test_results_that_cannot_be_stored_switch_one_script_off(run, tmp_path, kind):
    script(tmp_path, UNLIKE)
    more = f'on_error = "off"\n[analysis.parameters]\nkind = "{kind}"'
    case = write_case(tmp_path, block("script.py", more=more), block("enstrophy"))
    result = run(case, ranks=2)
    assert "analysis 'script' failed at step 4" in result.text and SAID[kind] in result.text
    assert "it is switched off" in result.text
    assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == [0, 2]
    assert list(read_time_series(tmp_path / "analysis/enstrophy.csv")["step"]) == [0, 2, 4, 6]


def test_what_the_message_about_other_numbers_says_works(run, tmp_path):
    """A script that returns one number more since the checkpoint."""
    script(tmp_path, "def analyse(step): return {'a': step.time}")
    case = write_case(tmp_path, "[checkpoint]\nevery = 2\n", block("script.py"))
    run(case, "--set=time.steps=3")
    script(tmp_path, "def analyse(step): return {'b': 2.0, 'a': step.time}")
    result = run(case, "--resume", code=1)
    assert "(new: b). Return the same numbers at every step; to go on with others, choose another " in result.err
    run(case, "--resume", "--set=analysis[0].out=others")
    assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == [0, 2]
    assert read_time_series(tmp_path / "others/script.csv")["b"].tolist() == [2.0, 2.0]
    script(tmp_path, "def analyse(step): return {'a': step.time, 'b': 3.0}")  # in another order
    run(case, "--resume", "--set=time.steps=8")
    assert read_time_series(tmp_path / "others/script.csv")["b"].tolist() == [2.0, 2.0, 3.0]


# ---- resuming --------------------------------------------------------------------------------------------------------
STATE = Path(running_mean.__file__).read_text()
FIGURE = """
import matplotlib.pyplot as plt

def analyse(step):
    figure, axes = plt.subplots()
    axes.plot([0, step.time])
    return {"line": figure, "time_squared": step.time**2}
"""


def test_a_resumed_run_leaves_what_an_unbroken_one_does(run, tmp_path):
    """Killed at an analysed step, after its checkpoint, and resumed on other rank counts: states continue exactly."""
    more = "[checkpoint]\nevery = 3\n"

    def make(name):
        (tmp_path / name).mkdir()
        script(tmp_path / name, STATE, "state.py")
        script(tmp_path / name, FIGURE, "figure.py")
        return write_case(tmp_path / name, more, block("state.py", "every = 1"), block("figure.py", "every = 3"))

    run(make("straight"), ranks=2)
    halves = make("halves")
    run(halves, "--set=time.steps=5", ranks=2)
    shutil.rmtree(tmp_path / "halves/checkpoints/step-00000005")  # it was killed there
    for ranks in (3, 1):
        where = tmp_path / f"on{ranks}"
        shutil.copytree(tmp_path / "halves", where)
        result = run(where / "case.toml", "--resume", ranks=ranks)
        assert "steps [0, 1, 2, 3, 4, 5, 6] begun, loaded" in result.out
        ours, theirs = where / "analysis", tmp_path / "straight/analysis"
        assert sorted(path.name for path in ours.iterdir()) == sorted(path.name for path in theirs.iterdir())
        assert_close(ours / "state.csv", theirs / "state.csv", ("energy", "count"))
        assert list(read_time_series(ours / "figure.csv")["step"]) == [0, 3, 6]
        with tr.open(ours / "state.h5") as one, tr.open(theirs / "state.h5") as other:
            assert [step.index for step in one] == list(range(7))
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a["mean"], b["mean"], atol=1e-14)
        with tr.open(ours / "state-final.h5") as one:
            assert [step.index for step in one] == [6]


def test_on_the_same_ranks_they_go_on_to_the_last_bit(tmp_path, monkeypatch):
    def in_process(name, *overrides, resume=False):
        (tmp_path / name).mkdir(exist_ok=True)
        script(tmp_path / name, STATE, "state.py")
        case = write_case(tmp_path / name, "[checkpoint]\nevery = 3\n", block("state.py", "every = 1"))
        monkeypatch.chdir(case.parent)
        assert tr.Simulation(tr.load_case(case, overrides), MPI.COMM_SELF, resume=resume).run() == 0

    in_process("straight")
    in_process("halves", "time.steps=3")
    in_process("halves", resume=True)
    ours, theirs = tmp_path / "halves/analysis", tmp_path / "straight/analysis"
    assert cases.table(ours / "state.csv") == cases.table(theirs / "state.csv")
    with tr.open(ours / "state.h5") as one, tr.open(theirs / "state.h5") as other:
        assert all(a.read("mean").tobytes() == b.read("mean").tobytes() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("ends", [(5, 6, 7, 9), (4, 6)], ids=["twice between its steps", "at its last step"])
def test_a_state_survives_a_resumed_run_that_has_no_step_for_it(tmp_path, monkeypatch, capfd, ends):
    """Checkpoints between a resume and the script's next step hand its state on, and `finish` is called with it."""

    def in_process(name, *ends):
        (tmp_path / name).mkdir()
        script(tmp_path / name, STATE, "state.py")
        case = write_case(tmp_path / name, "[checkpoint]\nevery = 1\n", block("state.py", "every = 4"), block("budget"))
        monkeypatch.chdir(case.parent)
        for part, end in enumerate(ends):
            final = case.parent / "analysis/state-final.h5"
            final.unlink(missing_ok=True)
            loaded = tr.load_case(case, [f"time.steps={end}"])
            assert tr.Simulation(loaded, MPI.COMM_SELF, resume=part > 0).run() == 0
            assert final.exists(), f"finish was not called at step {end}"
        return case.parent / "analysis"

    ours, theirs = in_process("parts", *ends, 10), in_process("straight", 10)
    said = capfd.readouterr().out
    assert "starts without one" not in said
    assert said.count("steps [0, 4, 8] begun") == 2 + sum(end >= 8 for end in ends)
    assert cases.table(ours / "state.csv") == cases.table(theirs / "state.csv")
    with tr.open(ours / "state-final.h5") as one, tr.open(theirs / "state-final.h5") as other:
        assert one[0].read("mean").tobytes() == other[0].read("mean").tobytes()


@pytest.mark.parametrize("first", [True, False])
def test_no_checkpoint_lacks_the_state_of_a_script_that_failed(run, tmp_path, first):
    """Also where another script has not failed: the run goes on from the checkpoint before."""
    fails = '        if step.index == 4:\n            raise ValueError("out of luck")\n        self.count += 1\n'
    script(tmp_path, STATE.replace("        self.count += 1\n", fails), "state.py")
    blocks = [block("state.py", "every = 1"), block("budget", "every = 1")]
    case = write_case(tmp_path, "[checkpoint]\nevery = 3\n", *(blocks if first else blocks[::-1]))
    assert "out of luck" in run(case, code=1).err
    assert [path.name for path in (tmp_path / "checkpoints").glob("step-*")] == ["step-00000003"]
    script(tmp_path, STATE, "state.py")
    assert "steps [0, 1, 2, 3, 4, 5, 6] begun, loaded" in run(case, "--resume").out


def test_a_simulation_that_was_stepped_by_hand_can_run_on_with_analyses(tmp_path, monkeypatch):
    script(tmp_path, STATE, "state.py")
    case = write_case(tmp_path, block("state.py"))
    monkeypatch.chdir(tmp_path)
    simulation = tr.Simulation(tr.load_case(case), MPI.COMM_SELF)
    simulation.advance()
    simulation.advance()
    assert simulation.run() == 0
    assert list(read_time_series("analysis/state.csv")["step"]) == [2, 4, 6]


def test_a_script_that_is_new_in_a_resumed_run_begins_there(run, tmp_path):
    script(tmp_path, STATE, "state.py")
    run(write_case(tmp_path, "[checkpoint]\nevery = 2\n"), "--set=time.steps=2")
    result = run(write_case(tmp_path, block("state.py"), block("budget")), "--resume")
    assert "has no state of analysis 'state', which starts without one" in result.out
    assert list(read_time_series(tmp_path / "analysis/state.csv")["step"]) == [2, 4, 6]


def test_a_state_that_cannot_be_stored_is_reported(run, tmp_path):
    bad = STATE.replace('"label": self.label', '"label": object()')
    script(tmp_path, bad, "state.py")
    case = write_case(tmp_path, "[checkpoint]\nevery = 2\n", block("state.py"))
    assert "when its state was saved" in run(case, code=1).err


LOCAL = """
import numpy as np
import tailrace as tr

def analyse(step):
    plane = np.asarray(step["ux"])
    return {"local": (plane**2).sum(), "mean": tr.mean(step["ux"]), "rank": float("nan") if step.comm.rank else 1.0,
            "list": np.arange(3.0) * step.comm.rank, "same": np.array([1e-17, -1e-17]), "none": float("nan")}
"""


def test_numbers_of_a_rank_alone_are_told_once(run, tmp_path):
    """Rank 0's are stored, as for a sum that was not taken over the ranks."""
    script(tmp_path, LOCAL)
    case = write_case(tmp_path, block("script.py"))
    result = run(case, ranks=2)
    lines = [line for line in result.text.splitlines() if "not the same on all ranks" in line]
    assert "at step 0, t = 0: not" in lines[0] and "stored as on rank 0: rank, list. Combine" in lines[0]
    assert "rank 0: local. Combine" in lines[1] and len(lines) == 2, "the halves of the first state are mirror images"
    assert "not the same" not in run(case, ranks=1).text


SLOW = """
import time
import tailrace as tr
from tailrace.analysis import calls

calls.PATIENCE = 0.2

def analyse(step):
    if step.comm.rank == 1 and step.index == 0:
        time.sleep(1)
    return {"a": 1.0}
"""


def test_who_waits_for_a_script_says_so_once(run, tmp_path):
    """A rank that leaves out a collective call keeps the others waiting for ever."""
    script(tmp_path, SLOW)
    result = run(write_case(tmp_path, block("script.py")), ranks=2)
    waits = "analysis 'script' has returned at step 0, t = 0 on rank 0, and not on others within 0.2 s"
    assert result.text.count(waits) == 1 and result.text.count("has returned") == 1
