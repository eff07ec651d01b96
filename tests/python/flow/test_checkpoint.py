"""Resuming: the results are those of a run without interruption."""

import shutil
import signal
import time

import h5py
import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases, sidecar
from tailrace.flow import checkpoint
from tailrace.flow.checkpoint import check_sidecar
from tailrace.io.time_series import read_time_series

ENGINES = ("raw", "hdf5", "bp5")


def run(case, *arguments, ranks=None, code=0, limit=120):
    result = cases.run(case, *arguments, ranks=ranks, limit=limit)
    assert result.code == code, result.text
    return result


def raw_fields(directory):
    """Every array of the raw output: (step, name) -> bytes, in order."""
    return {
        (step["index"], step["time"], variable["name"]): (directory / "out" / variable["file"]).read_bytes()
        for step in sidecar.read(directory / "out")["steps"]
        for variable in step["variables"]
    }


def hdf5_fields(directory):
    """The same of the VTKHDF file, by h5py."""
    with h5py.File(directory / "out.h5") as file:
        root = file["VTKHDF"]
        count = root["Steps"].attrs["NSteps"]
        times, index = root["Steps/Values"][:], file["Tailrace/index"][:]
        assert len(times) == len(index) == count
        return {
            (int(index[step]), float(times[step]), name): data[step].tobytes()
            for step in range(count)
            for name, data in root["PointData"].items()
        }


def series_fields(directory, name):
    with tr.open(directory / name) as series:
        assert series.verify() == []
        return {(step.index, step.time, field): step.read(field).tobytes() for step in series for field in step.names}


def assert_same_outputs(one, other):
    """Both runs wrote the same: no step twice, none missing, the same bits."""
    for read in (raw_fields, hdf5_fields, lambda path: series_fields(path, "out.bp")):
        ours, theirs = read(one), read(other)
        assert list(ours) == sorted(ours, key=lambda key: key[0]), "out of order"
        assert set(ours) == set(theirs)
        different = [key for key in ours if ours[key] != theirs[key]]
        assert not different
    assert cases.table(one / "time_series.csv") == cases.table(other / "time_series.csv")


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("scheme", ["euler", "ab2", "ab3", "rk3"])
def test_resumed_run_is_bitwise_equal(tmp_path, monkeypatch, scheme, precision):
    def in_process(name, *overrides, resume=False):
        case = cases.write_case(tmp_path / name, steps=20, scheme=scheme, precision=precision)
        monkeypatch.chdir(case.parent)
        assert tr.Simulation(tr.load_case(case, overrides), MPI.COMM_SELF, resume=resume).run() == 0

    in_process("straight", "checkpoint.every=20")
    in_process("halves", "checkpoint.every=10", "time.steps=10")
    assert cases.checkpoints(tmp_path / "halves") == [10]
    in_process("halves", "checkpoint.every=10", resume=True)
    expected = cases.state(tmp_path / "straight", 20)
    history = {"ab2": 3, "ab3": 6}.get(scheme, 0)
    assert len(expected) == 3 + history, "what a state consists of"
    assert expected["ux"].dtype == {"double": np.float64, "single": np.float32}[precision]
    cases.assert_same_state(cases.state(tmp_path / "halves", 20), expected)
    # The second half did not only repeat the first state.
    assert abs(cases.state(tmp_path / "halves", 10)["ux"] - expected["ux"]).max() > 1e-3


def test_a_resumed_scalar_is_bitwise_equal(tmp_path, monkeypatch):
    """Its right-hand sides of both steps before are parts of the state."""
    for name, ends in (("straight", (8,)), ("halves", (4, 8))):
        scalar = '[[scalar]]\nname = "dye"\nschmidt = 0.7\ninitial = "dye.py:dye"\n'
        case = cases.write_case(tmp_path / name, steps=8, every=4, scheme="ab3", extra=scalar)
        (case.parent / "dye.py").write_text("import numpy as np\ndef dye(x, y, z):\n    return np.sin(3 * x + y * z)\n")
        monkeypatch.chdir(case.parent)
        for end in ends:
            loaded = tr.load_case(case, [f"time.steps={end}"])
            assert tr.Simulation(loaded, MPI.COMM_SELF, resume=end != ends[0]).run() == 0
    expected = cases.state(tmp_path / "straight", 8)
    assert {"dye", "rhs1_dye", "rhs2_dye"} < set(expected)
    cases.assert_same_state(cases.state(tmp_path / "halves", 8), expected)


