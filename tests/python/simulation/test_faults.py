"""Damaged checkpoints, full disks, kills, unstable flows: a clear message, and a way to continue."""

import os
import random
import shutil
import signal
import time

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from helpers.inputs.cases import message, run
from tailrace import processes
from tailrace.io.time_series import read_time_series

# ---- damaged checkpoints ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_checkpoints(tmp_path_factory):
    """A run with checkpoints at steps 8 and 10, and the state at step 12 of one without interruption."""
    directory = tmp_path_factory.mktemp("good")
    case = cases.write_case(directory, steps=12, every=2)
    assert run(case).code == 0
    expected = cases.state(directory, 12)
    shutil.rmtree(directory / "checkpoints")
    assert run(case, "--set=time.steps=10").code == 0
    assert cases.checkpoints(directory) == [8, 10]
    return directory, expected


def flip(path, at, bit=4):
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-8])


def empty(path):
    for file in path.iterdir():
        file.unlink()


def flip_time(path):
    """A digit of the time: still valid JSON, still a plausible number."""
    text = path.read_bytes()
    flip(path, text.index(b"0.0999"), 0) if b"0.0999" in text else flip(path, text.index(b"0.1"), 1)


DAMAGES = {
    "truncated field": lambda path: truncate(path / "uy-1.bin"),
    "flipped bit": lambda path: flip(path / "uz-1.bin", 777),
    "flipped bit in the last byte": lambda path: flip(path / "ux-1.bin", -1),
    "missing field": lambda path: (path / "ux-1.bin").unlink(),
    "empty field": lambda path: (path / "ux-1.bin").write_bytes(b""),
    "empty directory": empty,
    "truncated description": lambda path: truncate(path / "series.jsonl"),
    "flipped bit in the description": lambda path: flip_time(path / "series.jsonl"),
    "missing checksum": lambda path: (path / "SHA256SUMS").unlink(),
    "a file in its place": lambda path: (shutil.rmtree(path), path.write_text("")),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_damaged_checkpoint_is_skipped(with_checkpoints, tmp_path, damage):
    good, expected = with_checkpoints
    directory = tmp_path / "run"
    shutil.copytree(good, directory)
    DAMAGES[damage](directory / "checkpoints/step-00000010")
    result = run(directory / "case.toml", "--resume", ranks=3 if damage == "flipped bit" else None)
    assert result.code == 0, result.text
    assert "step-00000010 is damaged and skipped: " in result.out
    assert "step 8, t = 0.08" in result.out
    cases.assert_same_state(cases.state(directory, 12), expected, 1e-13)
    assert read_time_series(directory / "time_series.csv")["step"].tolist() == list(range(13))


@pytest.mark.parametrize("ranks", [None, 3])
def test_all_checkpoints_damaged(with_checkpoints, tmp_path, ranks):
    directory = tmp_path / "run"
    shutil.copytree(with_checkpoints[0], directory)
    truncate(directory / "checkpoints/step-00000008/ux-1.bin")
    flip(directory / "checkpoints/step-00000010/ux-1.bin", 99)
    before = (directory / "time_series.csv").read_bytes()
    result = run(directory / "case.toml", "--resume", ranks=ranks)
    assert "none of the 2 checkpoints in checkpoints is undamaged" in message(result)
    assert "step-00000008" in result.out
    assert "step-00000010" in result.out
    assert (directory / "time_series.csv").read_bytes() == before, "nothing else is touched"


def test_a_replacement_cut_between_its_two_renames_is_found(with_checkpoints, tmp_path):
    directory = tmp_path / "run"
    shutil.copytree(with_checkpoints[0], directory)
    checkpoints = directory / "checkpoints"
    (checkpoints / "step-00000010").rename(checkpoints / "step-00000010.replaced")
    result = run(directory / "case.toml", "--resume")
    assert "resuming from checkpoints/step-00000010" in result.out


def test_a_replacement_cut_after_its_two_renames_is_done(with_checkpoints, tmp_path):
    """The new one has its name, and the old one is not yet removed."""
    directory = tmp_path / "run"
    shutil.copytree(with_checkpoints[0], directory)
    checkpoints = directory / "checkpoints"
    shutil.copytree(checkpoints / "step-00000008", checkpoints / "step-00000010.replaced")
    result = run(directory / "case.toml", "--resume")
    assert result.code == 0, result.text
    assert "resuming from checkpoints/step-00000010: step 10" in result.out
    assert sorted(path.name for path in checkpoints.iterdir()) == ["step-00000010", "step-00000012"]


# ---- full disks ------------------------------------------------------------------------------------------------------


FULL = "No space left on device"


@pytest.mark.parametrize("ranks", [None, 3])
def test_disk_full_while_checkpointing(tmp_path, small_disk, ranks):
    grid = ["--set=parallel.rows=1", f"--set=parallel.cols={ranks or 1}"]
    disk = small_disk("160k")  # room for two checkpoints, and three are needed for a moment
    case = cases.write_case(tmp_path / "run", steps=10, every=2)
    case.write_text(case.read_text().replace("keep = 2", f'keep = 2\npath = "{disk}/checkpoints"'))
    text = message(run(case, *grid, ranks=ranks))
    assert FULL in text
    assert "step-00000006" in text
    found = sorted(path.name for path in (disk / "checkpoints").iterdir())
    assert found == ["step-00000002", "step-00000004"], "the good ones stay, the torn one goes"
    small_disk("4m")
    result = run(case, *grid, "--resume", ranks=ranks)
    assert result.code == 0, result.text
    assert "step 4, t = 0.04" in result.out
    straight = cases.write_case(tmp_path / "straight", steps=10, every=10)
    run(straight, *grid, ranks=ranks)
    cases.assert_same_state(cases.state(disk, 10), cases.state(tmp_path / "straight", 10))


def test_disk_full_at_the_start(tmp_path, small_disk):
    """Before the first row: the message names the file."""
    disk = small_disk("4k")
    case = cases.write_case(tmp_path / "run")
    (disk / "filler").write_bytes(bytes(3000))
    case.write_text(case.read_text().replace("[diagnostics]", f'[diagnostics]\npath = "{disk}/history.csv"'))
    text = message(run(case))
    assert FULL in text
    assert f"cannot write {disk}/history.csv" in text


@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize(
    "engine, size", [("raw", "400k"), ("hdf5", "400k"), ("sion", "900k"), ("bp5", "1700k"), ("time series", "12k")]
)
def test_disk_full_while_writing(tmp_path, small_disk, engine, size, ranks):
    disk = small_disk(size)
    case = cases.write_case(
        tmp_path / "run", steps=60, every=3, outputs=() if engine == "time series" else (engine,), output_every=1
    )
    if engine == "time series":
        text = case.read_text().replace("[diagnostics]", f'[diagnostics]\npath = "{disk}/history.csv"')
    else:
        text = case.read_text().replace('path = "out', f'path = "{disk}/out')
    case.write_text(text)
    text = message(run(case, ranks=ranks))
    assert FULL in text
    assert str(disk) in text, "which file"
    last = cases.checkpoints(case.parent)[-1]
    assert last >= 3
    small_disk("64m")
    result = run(case, "--resume", ranks=ranks)
    assert result.code == 0, result.text
    assert f"step {last}, " in result.out
    if engine == "time series":
        assert read_time_series(disk / "history.csv")["step"].tolist() == list(range(61))
    else:
        with tr.open(next(one for one in disk.glob("out*") if one.suffix != ".xdmf2")) as series:
            assert [step.index for step in series] == list(range(61))
            assert series.verify() == []


# ---- sudden death ----------------------------------------------------------------------------------------------------


def outputs_of(directory):
    for name in ("out", "out.h5", "out.bp"):
        with tr.open(directory / name) as series:
            assert series.verify() == [], name
            yield {(step.index, field): step.read(field).tobytes() for step in series for field in step.names}


@pytest.mark.slow
@pytest.mark.parametrize("ranks, kills", [(None, 20), (3, 6)])
def test_killed_at_random_moments(tmp_path, ranks, kills):
    """kill -9 of everything, many times, during runs with a checkpoint at every second step."""
    random_moment = random.Random(2021 + (ranks or 1))
    steps = 600
    grid = ["--set=parallel.rows=1", f"--set=parallel.cols={ranks or 1}"]
    kind = {"steps": steps, "scheme": "ab3", "outputs": ("raw", "hdf5", "bp5"), "output_every": 5}
    case = cases.write_case(tmp_path / "cut", every=2, **kind)
    moments = []
    for number in range(4 * kills):
        newest = max(cases.checkpoints(case.parent), default=0)
        resume = "--resume" if newest else "--overwrite"
        process = mpi_run.start(mpi_run.tailrace_command("run", case, *grid, resume, ranks=ranks), case.parent)
        # The interesting time begins with the files; before that the interpreter starts.
        line = process.stdout.readline()
        assert line, process.communicate()
        # On slow machines, too, every second kill comes later in the run than the one before.
        while number % 2 and process.poll() is None and max(cases.checkpoints(case.parent), default=0) <= newest:
            time.sleep(0.001)
        time.sleep(random_moment.uniform(0.0, 0.05 if number % 2 else 0.15))
        alive = process.poll() is None
        mpi_run.kill_session(process)
        result = mpi_run.finish(process, 20)
        assert alive or result.code == 0, result.text
        if newest:
            assert "resuming from" in line + result.out or "skipped" in line
        if not alive:
            break
        moments.append(max(cases.checkpoints(case.parent), default=0))
        if len(moments) == kills:
            break
    print(f"{len(moments)} kills, with the newest checkpoint at steps {moments}")
    assert len(moments) == kills, "the run was over too soon"
    assert not list((case.parent / "checkpoints").glob("*.set-aside*")), "all that the kills left was known as ours"
    assert moments == sorted(moments)
    assert moments[-1] >= moments[0] + kills - 2, "kills fell into more than the start"
    result = run(case, "--resume", *grid, ranks=ranks, limit=120)
    assert result.code == 0, result.text
    straight = cases.write_case(tmp_path / "straight", every=steps, **kind)
    assert run(straight, *grid, ranks=ranks, limit=120).code == 0
    cases.assert_same_state(cases.state(case.parent, steps), cases.state(straight.parent, steps))
    for ours, theirs in zip(outputs_of(case.parent), outputs_of(straight.parent), strict=True):
        assert ours == theirs
    with h5py.File(case.parent / "out.h5") as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == steps // 5 + 1
    ours, theirs = (cases.table(path.parent / "time_series.csv") for path in (case, straight))
    assert ours == theirs


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=["kill", "crash"])
def test_one_rank_dies(tmp_path, number):
    case = cases.write_case(tmp_path, steps=1000000, every=20, diagnostics=20)
    process = mpi_run.start(mpi_run.tailrace_command("run", case, "-n", 3), tmp_path)
    while not cases.checkpoints(tmp_path):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.kill(mpi_run.rank_processes(process)[-1], number)
    result = mpi_run.finish(process, 60)
    assert result.code == 128 + number
    assert not mpi_run.members(process), "ranks are left"
    last = cases.checkpoints(tmp_path)[-1]
    result = run(case, "--resume", f"--set=time.steps={last + 1}", ranks=3)
    assert result.code == 0, result.text
    assert f"step {last}, " in result.out


