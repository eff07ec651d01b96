"""Advice from measurements: the best answer, ties, refusals, what is never advised, blocks, intervals, the command."""

import math
import tomllib

import pytest
import typer
from typer.testing import CliRunner

import tailrace as tr
from helpers.bench_results import MACHINE, Made
from tailrace.bench.advice import advise
from tailrace.bench.case_block import checkpoint_block, environment_line, output_block
from tailrace.bench.forecast import WAYS
from tailrace.bench.interval import daly, interval_of
from tailrace.bench.profile import load_profile
from tailrace.bench.question import AdviceError, Question
from tailrace.bench.results import Results
from tailrace.bench.work import GIB
from tailrace.case import templates
from tailrace.cli.advise import advise as command

OUTPUT, CHECKPOINT = Question("output"), Question("checkpoint")


def clear_case(**more):
    """bp5 writes 0.125 GiB in 0.1 s, the next in 0.2 s."""
    return Made(**more).way("bp5", 0.1).way("hdf5", 0.2).way("raw", 0.3).way("raw", 0.25, strategy="dist").limit(0.08)


# ---- the best answer -------------------------------------------------------------------------------------------------


def test_the_fastest_way_is_advised_with_its_numbers():
    found = advise(clear_case().results(), OUTPUT)
    assert (found.engine, found.parameters, found.tied) == ("bp5", {}, ())
    rate, other, cost = found.reasons
    assert rate.startswith(
        "bp5 wrote 1.25 GiB/s (1.21 to 1.29 in 7 rounds), 0.80 of the limit, pwrite, with 1 variable"
    )
    assert "256 x 256 x 256 points (128.0 MiB a step) on 4 ranks, float64, synced, in disk" in rate
    assert other.startswith("The next, hdf5, reached 0.625 GiB/s and takes 2.00 times as long")
    assert cost == "A step of 128.0 MiB costs 0.1 s at this rate."
    assert found.cost == pytest.approx(0.1)


def test_parameters_are_part_of_the_answer():
    found = advise(Made().way("raw", 0.3).way("raw", 0.1, strategy="dist").results(), OUTPUT)
    assert (found.engine, found.parameters) == ("raw", {"strategy": "dist"})
    assert tomllib.loads(found.block)["output"][0]["parameters"] == {"strategy": "dist"}


def test_outputs_take_figures_of_the_page_cache_and_say_so():
    made = clear_case()
    cached = Made(cache="page cache", run="two").way("hdf5", 0.02).way("bp5", 0.05)
    found = advise(Results([*made.all(), *cached.all()]), OUTPUT)
    assert found.engine == "hdf5"
    assert any("page cache" in note for note in found.notes)
    synced = advise(made.results(), OUTPUT)
    assert any("none of the page cache were measured" in note for note in synced.notes)


def test_synced_figures_are_taken_where_those_of_the_page_cache_are_far_away():
    far = Made(cache="page cache", run="two", shape=(16, 16, 16)).way("hdf5", 0.02).way("bp5", 0.05)
    found = advise(
        Results([*clear_case().all(), *far.all()]), Question("output", ranks=4, shape=(256, 256, 256), variables=1)
    )
    assert found.engine == "bp5"
    assert any("none of the page cache were measured near it" in note for note in found.notes)


def test_the_only_way_of_raw_is_said_to_be_one_of_several():
    found = advise(Made().way("bp5", 0.1).way("raw", 0.3).results(), CHECKPOINT)
    assert found.engine == "raw"
    assert found.reasons[1].startswith("It is the only way of raw that is safe")
    assert any("by bp5" in note for note in found.notes)


def test_checkpoints_take_synced_figures_only():
    made = clear_case()
    cached = Made(cache="page cache", run="two").way("raw", 0.01).way("raw", 0.05, strategy="dist")
    found = advise(Results([*made.all(), *cached.all()]), CHECKPOINT)
    assert (found.engine, found.parameters) == ("raw", {"strategy": "dist"})
    assert "synced" in found.reasons[0]
    with pytest.raises(AdviceError, match="no synced writes"):
        advise(cached.results(), CHECKPOINT)


def test_checkpoints_of_a_run_are_raw_and_a_faster_engine_is_named():
    found = advise(clear_case().results(), CHECKPOINT)
    assert found.commands == ('export TAILRACE_PARAMETERS="raw:strategy=dist"',)
    assert any(
        "program of your own may write its checkpoints by bp5 (no parameters), 2.50 times" in one for one in found.notes
    )
    without = advise(Made().way("bp5", 0.1).way("hdf5", 0.2).results(), CHECKPOINT)
    assert without.engine == "bp5"
    assert without.commands == ()
    assert any("of which no safe figure was measured" in note for note in without.notes)


