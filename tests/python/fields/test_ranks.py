"""Operators of fields give the same on any number of ranks, in slabs and pencils, on grids that do not divide."""

import pytest

from helpers.harness.kept import KEPT
from helpers.harness.workers import Workers
from helpers.programs import field_programs


@pytest.fixture(scope="module", params=[1, 2, 3, 4, 6])
def ranks(request: pytest.FixtureRequest) -> Workers:
    """So many ranks that wait for cases."""
    return KEPT.ranks(request.param)


# Of the smaller grid some ranks get no modes and no cells.
@pytest.mark.parametrize(("nodes", "periodic"), [((8, 9, 10), True), ((12, 10, 15), False)])
def test_any_decomposition(ranks, nodes, periodic):
    counts = ranks.results(field_programs.compare, limit=60, nodes=nodes, periodic=periodic, single=False)
    assert min(counts) > 80


@pytest.mark.parametrize("nodes", [(12, 10, 1), (12, 1, 15), (1, 10, 15), (1, 1, 9)])
@pytest.mark.parametrize("periodic", [True, False])
def test_directions_of_one_point(ranks, nodes, periodic):
    counts = ranks.results(field_programs.compare, limit=60, nodes=nodes, periodic=periodic, single=False)
    assert min(counts) > 80


def test_stretched_points(ranks):
    counts = ranks.results(
        field_programs.compare, limit=60, nodes=(12, 10, 15), periodic=False, single=False, stretched=True
    )
    assert min(counts) > 70


def test_single_precision(ranks):
    ranks.results(field_programs.compare, limit=60, nodes=(12, 10, 15), periodic=True, single=True)


def test_errors_are_those_of_all(ranks):
    for texts in ranks.results(field_programs.wrong):
        for text in texts[:2]:
            assert "the ranks have different probes" in text or ranks.size == 1
        assert "probe 0" in texts[2]
        assert "index 99 in z" in texts[3]
        assert "no field 'a' among b" in texts[4]