@pytest.mark.parametrize("ranks", [2, 3, 6])
def test_resumed_run_is_bitwise_equal_on_several_ranks(tmp_path, ranks):
    """By default a resumed run takes the process grid of its checkpoint, even where another is measured faster."""
    halves = cases.write_case(tmp_path / "halves", steps=20, every=10, scheme="ab3")
    run(halves, "--set=time.steps=10", ranks=ranks)
    told = sidecar.read(tmp_path / "halves/checkpoints/step-00000010")["attributes"]
    run(halves, "--resume", ranks=ranks)
    straight = cases.write_case(tmp_path / "straight", steps=20, every=20, scheme="ab3")
    given = [f"--set=parallel.{key}={told[key]}" for key in ("rows", "cols", "transpose")]
    run(straight, *given, ranks=ranks)
    cases.assert_same_state(cases.state(tmp_path / "halves", 20), cases.state(tmp_path / "straight", 20))


@pytest.mark.parametrize("box", ["free-slip", "mixed"])
def test_resume_on_other_rank_counts(tmp_path, box):
    case = cases.write_case(tmp_path / "first", box, steps=20, every=20, scheme="ab3")
    run(case)
    expected = cases.state(tmp_path / "first", 20)
    first = cases.write_case(tmp_path / "half", box, steps=20, every=10, scheme="ab3")
    run(first, "--set=time.steps=10", ranks=3)
    for ranks in (1, 2, 4, 6):
        shutil.copytree(tmp_path / "half", tmp_path / f"on{ranks}")
        run(tmp_path / f"on{ranks}" / "case.toml", "--resume", ranks=ranks)
        cases.assert_same_state(cases.state(tmp_path / f"on{ranks}", 20), expected, 1e-12)


@pytest.mark.parametrize("ranks", [None, 3])
def test_outputs_and_time_series_are_rewound(tmp_path, ranks):
    """The first run goes past its checkpoint before it ends without one: no step may be there twice."""
    kind = {"steps": 20, "outputs": ENGINES, "output_every": 2, "scheme": "ab2"}
    grid = ["--set=parallel.rows=1", f"--set=parallel.cols={ranks or 1}"]
    run(cases.write_case(tmp_path / "straight", every=6, **kind), *grid, ranks=ranks)
    halves = cases.write_case(tmp_path / "halves", every=6, **kind)
    run(halves, *grid, "--set=time.steps=15", ranks=ranks)
    assert cases.checkpoints(tmp_path / "halves") == [12, 15]
    shutil.rmtree(tmp_path / "halves/checkpoints/step-00000015")  # it computed up to 15 and was killed there
    assert "step 12" in run(halves, *grid, "--resume", ranks=ranks).out
    rows = read_time_series(tmp_path / "halves/time_series.csv")
    assert rows["step"].tolist() == list(range(21))
    assert_same_outputs(tmp_path / "halves", tmp_path / "straight")
    # Again from the end: nothing to do, nothing changes.
    run(halves, *grid, "--resume", ranks=ranks)
    assert_same_outputs(tmp_path / "halves", tmp_path / "straight")


@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_asked_to_stop(tmp_path, ranks, number):
    """SIGTERM and Ctrl-C to what the user started: `tailrace run`, or `tailrace run -n 3`."""
    grid = ["--set=parallel.rows=1", f"--set=parallel.cols={ranks or 1}"]
    case = cases.write_case(tmp_path / "cut", steps=100000, outputs=ENGINES, output_every=4)
    many = ["-n", ranks] if ranks else []
    process = mpi_run.start(mpi_run.tailrace_command("run", case, *many, *grid), case.parent)
    table = case.parent / "time_series.csv"
    while not (table.exists() and "\n10," in table.read_text()) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    result = mpi_run.finish(process, 60)
    assert result.code == 128 + signal.SIGTERM, result.text
    (last,) = cases.checkpoints(case.parent)
    assert last > 0
    assert f"stopped on request at step {last}, " in result.out
    assert "--resume" in result.out
    assert not mpi_run.members(process), "ranks are left"
    run(case, *grid, "--resume", f"--set=time.steps={last + 3}", "--set=checkpoint.every=1", ranks=ranks)
    straight = cases.write_case(tmp_path / "straight", steps=last + 3, outputs=ENGINES, output_every=4)
    run(straight, *grid, "--set=checkpoint.every=1000", ranks=ranks)
    cases.assert_same_state(cases.state(case.parent, last + 3), cases.state(tmp_path / "straight", last + 3))
    assert_same_outputs(case.parent, tmp_path / "straight")


