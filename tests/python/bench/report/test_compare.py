"""What changed between two files of results, against changes that are known."""

from __future__ import annotations

import pytest

from helpers.inputs.benchmarks import NOISE, SPEED, cell, results, rounds, small
from tailrace.bench.records.summary import LEAST_RATIO, SIGNIFICANT, probability
from tailrace.bench.report.compare import against, overview


def directions(changes):
    return {(one.cell.name, one.cell.ranks): one.direction for one in changes}


def test_one_engine_of_half_the_speed_is_found_and_all_others_tie():
    changes = against(small({"hdf5": 2.0}, noise=NOISE[::-1]), small())
    found = directions(changes)
    assert {key for key, variant in found.items() if variant == "slower"} == {("hdf5", 1), ("hdf5", 2)}
    assert {variant for key, variant in found.items() if key[0] != "hdf5"} == {"tie"}
    assert len(changes) == 2 * (len(SPEED) + 1)
    slower = next(one for one in changes if one.direction == "slower")
    assert slower.ratio == pytest.approx(2.0) and slower.chance < SIGNIFICANT
    assert slower.words() == "slower, takes 2.00 times as long"
    assert overview(changes) == (
        "Of 12 cells in both files 2 are slower, 0 are faster, 10 do not differ by more than their spread and 5 %."
    )


def test_half_the_time_is_faster():
    changes = against(small(), small({"sion": 2.0}))
    assert {key[0] for key, variant in directions(changes).items() if variant == "faster"} == {"sion"}
    assert next(one for one in changes if one.direction == "faster").ratio == pytest.approx(0.5)


def test_the_same_file_ties_throughout():
    assert {one.direction for one in against(small(), small())} == {"tie"}


def test_a_difference_within_the_spread_is_a_tie_whatever_the_medians():
    wide = (1.0, 1.5, 0.7, 1.4, 0.8, 1.3, 0.9)
    new = results(rounds(cell(), 1.2, wide))
    old = results(rounds(cell(), 1.0, wide))
    (change,) = against(new, old)
    assert (change.direction, change.ratio) == ("tie", pytest.approx(1.2))
    assert change.chance > SIGNIFICANT


def test_medians_closer_than_five_percent_are_a_tie_however_sure():
    even = [1 + 1e-5 * number for number in range(9)]
    (change,) = against(results(rounds(cell(), 1.04, even)), results(rounds(cell(), 1.0, even)))
    assert change.direction == "tie" and change.ratio < LEAST_RATIO
    assert probability([1.04 * one for one in even], even) < 0.001


def test_too_few_rounds_say_so():
    (change,) = against(results(rounds(cell(), 2.0, (1, 1, 1))), results(rounds(cell(), 1.0, (1, 1, 1))))
    assert (change.direction, change.words()) == ("tie", "tie: 3 and 3 rounds are too few to tell")
    (same,) = against(results(rounds(cell(), 1.0, (1, 1, 1))), results(rounds(cell(), 1.0, (1, 1, 1))))
    assert same.words() == "tie"


def test_cells_of_one_file_only_are_listed():
    new = results(rounds(cell("raw"), 1.0), rounds(cell("bp5"), 1.0))
    old = results(rounds(cell("raw"), 1.0), rounds(cell("sion"), 1.0), rounds(cell("sion", ranks=2), 1.0))
    changes = against(new, old)
    assert [(one.cell.name, one.direction) for one in changes] == [
        ("raw", "tie"), ("bp5", "only new"), ("sion", "only old"), ("sion", "only old"),
    ]  # fmt: skip
    assert [one.ratio for one in changes[1:]] == [None] * 3
    assert [one.words() for one in changes[1:3]] == ["only in the new file", "only in the old file"]
    assert overview(changes).endswith("1 is in the new file only. 2 are in the old file only.")


def test_a_machine_of_half_the_speed_explains_the_changes_of_its_ways():
    slower = dict.fromkeys([*SPEED, "pwrite"], 2.0)
    changes = against(small(slower), small())
    variants = [one for one in changes if one.cell.role == "way"]
    assert {(one.direction, one.corrected) for one in variants} == {("slower", "tie")}
    assert variants[0].machine == pytest.approx(2.0)
    assert variants[0].words() == (
        "slower, takes 2.00 times as long; the machine itself became slower: its limit takes 2.00 times as long, "
        "which explains this change"
    )
    assert "10 of the changes have the ratio by which the machine itself changed" in overview(changes)
    limits = [one for one in changes if one.cell.role == "limit"]
    assert {one.words() for one in limits} == {"slower, takes 2.00 times as long"}


def test_a_way_that_became_slower_than_its_machine_is_still_slower():
    changes = against(small(dict.fromkeys(SPEED, 2.0) | {"pwrite": 2.0, "raw": 6.0}), small())
    raw = next(one for one in changes if one.cell.name == "raw")
    assert (raw.direction, raw.corrected) == ("slower", "slower")
    assert raw.words().endswith("relative to the machine it is slower, 3.00 times as long")


def test_a_way_that_stays_as_it_is_while_its_machine_becomes_faster_is_slower_relative_to_it():
    changes = against(small({"pwrite": 0.5}), small())
    raw = next(one for one in changes if one.cell.name == "raw")
    assert (raw.direction, raw.corrected) == ("tie", "slower")
    assert "the machine itself became faster" in raw.words()


def test_a_limit_within_its_spread_corrects_nothing():
    changes = against(small({"raw": 2.0, "pwrite": 1.03}), small())
    raw = next(one for one in changes if one.cell.name == "raw")
    assert (raw.machine, raw.corrected) == (1.0, "slower")
    assert raw.words() == "slower, takes 2.00 times as long"


def test_limits_of_another_setting_correct_nothing():
    new = results(rounds(cell("raw"), 2.0), rounds(cell("pwrite", ranks=2), 2.0))
    old = results(rounds(cell("raw"), 1.0), rounds(cell("pwrite", ranks=2), 1.0))
    raw = against(new, old)[0]
    assert (raw.machine, raw.corrected, raw.direction) == (None, "slower", "slower")
