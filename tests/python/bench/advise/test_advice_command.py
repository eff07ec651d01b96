"""What advice gives to paste and to type: blocks, environment, stripes, intervals, and the command itself."""

import math
import tomllib

import pytest
import typer
from typer.testing import CliRunner

import tailrace as tr
from helpers.inputs.bench_results import Made, clear_case
from tailrace.bench.advise.advice import advise
from tailrace.bench.advise.case_block import checkpoint_block, environment_line, output_block
from tailrace.bench.advise.forecast import VARIANTS
from tailrace.bench.advise.interval import daly, interval_of
from tailrace.bench.advise.profile import load_profile
from tailrace.bench.advise.question import Question
from tailrace.case import templates
from tailrace.cli.advise import advise as command
from tailrace.text import duration

OUTPUT, CHECKPOINT = Question("output"), Question("checkpoint")


# ---- blocks and commands ---------------------------------------------------------------------------------------------


def loads(block, tmp_path):
    """The case of the template with a block pasted behind it."""
    text = templates.case_of("tgv")
    kept = tomllib.loads(text)
    if "[checkpoint]" in block:
        text = text.replace("[checkpoint]", "[x-checkpoint]")
    head = text.partition("[[output]]")[0].partition("[x-checkpoint]")[0]
    assert "case" in kept
    (tmp_path / "case.toml").write_text(f"{head}\n{block}")
    return tr.load_case(tmp_path / "case.toml")


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_pasted_output_loads(variant, tmp_path):
    parameters = {**variant.parameters, "stripe_count": -1, "buffers": 2, "sync": True, "nothing": None}
    if variant.engine == "mpiio":
        parameters["hints.cb_nodes"] = 4
    case = loads(output_block(variant.engine, parameters, "float32"), tmp_path)
    (output,) = case.output
    assert (output.engine, output.precision) == (variant.engine, "float32")
    assert output.parameters == {key: value for key, value in parameters.items() if value is not None}


@pytest.mark.parametrize("interval", [None, interval_of(4.0, 86400.0)])
def test_a_pasted_checkpoint_loads(interval, tmp_path):
    case = loads(checkpoint_block(interval), tmp_path)
    expected = 60.0 if interval is None else daly(4.0, 86400.0) / 60
    assert case.checkpoint.minutes == pytest.approx(expected, abs=0.006)
    assert case.checkpoint.keep == 2


def test_the_environment_gives_parameters_of_raw():
    assert environment_line({"strategy": "dist", "sync": True}, 4) == 'export TAILRACE_PARAMETERS="raw:strategy=dist"'
    both = environment_line({"layout": "files", "aggregators": 4, "nothing": None}, 4)
    assert both == 'export TAILRACE_PARAMETERS="raw:aggregators=4, raw:layout=files"'
    assert environment_line({"checksums": True}, 256) == ""
    shared = 'export TAILRACE_PARAMETERS="raw:strategy=shared"'
    assert environment_line({"checksums": True}, 257) == shared, "a run would take one rank of each node there"
    assert "shared" not in environment_line({"aggregators": 4}, 257)


def test_checkpoints_take_the_parameters_of_the_environment(tmp_path, monkeypatch):
    import numpy as np

    line = environment_line({"strategy": "dist"}, 4)
    monkeypatch.setenv("TAILRACE_PARAMETERS", line.partition('"')[2].rstrip('"'))
    grid = tr.UniformGrid((8, 8, 8), spacing=(1.0,) * 3)
    with tr.open(tmp_path / "s", "w", engine="raw", grid=grid, parameters={"sync": True}) as out:
        out.write_step(0.0, ux=np.zeros((8, 8, 8)))
    assert (tmp_path / "s" / "ux-1.0000.bin").exists()


def test_stripes_are_for_lustre():
    assert advise(clear_case().results(), OUTPUT).commands == ()
    lustre = {"kind": "lustre"}
    assert advise(clear_case(**lustre).results(), OUTPUT).commands == ("lfs setstripe -c 1 -S 1M /scratch/disk",)
    shared = Made(**lustre).way("hdf5", 0.1, transfer="collective").way("raw", 0.5)
    assert advise(shared.results(), OUTPUT).commands == ("lfs setstripe -c -1 -S 1M /scratch/disk",)
    given = Made(**lustre).way("hdf5", 0.1, stripe_count=8, stripe_size="4M").way("raw", 0.5)
    assert advise(given.results(), OUTPUT).commands == ("lfs setstripe -c 8 -S 4M /scratch/disk",)