def test_a_second_interrupt_ends_at_once(tmp_path):
    case = cases.write_case(tmp_path, steps=1000000, every=20, diagnostics=20)
    process = mpi_run.start(mpi_run.tailrace_command("run", case, "-n", 2), tmp_path)
    until(lambda: cases.checkpoints(tmp_path), process)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert mpi_run.finish(process, 20).code != 0
    assert not mpi_run.members(process)


@pytest.mark.parametrize("pause", [0.0, 0.2])
@pytest.mark.parametrize("beside", [False, True])
def test_sigterm_that_comes_twice_is_one_request(tmp_path, beside, pause):
    """timeout(1) sends it to the program and once more to its group: once a checkpoint was lost by that."""
    case = cases.write_case(tmp_path, steps=1000000, every=10000, diagnostics=2000)
    words = ["--beside", "enstrophy", "--beside-every", 5000] if beside else []
    process = mpi_run.start(mpi_run.tailrace_command("run", case, "-n", 2, *words), tmp_path)
    until(lambda: (tmp_path / "time_series.csv").exists(), process)
    process.send_signal(signal.SIGTERM)
    time.sleep(pause)
    process.send_signal(signal.SIGTERM)
    result = mpi_run.finish(process, 60)
    assert result.code == 128 + signal.SIGTERM, result.text
    assert "stopped on request at step " in result.out
    assert cases.checkpoints(tmp_path) and not list((tmp_path / "checkpoints").glob("*.partial"))