def test_the_nearest_setting_is_taken_and_said():
    near, far = clear_case(ranks=4), Made(ranks=16, run="two").way("hdf5", 0.1).way("bp5", 0.2)
    both = Results([*near.all(), *far.all()])
    assert advise(both, Question(ranks=12)).engine == "hdf5"
    found = advise(both, Question(ranks=3, shape=(256, 256, 128)))
    assert found.engine == "bp5"
    assert any("the nearest measured setting is taken" in note and "on 4 ranks" in note for note in found.notes)
    assert found.cost == pytest.approx(3 * 128 * 256 * 256 * 8 / (GIB / 8 / 0.1))
    exact = advise(both, Question(ranks=4, shape=(256, 256, 256), variables=1))
    assert not any("nearest" in note for note in exact.notes)
    assert advise(both, OUTPUT).engine == "hdf5"  # nothing is asked: the most ranks


def test_a_size_may_be_that_of_a_rank_or_of_the_state():
    results = clear_case().results()
    whole = advise(results, Question(ranks=4, shape=(256, 256, 256), variables=1))
    rank = advise(results, Question(ranks=4, local=(256, 256, 64), variables=1))
    state = advise(results, Question(ranks=4, state=256**3 * 8))
    assert whole.cost == rank.cost == state.cost
    assert "on each rank" in rank.reasons[2]


# ---- ties ------------------------------------------------------------------------------------------------------------


def test_a_tie_is_said_and_a_preference_decides():
    found = advise(Made().way("bp5", 0.1).way("hdf5", 0.102).way("raw", 0.3).results(), OUTPUT)
    assert (found.engine, found.tied) == ("hdf5", ("bp5",))
    assert "It ties with bp5 (1.25 GiB/s)" in found.reasons[1]
    assert "a preference decided" in found.reasons[1]


def test_all_may_tie():
    made = Made().way("sion", 0.1).way("mpiio", 0.101).way("raw", 0.099).way("bp4", 0.1).way("hdf5", 0.1, chunk_bytes=1)
    found = advise(made.results(), OUTPUT)
    assert found.engine == "hdf5"
    assert len(found.tied) == 4


def test_of_one_engine_the_defaults_are_preferred():
    found = advise(Made().way("hdf5", 0.1, alignment=4096).way("hdf5", 0.101).results(), OUTPUT)
    assert found.parameters == {}


# ---- what is never advised -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda made: made.way("sion", 0.01, verified=False), "wrote wrong values in 7 of 7 rounds"),
        (lambda made: made.way("sion", 0.01, verified=None), "7 of 7 rounds were not read back"),
        (lambda made: made.way("sion", 0.01).fails("sion", "IoError: disk gone\nmore"), "failed: IoError: disk gone"),
        (lambda made: made.way("sion", 0.01, rounds=6).way("sion", [0.01], verified=False), "wrong values in 1 of 7"),
    ],
)
def test_an_unsafe_way_is_not_advised_even_if_it_is_the_fastest(spoil, reason):
    found = advise(spoil(clear_case()).results(), OUTPUT)
    assert found.engine == "bp5"
    (note,) = [note for note in found.notes if "sion" in note]
    assert reason in note
    assert note.endswith("though it is faster")


def test_a_way_that_only_fails_is_mentioned():
    found = advise(clear_case().fails("mpiio", "no MPI-IO here").results(), OUTPUT)
    assert "not advised: mpiio, failed: no MPI-IO here" in found.notes


def test_the_only_safe_way_is_advised_as_such():
    found = advise(Made().way("hdf5", 0.2).way("bp5", 0.1, verified=False).results(), OUTPUT)
    assert found.engine == "hdf5"
    assert "only way that is safe" in found.reasons[1]


def test_two_groups_of_rounds_are_doubtful():
    groups = [0.05, 0.051, 0.052, 0.4, 0.41, 0.42]
    found = advise(clear_case().way("sion", groups).results(), OUTPUT)
    assert found.engine == "bp5"
    assert any("left out, doubtful: sion, two groups of rounds" in note for note in found.notes)