def test_the_last_ones_are_kept(tmp_path):
    run(cases.write_case(tmp_path, steps=11, every=2, keep=3))
    assert cases.checkpoints(tmp_path) == [8, 10, 11]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        f"step-{step:08d}" for step in (8, 10, 11)
    ]


def test_directories_of_others_are_never_removed(tmp_path):
    """Names alone do not make a checkpoint, also where checkpoints are kept beside everything else."""
    case = cases.write_case(tmp_path, steps=6, every=2, extra='path = "."')
    left = (
        "step-1",
        "step-999",
        "step-3.partial",
        "step-two.replaced",
        "step-00000001",
        "step-00000005.replaced",
        "step-00000090",
    )
    in_the_way = ("step-00000002", "step-00000002.partial", "step-00000004.partial")
    for name in (*left, *in_the_way):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").write_text(name)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/SHA256SUMS").write_text("a checkpoint, but elsewhere  series.jsonl\n")
    (tmp_path / "step-00000080").symlink_to("mine")
    said = run(case).out
    for name in left:
        assert (tmp_path / name / "thesis.tex").read_text() == name
    for name in in_the_way:
        assert (tmp_path / f"{name}.set-aside" / "thesis.tex").read_text() == name
        assert f"{name} is no checkpoint; it is now {name}.set-aside" in said
    assert (tmp_path / "step-00000080").is_symlink()
    assert (tmp_path / "mine/SHA256SUMS").exists()
    assert not (tmp_path / "step-00000002").exists(), "its checkpoint was pruned"
    for step in (4, 6):
        check_sidecar(tmp_path / f"step-{step:08d}")
    (tmp_path / "step-00000006.replaced").mkdir()
    (tmp_path / "step-00000006.replaced/thesis.tex").write_text("also")
    (tmp_path / "step-00000006/ux-1.bin").write_bytes(b"")
    run(case, "--resume")  # from step 4, over the damaged checkpoint
    assert (tmp_path / "step-00000006.replaced.set-aside/thesis.tex").read_text() == "also"
    said = run(case, "--resume", "--set=time.steps=7").out
    assert "resuming from step-00000006" in said
    assert "step-999 " not in said, "which has not the form of a name"


def test_a_directory_of_others_stays_where_writing_fails(tmp_path, monkeypatch):
    """Not even after an error is it removed."""
    case = cases.write_case(tmp_path, steps=2, every=2)
    place = tmp_path / "checkpoints/step-00000002.partial"
    place.mkdir(parents=True)
    (place / "thesis.tex").write_text("precious")
    monkeypatch.chdir(tmp_path)
    refuse = OSError(1, "Operation not permitted")
    monkeypatch.setattr("tailrace.flow.checkpoint._set_aside", lambda _: (_ for _ in ()).throw(refuse))
    with pytest.raises(tr.IoError, match="was not written"):
        tr.Simulation(tr.load_case(case), MPI.COMM_SELF).run()
    assert (place / "thesis.tex").read_text() == "precious"


def test_what_kills_leave_is_removed(tmp_path):
    """Checkpoints that were being written or removed, and their locks; no lock that is empty or something else."""
    store = tmp_path / "checkpoints"
    for name in ("step-00000006.partial", "step-00000007.partial", "step-00000008.partial", "step-00000009.replaced"):
        (store / name).mkdir(parents=True)
    (store / "step-00000008.partial/SHA256SUMS").write_text("incomplete  series.jsonl\n")
    (store / "step-00000008.partial/ux-1.bin").write_bytes(bytes(800))
    (store / "step-00000008.partial/link").symlink_to(tmp_path)
    (store / "step-00000007.partial/SHA256SUMS").write_text("")
    (store / "step-00000007.partial/uy-1.bin").write_bytes(bytes(800))
    locks = {"7": "", "8": "4711 815 2026-01-01T00:00:00Z there\n", "9": "version = 1\n"}
    for name, text in locks.items():
        (store / f"step-0000000{name}.partial.lock").write_text(text)
    run(cases.write_case(tmp_path, steps=2, every=2))
    stayed = ["step-00000002", "step-00000007.partial.lock", "step-00000009.partial.lock"]
    assert sorted(path.name for path in store.iterdir()) == stayed


