"""What can be said of repeated measurements."""

import itertools
import math

import pytest

from tailrace.bench.records.records import Cell, Measurement
from tailrace.bench.records.results import BenchResults
from tailrace.bench.records.summary import Spread, differ, probability, rankings, share, summarise


def rounds(name, seconds, *, role="way", verified=True, first=1, **more):
    cell = Cell("io", "write", name, "" if role == "limit" else name, role=role, cache="synced", **more)
    return [
        Measurement(cell, number, one, 1000, verified=verified if number else None)
        for number, one in enumerate(seconds, first)
    ]


def test_probability_by_counting_all_orders():
    """Against the definition: of all ways to share the ranks among two samples, those that are as extreme or more."""
    for n, m in ((3, 3), (2, 5), (4, 5)):
        values = range(n + m)

        def wins(chosen, values=values):
            rest = [value for value in values if value not in chosen]
            return sum(a < b for a in chosen for b in rest)

        every = [wins(chosen) for chosen in itertools.combinations(values, n)]
        for chosen in itertools.combinations(values, n):
            rest = [value for value in values if value not in chosen]
            extreme = min(wins(chosen), n * m - wins(chosen))
            expected = min(1.0, 2 * sum(one <= extreme for one in every) / math.comb(n + m, n))
            assert probability(chosen, rest) == pytest.approx(expected, rel=1e-12)


def test_probability_with_ties_by_counting():
    """Against all ways to share the values among two samples; an equal pair is half a win."""
    assert probability([1, 2, 3, 5], [5, 6, 7, 8]) == pytest.approx(4 / 70)

    def wins(one, other):
        return sum((a < b) + 0.5 * (a == b) for a in one for b in other)

    for values in ((1, 2, 2, 3, 4, 5), (1, 1, 1, 2, 2, 2), (3, 3, 3, 3, 3, 3), (1, 1, 2, 3, 3, 3, 9)):
        pairs, most = [], 3 * (len(values) - 3)
        for chosen in itertools.combinations(range(len(values)), 3):
            one = [values[at] for at in chosen]
            pairs.append((one, [values[at] for at in range(len(values)) if at not in chosen]))
        for one, other in pairs:
            extreme = min(wins(one, other), most - wins(one, other))
            exact = sum(min(wins(*pair), most - wins(*pair)) <= extreme for pair in pairs) / len(pairs)
            assert probability(one, other) == pytest.approx(exact, rel=1e-12)


def test_two_groups_of_rounds():
    found = Spread((1.0, 2.2, 1.1, 2.3, 1.05)).groups
    assert found is not None
    assert (found.lower, found.upper) == ((1.0, 1.05, 1.1), (2.2, 2.3))
    assert Spread((1.0, 1.1, 1.2, 1.3, 9.0)).groups is None  # an outlier is no group
    assert Spread((1.0, 1.2, 1.4, 1.6, 1.8)).groups is None  # no gap
    assert Spread((1.0, 1.01, 1.2, 1.21)).groups is None  # a gap too small to matter
    [summary] = summarise(rounds("raw", (1.0, 2.2, 1.1, 2.3, 1.05)))
    assert summary.doubt == "two groups of rounds: 3 near 1.05 s and 2 near 2.25 s"


def test_ranking_with_ties_limits_and_wrong_values():
    measurements = [
        *rounds("raw", (1.0, 1.1, 1.2, 1.05, 1.15)),
        *rounds("hdf5", (1.08, 1.12, 1.02, 1.2, 1.13)),
        *rounds("bp5", (2.0, 2.1, 2.2, 2.05, 2.15)),
        *rounds("sion", (0.1, 0.1, 0.1, 0.1, 0.1), verified=False),
        *rounds("pwrite", (0.9, 0.8, 0.85, 0.95, 0.9), role="limit"),
    ]
    [ranking] = rankings(BenchResults(measurements))
    assert [one.cell.name for one in ranking.variants] == ["raw", "hdf5", "bp5"]
    assert [one.cell.name for one in ranking.best] == ["raw", "hdf5"]
    assert share(ranking.variants[0], ranking.limits) == pytest.approx(0.9 / 1.1)


def test_the_first_round_does_not_count():
    measurements = rounds("raw", (50.0, 1.0, 1.1), first=0)
    [summary] = summarise(measurements)
    assert summary.seconds.most == 1.1
    assert not summarise(measurements[:1])


def test_close_medians_are_a_tie_however_sure():
    one, other = (summarise(rounds("raw", [base + k * 1e-4 for k in range(9)]))[0] for base in (1.0, 1.04))
    assert not differ(one, other)
    assert probability(one.seconds.values, other.seconds.values) < 1e-3


def test_ways_that_move_different_bytes_are_ranked_by_the_byte():
    """As tests of a given time, and streams that leave steps out: the seconds alone say nothing."""
    few = rounds("few", (1.0, 1.01, 1.02, 1.03, 1.04))
    many = [
        Measurement(one.cell, one.round, one.seconds, 10 * one.bytes, verified=True)
        for one in rounds("many", (2.0, 2.01, 2.02, 2.03, 2.04))
    ]
    (ranking,) = rankings(BenchResults([*few, *many]))
    assert [one.cell.name for one in ranking.variants] == ["many", "few"]
    assert ranking.best == ranking.variants[:1]
    assert ranking.variants[0].cost.median == pytest.approx(2.02 / 10000)
    nothing = [Measurement(one.cell, one.round, one.seconds, 0) for one in few]
    assert summarise(nothing)[0].cost.median == 1.02, "without bytes, the seconds"
