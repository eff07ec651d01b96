"""Advice from measurements: the best answer, ties, what is never advised, how sure it is, refusals."""

import re
import tomllib
from dataclasses import replace

import pytest

from helpers.inputs.bench_results import MACHINE, Made, clear_case
from tailrace.bench.advise.advice import advise
from tailrace.bench.advise.load import GIB
from tailrace.bench.advise.question import AdviceError, Question
from tailrace.bench.records.records import Failure, Measurement
from tailrace.bench.records.results import BenchResults

OUTPUT, CHECKPOINT = Question("output"), Question("checkpoint")


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
    found = advise(BenchResults([*made.all(), *cached.all()]), OUTPUT)
    assert found.engine == "hdf5"
    assert any("page cache" in note for note in found.notes)
    synced = advise(made.results(), OUTPUT)
    assert any("none of the page cache were measured" in note for note in synced.notes)


def test_synced_figures_are_taken_where_those_of_the_page_cache_are_far_away():
    far = Made(cache="page cache", run="two", shape=(16, 16, 16)).way("hdf5", 0.02).way("bp5", 0.05)
    found = advise(
        BenchResults([*clear_case().all(), *far.all()]), Question("output", ranks=4, shape=(256, 256, 256), variables=1)
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
    found = advise(BenchResults([*made.all(), *cached.all()]), CHECKPOINT)
    assert (found.engine, found.parameters) == ("raw", {"strategy": "dist"})
    assert "synced" in found.reasons[0]


def test_a_checkpoint_without_synced_writes_has_no_interval():
    cached = Made(cache="page cache").way("raw", 0.01).way("raw", 0.05, strategy="dist")
    found = advise(cached.results(), Question("checkpoint", mtbf_hours=24))
    assert (found.engine, found.parameters, found.interval) == ("raw", {}, None)
    assert found.sureness.level == "not sure"
    assert found.sureness.reasons[0].startswith("no synced writes were measured")
    assert any("no interval is given" in note for note in found.notes)


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
    both = BenchResults([*near.all(), *far.all()])
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
        (
            lambda made: made.way("sion", 0.01).fails("sion", "IoError: disk gone\nmore"),
            "failed: IoError: disk gone",
        ),
        (
            lambda made: made.way("sion", 0.01, rounds=6).way("sion", [0.01], verified=False),
            "wrong values in 1 of 7",
        ),
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
        Made().way("bp5", [0.1, 0.11, 0.1, 0.1, 0.1, 0.11, 9.0], disturbed=slow).way("hdf5", 0.2).results(),
        OUTPUT,
    )
    assert found.engine == "bp5"
    assert "in 6 rounds" in found.reasons[0]
    often = dict.fromkeys(range(1, 6), "the load was 9")
    found = advise(Made().way("bp5", 0.1, disturbed=often).way("hdf5", 0.2).results(), OUTPUT)
    assert found.engine == "hdf5"


# ---- how sure it is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "question", "engine", "reason"),
    [
        (Made().way("bp5", 0.1), OUTPUT, "bp5", "it was compared with no other way"),
        (
            Made().way("bp5", [0.1, 0.1, 0.9, 0.9]).way("hdf5", [0.2, 0.21, 0.8, 0.8]),
            OUTPUT,
            "hdf5",
            "the figures of every way are doubtful, those of hdf5 because of two groups of rounds",
        ),
        (Made().way("bp5", 0.1, rounds=3).way("hdf5", 0.2, rounds=3), OUTPUT, "bp5", "bp5 has 3 rounds, and ways can"),
        (Made().way("bp5", [0.1]).way("hdf5", [0.102]), OUTPUT, "hdf5", "bp5 has 1 round, and ways can"),
        (clear_case(), Question(ranks=17), "bp5", r"17 ranks: more than a factor of 4 .*128\.0 MiB on 4 ranks"),
        (clear_case(), Question(ranks=4, state=GIB), "bp5", r"1\.0 GiB a step and 4 ranks: more than a factor of 4"),
    ],
)  # fmt: skip
def test_doubtful_figures_give_an_answer_for_now(made, question, engine, reason):
    found = advise(made.results(), question)
    assert found.engine == engine
    assert found.sureness.level == "not sure"
    assert re.search(reason, "; ".join(found.sureness.reasons))
    words = found.sureness.words(engine)
    assert words.startswith(f"Take {engine} for now. Not sure: ")
    assert "To be surer: `tailrace bench io --ranks" in words


def test_a_clear_answer_is_sure_and_says_why():
    found = advise(clear_case().results(), OUTPUT)
    assert found.sureness.words("bp5") == (
        "Take bp5. Sure: it was faster than the next, hdf5, in all 49 pairs of rounds."
    )


def test_a_tie_and_a_doubtful_faster_way_are_fairly_sure():
    tie = advise(Made().way("bp5", 0.1).way("hdf5", 0.102).results(), OUTPUT).sureness
    assert (tie.level, tie.reasons) == ("fairly sure", ("bp5 is as fast, so little is lost",))
    faster = advise(clear_case().way("sion", [0.05, 0.051, 0.052, 0.09, 0.091]).results(), OUTPUT).sureness
    assert faster.level == "fairly sure"
    assert faster.reasons[0] == "sion may be faster, but with doubtful figures"