def test_the_interval_follows_from_the_measured_cost():
    found = advise(clear_case().results(), Question("checkpoint", ranks=4, state=256**3 * 8, mtbf_hours=1.0))
    assert found.cost == pytest.approx(0.25)
    assert found.interval is not None
    assert found.interval.young == pytest.approx(math.sqrt(2 * 0.25 * 3600))
    assert tomllib.loads(found.block)["checkpoint"]["minutes"] == pytest.approx(found.interval.daly / 60, abs=0.006)


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    """tailrace advise WORDS in a directory with the files clear.jsonl and lone.jsonl."""
    monkeypatch.chdir(tmp_path)
    clear_case().file(tmp_path / "clear.jsonl")
    Made().way("bp5", 0.1).file(tmp_path / "lone.jsonl")
    app = typer.Typer()
    app.command()(command)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_prints_reasons_and_a_block_that_loads(run, tmp_path):
    found = run("clear.jsonl", "--ranks", 4, "--global", "256,256,256", "--variables", 1)
    assert found.exit_code == 0
    assert "bp5 wrote 1.25 GiB/s" in found.stdout
    block = found.stdout.partition("In the case file:\n\n")[2]
    assert loads(block, tmp_path).output[0].engine == "bp5"
    assert "note: figures of synced writes" in found.stderr
    assert "interrupted" not in found.stderr


def test_the_first_line_says_what_to_take_and_how_sure_it_is(run):
    assert run("clear.jsonl").stdout.startswith("Take bp5. Sure: it was faster than the next, hdf5, in all 49 pairs")
    lone = run("lone.jsonl")
    assert lone.exit_code == 0
    assert lone.stdout.startswith("Take bp5 for now. Not sure: it was compared with no other way. To be surer: `tailr")
    predicted = run("--machine", "laptop", "--ranks", 4, "--state", "128MiB").stdout
    assert "it is predicted from the profile of" in predicted


def test_an_interrupted_run_is_used_and_noted(run, tmp_path):
    text = (tmp_path / "clear.jsonl").read_text().splitlines()
    (tmp_path / "cut.jsonl").write_text("\n".join([*text[:-2], text[-2][:40]]))
    found = run("cut.jsonl")
    assert found.exit_code == 0
    assert "the run one was interrupted" in found.stderr
    assert "the line is not whole" in found.stderr


def test_the_command_gives_the_interval(run, tmp_path):
    found = run("clear.jsonl", "--for", "checkpoint", "--ranks", 4, "--state", "128MiB", "--mtbf", 24)
    assert found.exit_code == 0
    assert "Write a checkpoint every 3 min 28 s (Daly 2006; Young 1974: 3 min 28 s): 0.24% of the time" in found.stdout
    assert 'export TAILRACE_PARAMETERS="raw:strategy=dist"' in found.stdout
    assert loads(found.stdout.partition("In the case file:\n\n")[2], tmp_path).checkpoint.minutes == 3.46


def test_the_command_predicts(run, tmp_path):
    found = run("--machine", "archer2.toml", "--ranks", 131072, "--global", "1025,1025,1025", "--variables", 4)
    assert found.exit_code == 0
    assert " ".join(found.stdout.splitlines()[0].split()) == "engine stripes GiB/s four of five draws s limited by"
    assert "bp5 is predicted to write" in found.stdout
    start = (131072 * 870 + 1024 * 2200) / 100000  # files and names over the opens of archer2.toml
    assert f"each rank opens 870 files of Python and its packages: {duration(start)} of" in found.stderr
    assert loads(found.stdout.partition("In the case file:\n\n")[2], tmp_path).output[0].engine == "bp5"
    one = run("--machine", "archer2.toml", "--ranks", 2048, "--state", "64GiB", "--stripes", 1).stdout
    assert "hdf5 collective        1" in one
    assert "opens 870 files" not in run("--machine", "laptop", "--ranks", 4, "--state", "1GiB").stderr


def test_the_block_has_the_precision_that_was_asked_for(run, tmp_path):
    for words in (("--machine", "laptop"), ("clear.jsonl",)):
        for precision in ("float64", "float32"):
            out = run(*words, "--ranks", 4, "--local", "128,128,128", "--precision", precision).stdout
            assert loads(out.partition("In the case file:\n\n")[2], tmp_path).output[0].precision == precision


