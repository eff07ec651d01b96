"""The intervals of checkpoints, by hand and by the figures of their papers."""

import math

import pytest

from tailrace.bench.advise.interval import daly, interval_of, lost_share, young


def test_youngs_interval():
    assert young(300, 86400) == pytest.approx(7200)  # sqrt(2 * 5 min * 1440 min) = 120 min
    assert young(2, 100) == pytest.approx(20)


@pytest.mark.parametrize(("failure", "minutes", "digits"), [(1440, 117, 0), (360, 57, 0), (15, 9.1, 1)])
def test_dalys_interval_is_that_of_his_figures(failure, minutes, digits):
    """Figures 3 to 5 of Daly (2006): checkpoints of 5 minutes."""
    assert round(daly(5, failure), digits) == minutes


def test_dalys_interval_by_hand():
    # C = 2, M = 100: 20 (1 + 0.1 / 3 + 0.01 / 9) - 2
    assert daly(2, 100) == pytest.approx(20 * (1 + 0.1 / 3 + 0.01 / 9) - 2)
    assert daly(200, 100) == daly(500, 100) == 100


def test_dalys_interval_loses_least():
    for cost, failure in ((2.0, 100.0), (5.0, 86400.0), (60.0, 3600.0)):
        tried = (young(cost, failure) * k / 1000 for k in range(1, 3001))
        best = min(tried, key=lambda one: lost_share(one, cost, failure))
        least = lost_share(best, cost, failure)
        assert lost_share(daly(cost, failure), cost, failure) == pytest.approx(least, rel=1e-3)
    # Small intervals and costs: C / t + t / 2 M
    assert lost_share(7200, 5, 8640000) == pytest.approx(5 / 7200 + 7200 / 2 / 8640000, rel=0.01)
    assert interval_of(5, 86400).lost == pytest.approx(math.sqrt(2 * 5 / 86400), rel=0.02)


@pytest.mark.parametrize(("cost", "failure"), [(0, 1), (1, 0), (-1, 1), (float("nan"), 1)])
def test_an_interval_needs_positive_numbers(cost, failure):
    with pytest.raises(ValueError, match="above 0 s"):
        interval_of(cost, failure)


def test_a_checkpoint_that_takes_longer_than_the_machine_lives_loses_all():
    assert interval_of(1e6, 1.0).lost == 1.0
    assert 0.99 < lost_share(1.0, 10.0, 1.0) < 1