def test_runs_that_contradict_each_other_are_said():
    first = Made().way("bp5", 0.1).way("hdf5", 0.2)
    second = Made(run="two").way("bp5", 0.3).way("hdf5", 0.25)
    found = advise(BenchResults([*first.all(), *second.all()]), OUTPUT)
    assert found.sureness.level == "not sure"
    assert any(one.startswith("the runs contradict each other: in the run of") for one in found.sureness.reasons)


def test_of_several_directories_the_fastest_is_taken_and_said():
    both = BenchResults([*clear_case().all(), *Made(directory="ram", run="two").way("raw", 0.05).way("bp5", 0.3).all()])
    found = advise(both, OUTPUT)
    assert found.engine == "raw"
    assert "of the directories 'disk', 'ram' the fastest, 'ram', is taken" in found.sureness.reasons[0]
    assert advise(both, Question(directory="disk")).engine == "bp5"
    assert advise(both, Question(directory="ram")).sureness.level == "sure"


def test_of_two_machines_the_last_is_taken_and_said():
    other = Made(run="two", machine={**MACHINE, "cores": 64}, began="2026-02-01T00:00:00+00:00")
    other.way("hdf5", 0.1).way("bp5", 0.2)
    found = advise(BenchResults([*clear_case().all(), *other.all()]), OUTPUT)
    assert found.engine == "hdf5"
    assert "in 7 rounds" in found.reasons[0]
    assert found.sureness.level == "not sure"
    assert "of 2 machines (a test, 8 cores; a test, 64 cores)" in found.sureness.reasons[0]


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "question", "reason"),
    [
        (Made().way("bp5", 0.1, verified=None).way("hdf5", 0.2, verified=None), OUTPUT, "no way is safe: bp5: the v"),
        (clear_case(), Question(directory="tape"), "nothing was measured in the directory 'tape'; there are 'disk'"),
        (clear_case(), Question(local=(64, 64, 64)), "--ranks"),
        (Made().limit(0.1), OUTPUT, "no writes of fields"),
    ],
)  # fmt: skip
def test_no_advice_where_there_is_nothing_to_choose_from(made, question, reason):
    with pytest.raises(AdviceError, match=reason):
        advise(made.results(), question)


def test_a_factor_of_four_is_near_enough():
    assert advise(clear_case().results(), Question(ranks=16, state=4 * 256**3 * 8)).engine == "bp5"


def test_runs_without_writes_and_other_allocations_are_of_no_other_machine():
    imported = Made(run="two", machine={}).limit(0.1)
    more_nodes = Made(run="three", machine={**MACHINE, "nodes": 4}).way("hdf5", 0.21)
    assert advise(BenchResults([*clear_case().all(), *imported.all(), *more_nodes.all()]), OUTPUT).engine == "bp5"


def test_a_limit_that_failed_is_no_way():
    made = clear_case()
    made.records.append(
        Failure(replace(made.cell(""), name="pwrite direct", role="limit"), 0, "Invalid argument", "one")
    )
    assert not [note for note in advise(made.results(), OUTPUT).notes if "pwrite direct" in note]


def test_a_way_that_was_wrong_when_it_was_read_is_not_advised():
    made = clear_case()
    read = replace(made.cell("bp5"), operation="read", cache="cold")
    made.records.append(Measurement(read, 5, 0.1, 1000, verified=False, run="one"))
    found = advise(made.results(), OUTPUT)
    assert found.engine == "hdf5"
    assert "not advised: bp5, gave wrong values when they were read in another way, though it is faster" in found.notes


def test_the_command_to_measure_again_measures_the_same():
    made = Made(variables=2, directory="nv", run="one").way("bp5", 0.1, rounds=3).way("hdf5", 0.2, rounds=3)
    made.records = [
        replace(one, cell=replace(one.cell, precision="float32", steps=2, decomposition=(1, 4, 1)))
        if isinstance(one, Measurement)
        else one
        for one in made.records
    ]
    assert advise(made.results(), OUTPUT).sureness.remedy.startswith(
        "`tailrace bench io --ranks 4 --global 256,256,256 --precision float32 --variables 2 --steps 2 "
        "--decomposition 1,4,1 --directory nv=/scratch/nv --rounds 7 -o again.jsonl`"
    )
    asked = advise(made.results(), Question(ranks=8, local=(128, 128, 128))).sureness.remedy
    assert "--ranks 8 --local 128,128,128 --variables 3 --steps 2 --directory nv=/scratch/nv" in asked
    stored = [
        replace(one, cell=replace(one.cell, source="/data/a b.h5")) if isinstance(one, Measurement) else one
        for one in made.records
    ]
    remedy = advise(BenchResults(stored), OUTPUT).sureness.remedy
    assert "--ranks 4 --from '/data/a b.h5' --steps 2" in remedy and "--global" not in remedy