def test_a_profile_is_of_one_directory(run, tmp_path):
    ways = ("bp5", "hdf5", "raw", "mpiio", "sion", "bp4")
    fast, slow = Made(directory="fast"), Made(directory="slow", kind="lustre", run="two")
    for at, engine in enumerate(ways):
        fast.way(engine, 0.1 + 0.01 * at)
        slow.way(engine, 10.0 + at)
    fast.file(tmp_path / "fast.jsonl")
    slow.file(tmp_path / "slow.jsonl")
    both = run("fast.jsonl", "slow.jsonl", "--fit-to", "mine.toml")
    assert both.exit_code == 1 and "directories 'fast', 'slow'" in both.stderr and "--directory NAME" in both.stderr
    assert "no" in run("fast.jsonl", "--fit-to", "mine.toml", "--directory", "slow").stderr
    for name, system in (("fast", "local"), ("slow", "lustre")):
        done = run("fast.jsonl", "slow.jsonl", "--fit-to", f"{name}.toml", "--directory", name)
        assert done.exit_code == 0 and load_profile(tmp_path / f"{name}.toml").file_system == system, done.stderr


def test_a_copy_of_results_adds_no_rounds(run, tmp_path):
    Made().way("bp5", 0.1, rounds=3).way("hdf5", 0.2, rounds=3).file(tmp_path / "w.jsonl")
    (tmp_path / "copy.jsonl").write_text((tmp_path / "w.jsonl").read_text())
    found = run("w.jsonl", "copy.jsonl")
    assert "in 3 rounds" in found.stdout
    assert "copy.jsonl: 8 records of a file that was given before: counted once" in found.stderr


def test_the_command_fits_a_profile_that_it_predicts_from(run, tmp_path):
    made = Made()
    for engine, seconds in (("bp5", 0.1), ("hdf5", 0.2), ("raw", 0.3), ("mpiio", 0.25), ("sion", 0.12), ("bp4", 0.4)):
        made.way(engine, seconds)
    made.way("raw", 0.11, strategy="dist").way("raw", 0.3, strategy="collect").file(tmp_path / "many.jsonl")
    found = run("many.jsonl", "--fit-to", "mine.toml")
    assert found.exit_code == 0
    assert "a profile fitted to 8 measured ways; what remains is a factor of" in found.stdout
    assert "not cross-validated: a fit needs 6 measured ways or more (found 4)" in found.stderr
    assert load_profile(tmp_path / "mine.toml").cores_per_node == 8
    assert run("--machine", "mine.toml", "--ranks", 4, "--state", "128MiB").exit_code == 0
    assert "it exists" in run("many.jsonl", "--fit-to", "mine.toml").stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["missing.jsonl"], 2, "cannot be read"),
        ([], 2, "give files of results"),
        (["clear.jsonl", "--machine", "laptop"], 2, "measurements or a prediction?"),
        (["--machine", "laptop", "--fit-to", "x.toml"], 2, "--fit-to needs files of results"),
        (["--machine", "nowhere"], 2, "there is no such file, and no profile of that name"),
        (["--machine", "laptop"], 1, "a prediction needs --ranks"),
        (["clear.jsonl", "--for", "fun"], 2, "--for fun: expected output or checkpoint"),
        (
            ["clear.jsonl", "--fit-to", "x.toml", "--ranks", "4"],
            2,
            "leave --ranks, the size and --for to the prediction",
        ),
        (["clear.jsonl", "--precision", "float32"], 2, "--precision is part of the size of a grid"),
        (["clear.jsonl", "--state", "1GiB", "--variables", "3"], 2, "--variables is part of the size of a grid"),
        (["clear.jsonl", "--precision", "int8"], 2, "--precision int8: expected float64 or float32"),
        (["clear.jsonl", "--global", "1,2"], 2, "--global 1,2: expected three numbers"),
        (["clear.jsonl", "--global", "0,2,2"], 2, "expected three numbers"),
        (["clear.jsonl", "--global", "8,8,8", "--state", "1GiB"], 2, "give one of them"),
        (["clear.jsonl", "--state", "12 parsec"], 2, "expected a number of bytes"),
        (["clear.jsonl", "--state", "1e400"], 2, "expected a number of bytes"),
        (["clear.jsonl", "--state", "1e308TiB"], 2, "expected a number of bytes"),
        (["clear.jsonl", "--for", "checkpoint", "--mtbf", "0"], 2, "expected hours above 0"),
        (["clear.jsonl", "--mtbf", "24"], 2, "add --for checkpoint"),
        (["clear.jsonl", "--stripes", "4"], 2, "--stripes is for predictions"),
        (["--machine", "laptop", "--directory", "disk"], 2, "--directory chooses among measurements"),
    ],
)
def test_the_command_explains_what_is_wrong(run, words, code, said):
    found = run(*words)
    assert found.exit_code == code
    assert said in found.stderr
    assert "Traceback" not in found.output
