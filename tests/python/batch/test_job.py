"""Scripts of `tailrace job`: what they ask for, and what they do, with stand-ins for the batch system."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from helpers.harness import srun as stand_in
from helpers.harness.jobs import job
from tailrace.batch.check import check
from tailrace.batch.request import BatchError, JobRequest, clock, margin, seconds_of, state_bytes
from tailrace.batch.script import script
from tailrace.batch.systems import SYSTEMS
from tailrace.case.reading import read_case

USUAL = ("--nodes", "1", "--ranks-per-node", "3", "--time", "1:00:00")


# ---- what is written -------------------------------------------------------------------------------------------------
def test_what_slurm_is_asked_for(place):
    said = job("small.toml", *USUAL, "--system", "slurm", "--option=--account=x", "--setup", "module load openmpi")
    text = (place / "small.slurm").read_text()
    head = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH")]
    assert head == [
        "--job-name=small", "--nodes=1", "--ntasks-per-node=3", "--time=01:00:00", "--open-mode=append", "--requeue",
        "--signal=USR1@300", "--account=x",
    ]  # fmt: skip
    assert text.index("module load openmpi") < text.index("bin/activate") < text.index("srun --cpu-bind=cores tailrace")
    assert "wrote small.slurm: 3 ranks on 1 node(s)" in said and "next: sbatch small.slurm" in said
    subprocess.run(["bash", "-n", "small.slurm"], check=True)
    assert check(text, place) == []


def test_a_gpu_is_asked_for_each_rank(place):
    case, _ = read_case(place / "small.toml", ["numerics.device=gpu"])
    request = JobRequest(Path("small.toml"), 2, 4, 7200, "a", settings=("numerics.device=gpu",)).checked(case)
    heads = {name: system.head(request, 300) for name, system in SYSTEMS.items()}
    assert "--gpus-per-node=4" in heads["slurm"]
    assert "-l select=2:ncpus=4:mpiprocs=4:ngpus=4" in heads["pbs"]
    assert "-l place=scatter" in heads["pbs"], "otherwise all may be on one node"
    for name, system in SYSTEMS.items():
        text = script(case, request, system, Path("a.sh"))
        assert [one for one in check(text, place) if one.state == "error"] == [], name
    with pytest.raises(BatchError, match="give slabs to"):
        JobRequest(Path("small.toml"), 64, 4, 7200, "a").checked(case)
    with pytest.raises(BatchError, match="beside a flow on GPUs"):
        JobRequest(Path("small.toml"), 2, 4, 7200, "a", ("budget",), 2).checked(case)


@pytest.mark.parametrize("venv", [True, False])
def test_the_program_is_found_in_a_job(place, monkeypatch, venv):
    """An environment of conda has no script that activates it, and PBS passes no PATH on."""
    prefix = place / "an environment"
    (prefix / "bin").mkdir(parents=True)
    if venv:
        (prefix / "bin" / "activate").touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    case, _ = read_case(place / "small.toml")
    lines = script(case, JobRequest(Path("small.toml"), 1, 4, 7200, "a"), SYSTEMS["pbs"], Path("a.sh")).splitlines()
    line = f". '{prefix}/bin/activate'" if venv else f"export PATH='{prefix}/bin':$PATH"
    assert line in lines


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("beside", [(), ("budget",)])
def test_every_script_passes_its_own_check(place, system, beside):
    case, _ = read_case(place / "small.toml")
    request = JobRequest(
        Path("small.toml"), 4, 8, 7200, "a job", beside, 2 if beside else 0, ("time.steps=9",)
    ).checked(case)
    text = script(case, request, SYSTEMS[system], Path("a b.sh"))
    assert [one for one in check(text, place) if one.state == "error"] == [], text
    (place / "a b.sh").write_text(text)
    subprocess.run(["bash", "-n", "a b.sh"], check=True)
    command = next(line for line in text.splitlines() if "tailrace run" in line and not line.startswith("#"))
    assert ("-n 30 --beside budget --beside-ranks 2" in command) == bool(beside)
    assert ("timeout --preserve-status --signal=TERM 6900" in command) == (system == "pbs" or bool(beside))


@pytest.mark.parametrize(
    ("name", "word"),
    [("Channel, Re 395", "Channel-Re-395"), ("2nd try", "run-2nd-try"), ("\u00e9\n#PBS -q x", "PBS-q-x")],
)
@pytest.mark.parametrize(("system", "line"), [("slurm", "#SBATCH --job-name="), ("pbs", "#PBS -N ")])
def test_the_name_of_a_job_is_one_word(place, name, word, system, line):
    job("small.toml", *USUAL, "--system", system, "--name", name)
    text = (place / f"small.{system}").read_text()
    assert f"{line}{word}\n" in text
    head = [one for one in text.splitlines() if one.startswith("#") and "written by" not in one]
    assert not any(" -q x" in one for one in head)


def test_nothing_is_overwritten(place):
    (place / "small.pbs").write_text("mine")
    assert "small.pbs: exists" in job("small.toml", *USUAL, "--system", "pbs", code=2)
    assert (place / "small.pbs").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("small.toml", *USUAL), "--system: there is no sbatch and no qsub here"),
        (("small.toml", *USUAL, "--system", "lsf"), "--system lsf: expected slurm or pbs"),
        (("small.toml", *USUAL[:4], "--system", "pbs"), "--time: expected"),
        (("small.toml", *USUAL[:4], "--system", "pbs", "--time", "12"), "--time: expected HOURS:MINUTES:SECONDS"),
        (("small.toml", *USUAL[:4], "--system", "pbs", "--time", "5:00"), "the time is 00:05:00"),
        (("small.toml", *USUAL[2:], "--system", "pbs"), "--nodes: expected"),
        (("small.toml", "--nodes", "9", *USUAL[2:], "--beside", "budget", "--beside-ranks", "27", "--system", "pbs"),
         "takes all 27 ranks"),
        (("small.toml", "--nodes", "99", *USUAL[2:], "--system", "pbs"), "297 ranks, and the 16 x 12 x 8 points"),
        (("gone.toml", *USUAL, "--system", "pbs"), "there is no such file"),
        (("small.toml", *USUAL, "--system", "pbs", "--beside-ranks", "2"), "--beside-ranks 2 is of an analysis beside"),
        (("small.txt", *USUAL, "--system", "pbs"), "a case is a .toml file"),
        (("small.toml", *USUAL, "--system", "pbs", "-o", "no/where.sh"), "no/where.sh: No such file or directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for(place, monkeypatch, words, said):
    monkeypatch.setenv("PATH", str(place))
    assert said in job(*words, code=2)
    assert not list(place.glob("*.pbs"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("12:00:00", 43200), ("1-02:30", 95400), ("2-0", 172800), ("90:30", 5430), ("100:00:01", 360001)],
)
def test_limits(text, seconds):
    assert seconds_of(text) == seconds
    assert seconds_of(clock(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "12", "1:6", "1:0:00", "-1:00", "a:b", "1:00:00:00"])
def test_wrong_limits(text):
    with pytest.raises(BatchError, match="expected HOURS:MINUTES:SECONDS"):
        seconds_of(text)


def test_the_time_for_a_checkpoint_grows_with_its_bytes(place):
    overrides = ["grid.points=[1024,1024,1024]", "time.scheme='ab2'"]
    case, _ = read_case(place / "small.toml", overrides)
    assert state_bytes(case) == 1024**3 * 3 * 2 * 8
    assert margin(case, 1) == 780 and margin(case, 16) == 300  # 492 s at 100 MiB/s on one node


# ---- measured steps --------------------------------------------------------------------------------------------------
def results(path, *cells):
    run = {
        "kind": "run", "schema": 1, "run": "a", "command": "", "began": "2026-01-01T00:00:00", "tailrace": "0",
        "machine": {}, "software": {}, "directories": {}, "notes": [],
    }  # fmt: skip
    lines = [run]
    for source, ranks, seconds, more in cells:
        lines += [
            {
                "kind": "measurement", "run": "a", "round": number, "seconds": each, "bytes": 0, "bench": "solver",
                "operation": "step", "name": "auto", "ranks": ranks, "shape": [64, 64, 32], "variables": 3,
                "source": source, **more,
            }
            for number, each in enumerate((99.0, *seconds))
        ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_nodes_by_measured_steps(place):
    results(
        place / "r.jsonl",
        ("free-slip", 4, (0.001,) * 3, {}), ("periodic", 1, (1.0,) * 3, {}),
        ("periodic", 2, (0.032, 0.0328, 0.9), {}),  # 131072 points on 2 ranks in 0.0328 s: 2e6 a second and rank
        ("periodic", 4, (0.1,) * 3, {"role": "limit", "name": "independent runs"}),
    )  # fmt: skip
    words = ("small.toml", "--ranks-per-node", "8", "--system", "slurm", "--measured", "r.jsonl")
    bigger = ("--set", "grid.points=[256,256,256]", "--set", "time.steps=100000")
    said = job(*words, *bigger, "--time", "12:00:00")
    # 256^3 x 100,000 / 2e6 = 839,000 s of one rank; 12 h without 300 s on 3 nodes are 1,029,600
    assert "wrote small.slurm: 24 ranks on 3 node(s)" in said
    assert "a step takes about 0.35 s on 24 ranks" in said and "2e+06 points a second" in said
    # 128 x 100,000 x 0.0656 / 24 = 34,987 s
    assert "100000 steps take 09:43:07" in said and "in 1 job(s) of 12:00:00" in said
    (place / "small.slurm").unlink()
    # 18 ranks of the 24 would take 46,649 s: the analysis costs a node more
    said = job(*words, *bigger, "--time", "12:00:00", "--beside", "budget", "--beside-ranks", "6")
    assert "wrote small.slurm: 26 ranks on 4 node(s), and 6 for the analysis" in said
    (place / "small.slurm").unlink()
    assert "do not fit into 00:15:00" in job(*words, "--time", "15:00", "--set", "time.steps=100000000", code=2)
    said = job(*words, *bigger, "--time", "2:00:00", "--nodes", "3")
    assert "in 6 job(s) of 02:00:00" in said, said
    said = job(*words, "--time", "2:00:00", "--set", "time.dt='auto'", "--set", "time.end=1.0", "-o", "b", code=2)
    assert "give --nodes" in said


def test_ranks_that_start_from_a_pack(place):
    (place / "a b.tar").write_text("")
    said = job("small.toml", *USUAL, "--system", "slurm", "--pack", "a b.tar")
    text = (place / "small.slurm").read_text()
    assert "wrote small.slurm" in said and check(text, place) == []
    assert "export pack='a b.tar' place=/dev/shm/tailrace-$SLURM_JOB_ID" in text and "bin/activate" not in text
    assert "no such file; tailrace pack none.tar" in job("small.toml", *USUAL, "--pack", "none.tar", code=2)
    assert "leave --pack out" in job("small.toml", *USUAL, "--system", "pbs", "--pack", "a b.tar", code=2)
    assert not (place / "small.pbs").exists()


def test_results_without_steps(place):
    results(place / "r.jsonl", ("periodic", 2, (0.03,), {"precision": "float32"}))
    said = job("small.toml", *USUAL, "--system", "pbs", "--measured", "r.jsonl", code=2)
    assert "expected steps of the solver in float64 on the cpu, found none" in said


# ---- what it does ----------------------------------------------------------------------------------------------------
@pytest.fixture
def slurm(place, monkeypatch):
    """A node of Slurm: srun, and an sbatch that notes what it gets."""
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec on the PATH")
    programs = {
        "srun": f'exec "{sys.executable}" "{stand_in.__file__}" "$@"',
        "sbatch": 'echo "$@" >> submitted',
        "qsub": 'echo "$@" >> submitted',
        "tailrace": f'exec "{sys.executable}" -m tailrace.cli "$@"',
    }
    (place / "bin").mkdir()
    for name, text in programs.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / "bin" / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("TAILRACE_TEST_MPIEXEC", mpiexec)
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")
    monkeypatch.setenv("OMPI_MCA_hwloc_base_binding_policy", "none")
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS", "3")
    return place


def begin(name):
    # The environment of this package is not activated: its programs are those of the stand-ins.
    text = Path(name).read_text()
    programs = str(Path(sys.prefix) / "bin")
    Path(name).write_text("\n".join(line for line in text.splitlines() if programs not in line) + "\n")
    return subprocess.Popen(
        ["bash", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ)
    )


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def wait_for_steps(place, process):
    end = time.monotonic() + 240
    while sum(line[:1].isdigit() for line in lines(place / "time_series.csv")) < 3:
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.05)


def below(process, word):
    """The process below another whose command line has a word."""
    from tailrace import processes

    for one in processes.family(process.pid):
        with suppress(OSError):  # it has just ended
            if word in Path(f"/proc/{one.number}/cmdline").read_bytes().decode(errors="replace").split("\0"):
                return one.number
    raise AssertionError(word)


def test_a_run_goes_on_from_job_to_job(slurm):
    job("small.toml", *USUAL, "--system", "slurm")
    process = begin("small.slurm")
    wait_for_steps(slurm, process)
    os.kill(below(process, stand_in.__file__), signal.SIGUSR1)  # as Slurm does before the limit
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert lines(slurm / "submitted") == ["small.slurm"], out
    steps = len(lines(slurm / "time_series.csv"))
    assert list((slurm / "checkpoints").iterdir()) and steps < 401

    process = begin("small.slurm")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert (slurm / "submitted").read_text() == "small.slurm\n", "the flow has reached its end"
    table = lines(slurm / "time_series.csv")
    assert table[-1].split(",")[0] == "4000" and len([line for line in table if line[:1].isdigit()]) == 401


def test_a_job_without_signals_is_stopped_by_the_clock(slurm, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID")
    job("small.toml", *USUAL, "--system", "pbs", "--set", "time.steps=4000000")
    path = slurm / "small.pbs"
    path.write_text(path.read_text().replace("TERM 3300 ", "TERM 25 "))
    process = begin("small.pbs")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert (slurm / "submitted").read_text() == "small.pbs\n", out


def test_a_job_unpacks_the_program_on_each_node_and_removes_it(slurm, monkeypatch):
    """A pack that only calls the program of this environment, and notes that it did."""
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    monkeypatch.setenv("SLURM_JOB_ID", f"test-{os.getpid()}")
    content = slurm / "content"
    (content / "bin").mkdir(parents=True)
    for name, text in (
        ("settle", 'cd "$(dirname "$0")" && touch settled'),
        ("bin/tailrace", f'echo "$0" >> "{slurm}/used"; exec "{sys.executable}" -m tailrace.cli "$@"'),
    ):
        (content / name).write_text(f"#!/bin/sh\n{text}\n")
        (content / name).chmod(stat.S_IRWXU)
    subprocess.run(["tar", "-cf", "a b.tar", "-C", content, "."], check=True)
    job("small.toml", *USUAL, "--system", "slurm", "--pack", "a b.tar", "--set", "time.steps=4")
    process = begin("small.slurm")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    node = Path(f"/dev/shm/tailrace-test-{os.getpid()}")
    assert set(lines(slurm / "used")) == {f"{node}/bin/tailrace"} and not node.exists(), out


def test_a_job_that_fails_is_not_given_again(slurm):
    job("small.toml", *USUAL, "--system", "slurm")
    (slurm / "snapshots.h5").write_text("of another run")
    process = begin("small.slurm")
    out, _ = process.communicate(timeout=300)
    assert process.returncode != 0 and not (slurm / "submitted").exists(), out


def test_a_chain_that_breaks_is_no_success(slurm):
    """The batch system takes no further job."""
    job("small.toml", *USUAL, "--system", "slurm")
    path = slurm / "small.slurm"
    text = path.read_text()
    run = next(line for line in text.splitlines() if line.startswith("srun "))
    path.write_text(text.replace(run, "mkdir -p checkpoints/step-00000001; (exit 143)"))
    (slurm / "bin" / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: no more jobs'; exit 1\n")
    process = begin("small.slurm")
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 143 and "no more jobs" in out