def test_disturbed_rounds_are_left_out_where_enough_remain():
    slow = {7: "the load was 9"}
    found = advise(
        Made().way("bp5", [0.1, 0.11, 0.1, 0.1, 0.1, 0.11, 9.0], disturbed=slow).way("hdf5", 0.2).results(), OUTPUT
    )
    assert found.engine == "bp5"
    assert "in 6 rounds" in found.reasons[0]
    often = dict.fromkeys(range(1, 6), "the load was 9")
    found = advise(Made().way("bp5", 0.1, disturbed=often).way("hdf5", 0.2).results(), OUTPUT)
    assert found.engine == "hdf5"


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "question", "reason"),
    [
        (Made().way("bp5", 0.1), OUTPUT, "only one way was measured, bp5"),
        (Made().way("bp5", 0.1, verified=None).way("hdf5", 0.2, verified=None), OUTPUT, "no way is safe: bp5: the v"),
        (
            Made().way("bp5", [0.1, 0.1, 0.9, 0.9]).way("hdf5", [0.2, 0.21, 0.8, 0.8]),
            OUTPUT,
            "every figure of the safe ways is doubtful: bp5: two groups",
        ),
        (Made().way("bp5", 0.1, rounds=3).way("hdf5", 0.2, rounds=3), OUTPUT, "has 3 rounds: with fewer than 4"),
        (clear_case(), Question(ranks=17), r"17 ranks: more than a factor of 4 .*128\.0 MiB on 4 ranks"),
        (clear_case(), Question(ranks=4, state=GIB), r"1\.0 GiB a step and 4 ranks: more than a factor of 4"),
        (clear_case(), Question(directory="tape"), "nothing was measured in the directory 'tape'; there are 'disk'"),
        (clear_case(), Question(local=(64, 64, 64)), "--ranks"),
        (Made().limit(0.1), OUTPUT, "no writes of fields"),
    ],
)  # fmt: skip
def test_no_advice_where_the_data_cannot_tell(made, question, reason):
    with pytest.raises(AdviceError, match=reason):
        advise(made.results(), question)


def test_a_factor_of_four_is_near_enough():
    assert advise(clear_case().results(), Question(ranks=16, state=4 * 256**3 * 8)).engine == "bp5"


def test_several_directories_need_a_choice():
    both = Results([*clear_case().all(), *Made(directory="ram", run="two").way("raw", 0.1).way("bp5", 0.3).all()])
    with pytest.raises(AdviceError, match="several directories, 'disk', 'ram'; choose by --directory"):
        advise(both, OUTPUT)
    assert advise(both, Question(directory="disk")).engine == "bp5"
    assert advise(both, Question(directory="ram")).engine == "raw"


def test_results_of_two_machines_are_not_mixed():
    other = Made(run="two", machine={**MACHINE, "cores": 64}).way("hdf5", 0.1)
    with pytest.raises(AdviceError, match="of 2 machines"):
        advise(Results([*clear_case().all(), *other.all()]), OUTPUT)


def test_runs_without_writes_and_other_allocations_are_of_no_other_machine():
    imported = Made(run="two", machine={}).limit(0.1)
    more_nodes = Made(run="three", machine={**MACHINE, "nodes": 4}).way("hdf5", 0.21)
    assert advise(Results([*clear_case().all(), *imported.all(), *more_nodes.all()]), OUTPUT).engine == "bp5"


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


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_pasted_output_loads(way, tmp_path):
    parameters = {**way.parameters, "stripe_count": -1, "buffers": 2, "sync": True, "nothing": None}
    if way.engine == "mpiio":
        parameters["hints.cb_nodes"] = 4
    case = loads(output_block(way.engine, parameters, "float32"), tmp_path)
    (output,) = case.output
    assert (output.engine, output.precision) == (way.engine, "float32")
    assert output.parameters == {key: value for key, value in parameters.items() if value is not None}


@pytest.mark.parametrize("interval", [None, interval_of(4.0, 86400.0)])
def test_a_pasted_checkpoint_loads(interval, tmp_path):
    case = loads(checkpoint_block(interval), tmp_path)
    expected = 60.0 if interval is None else daly(4.0, 86400.0) / 60
    assert case.checkpoint.minutes == pytest.approx(expected, abs=0.006)
    assert case.checkpoint.keep == 2


def test_the_environment_gives_parameters_of_raw():
    assert environment_line({"strategy": "dist", "sync": True}) == 'export TAILRACE_PARAMETERS="raw:strategy=dist"'
    both = environment_line({"layout": "files", "aggregators": 4, "nothing": None})
    assert both == 'export TAILRACE_PARAMETERS="raw:aggregators=4, raw:layout=files"'
    assert environment_line({"checksums": True}) == ""


def test_checkpoints_take_the_parameters_of_the_environment(tmp_path, monkeypatch):
    import numpy as np

    line = environment_line({"strategy": "dist"})
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
    assert loads(found.stdout.partition("In the case file:\n\n")[2], tmp_path).output[0].engine == "bp5"
    one = run("--machine", "archer2.toml", "--ranks", 2048, "--state", "64GiB", "--stripes", 1).stdout
    assert "hdf5 collective        1" in one


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
        (["lone.jsonl"], 1, "only one way was measured"),
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