SLOW_START = """
import os, pathlib, time

if os.environ.keys() & {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}:
    pathlib.Path(f"starting{os.getpid()}").touch()
    time.sleep(2)
"""


def until(condition, process):
    end = time.monotonic() + 240
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_request_to_stop_that_comes_while_ranks_start(tmp_path):
    """It neither ends an interpreter that has no handler yet, nor is it forgotten."""
    case = cases.write_case(tmp_path, steps=10000000, diagnostics=1000)
    (tmp_path / "sitecustomize.py").write_text(SLOW_START)
    more = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    process = mpi_run.start(mpi_run.tailrace_command("run", case, "-n", 2), tmp_path, more)
    until(lambda: len(list(tmp_path.glob("starting*"))) == 2, process)
    process.send_signal(signal.SIGTERM)
    result = mpi_run.finish(process, 60)
    assert "on signal 10" not in result.text
    assert result.code == 128 + signal.SIGTERM, result.text
    assert "stopped on request at step " in result.out
    assert cases.checkpoints(tmp_path)


WAITS = """
import pathlib, time

def analyse(step):
    pathlib.Path(f"up{step.comm.rank}").touch()
    time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_analyses_end_at_the_first_request(tmp_path, number):
    assert run(cases.write_case(tmp_path, steps=2, outputs=("hdf5",))).code == 0
    (tmp_path / "waits.py").write_text(WAITS)
    process = mpi_run.start(mpi_run.tailrace_command("analyse", "waits.py", "out.h5", "-n", 2), tmp_path)
    until(lambda: len(list(tmp_path.glob("up*"))) == 2, process)
    process.send_signal(number)
    result = mpi_run.finish(process, 60)
    assert "ignal 10" not in result.text
    assert result.code == 128 + number, result.text
    assert not mpi_run.members(process)


# ---- a flow that blows up --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [None, 3])
def test_flow_that_blows_up(tmp_path, ranks):
    # Diagnostics are rare; the checkpoints must notice it themselves.
    case = cases.write_case(tmp_path, steps=500, dt=0.5, diagnostics=1000, every=2, outputs=("raw",), output_every=1000)
    text = message(run(case, ranks=ranks))
    assert "the flow is not finite at step " in text
    for word in (" at node (", "x = ", "t = ", "CFL", "time.dt"):
        assert word in text
    step = int(text.split("not finite at step ")[1].split(",")[0])
    kept = cases.checkpoints(tmp_path)
    assert kept, "it blew up before the first checkpoint: the test needs a smaller step"
    assert max(kept) < step
    for checkpoint in kept:
        assert all(np.isfinite(values).all() for values in cases.state(tmp_path, checkpoint).values())
    assert not list((tmp_path / "checkpoints").glob("*.partial"))


def test_a_blown_up_flow_is_neither_written_nor_analysed(tmp_path):
    """Outputs and analyses notice it themselves, where diagnostics are rare and there are no checkpoints."""
    block = '[[analysis]]\nscript = "enstrophy"\nevery = 3\n'
    case = cases.write_case(
        tmp_path, steps=500, dt=0.5, diagnostics=1000, outputs=("raw",), output_every=2, extra=block
    )
    step = int(message(run(case)).split("not finite at step ")[1].split(",")[0])
    with tr.open(tmp_path / "out") as series:
        assert [one.index for one in series] == list(range(0, step, 2))
        assert all(np.isfinite(series[-1].read(name)).all() for name in series[-1].names)
    rows = read_time_series(tmp_path / "analysis/enstrophy.csv")
    assert list(rows["step"]) == list(range(0, step, 3)) and np.isfinite(rows["enstrophy"]).all()


def test_blown_up_flow_is_not_stored_on_sigterm(tmp_path):
    case = cases.write_case(tmp_path, steps=10000000, dt=0.5, diagnostics=10000000, extra="")
    process = mpi_run.start(mpi_run.tailrace_command("run", case), tmp_path)
    assert process.stdout.readline()
    begun = processes.find(process.pid).ticks
    until(lambda: processes.find(process.pid).ticks > begun + 100, process)  # a second of computing
    process.send_signal(signal.SIGTERM)
    assert "the flow is not finite" in message(mpi_run.finish(process, 20))
    assert cases.checkpoints(tmp_path) == []