def test_the_mark_of_a_checkpoint_goes_last(tmp_path, monkeypatch):
    """So that after a kill, what is left is still known as ours."""
    path = tmp_path / "step-00000008"
    path.mkdir()
    for name in ("SHA256SUMS", "series.jsonl", "ux-1.bin"):
        (path / name).write_text("  series.jsonl\n")
    seen = []
    monkeypatch.setattr("shutil.rmtree", lambda place: seen.append(sorted(each.name for each in place.iterdir())))
    checkpoint._remove(path)
    assert seen == [["SHA256SUMS"]]


def test_a_new_run_does_not_mistake_the_checkpoints_of_the_last_one_for_its_own(tmp_path):
    case = cases.write_case(tmp_path, steps=20, every=10)
    run(case)
    run(case, "--set=time.dt=0.005", "--set=time.steps=4", "--set=checkpoint.every=2")
    assert cases.checkpoints(tmp_path) == [2, 4], "neither the old ones stay nor the new ones go"
    assert "step 4, t = 0.02" in run(case, "--resume", "--set=time.dt=0.005", "--set=time.steps=5").out


def test_later_checkpoints_of_an_abandoned_run_are_not_resumed_from(tmp_path):
    case = cases.write_case(tmp_path, steps=9, every=4)
    run(case)
    assert cases.checkpoints(tmp_path) == [8, 9]
    (tmp_path / "checkpoints/step-00000009/ux-1.bin").write_bytes(b"")
    run(case, "--resume", "--set=time.steps=12")
    assert cases.checkpoints(tmp_path) == [8, 12], "the damaged one is gone, the good one before it stays"


def test_by_the_clock(tmp_path):
    case = cases.write_case(tmp_path, steps=200000, diagnostics=1000)
    process = mpi_run.start(mpi_run.tailrace_command("run", case, "--set=checkpoint.minutes=0.005", ranks=2), tmp_path)
    seen = set()
    end = time.monotonic() + 240
    while len(seen) < 3 and time.monotonic() < end and process.poll() is None:
        seen.update(cases.checkpoints(tmp_path))
        time.sleep(0.02)
    mpi_run.kill_session(process)
    mpi_run.finish(process, 10)
    assert len(seen) >= 3


def test_the_time_to_the_next_one_begins_with_each(tmp_path, monkeypatch):
    """One per half a minute is one in three steps of ten seconds, not all of them once half a minute is over."""
    case = cases.write_case(tmp_path, steps=8, keep=9, extra="minutes = 0.5")
    monkeypatch.chdir(tmp_path)
    simulation, times = tr.Simulation(tr.load_case(case), MPI.COMM_SELF), [0.0]

    step = tr.Model.advance

    def advance(self, targets):
        times.append(times[-1] + 10)
        return step(self, targets)

    monkeypatch.setattr("tailrace.consumers.checkpoint.clock.monotonic", lambda: times[-1])
    monkeypatch.setattr(tr.Model, "advance", advance)
    assert simulation.run() == 0
    assert cases.checkpoints(tmp_path) == [3, 6, 8]


@pytest.mark.parametrize(
    "override, key",
    [
        ("grid.points=[16,11,12]", "grid.points"),
        ("grid.lengths=[2.0,3.0,1.6]", "grid.lengths"),
        ("grid.boundaries=['periodic','free-slip','free-slip']", "grid.boundaries"),
        ("time.scheme='ab2'", "time.scheme"),
        ("numerics.precision='single'", "numerics.precision"),
    ],
)
def test_resume_with_another_case(tmp_path, override, key):
    case = cases.write_case(tmp_path, steps=2, every=2)
    run(case)
    result = run(case, "--resume", f"--set={override}", code=1)
    assert key in result.err
    assert "Traceback" not in result.err


def test_another_reynolds_number_and_time_step_are_allowed_on_purpose(tmp_path):
    case = cases.write_case(tmp_path, steps=2, every=2)
    run(case)
    run(case, "--resume", "--change", "--set=case.reynolds=50.0", "--set=time.dt=0.005", "--set=time.steps=4")
    assert read_time_series(tmp_path / "time_series.csv")["time"].tolist() == pytest.approx(
        [0, 0.01, 0.02, 0.025, 0.03]
    )


def test_nothing_to_resume_from(tmp_path):
    result = run(cases.write_case(tmp_path), "--resume", code=1)
    assert "there is no checkpoint in checkpoints" in result.err
    assert not (tmp_path / "time_series.csv").exists(), "nothing is touched"
