"""Whether curves are taken for steady: against curves whose scales are known."""

import re

import numpy as np

from tailrace.live_page.steadiness import steadiness


def ornstein_uhlenbeck(times, scale, seed):
    """Random values with deviation 1 and the correlation exp(-t / scale), of which the integral scale is `scale`."""
    kept = np.exp(-(times[1] - times[0]) / scale)
    values = np.random.default_rng(seed).standard_normal(len(times))
    for at in range(1, len(values)):
        values[at] = kept * values[at - 1] + np.sqrt(1 - kept**2) * values[at]
    return values


def test_how_steady_a_curve_is():
    x = np.concatenate([np.linspace(0, 60, 50), np.linspace(60.1, 100, 900)])  # steps become smaller
    steady = steadiness(x, 2.0 + 0.1 * np.sin(2 * np.pi * x / 5))
    assert steady.startswith("from 50") and "mean 2 " in steady and "deviation 0.07" in steady, steady
    assert "0.0% of it" in steady and "<b>steady" in steady
    rising = steadiness(x, x)
    assert "mean 75.1" in rising and "changes by 25 (33.2% of it)" in rising and "not known to be steady" in rising
    assert "of that" in steadiness(x, np.sin(2 * np.pi * x / 5)), "of nothing there are no percents"
    assert "nine digits" in steadiness(x, np.full(len(x), 3.0)) and "nine digits" in steadiness(x, 0.0 * x)
    assert steadiness(x[:3], x[:3]) == "" and steadiness(x, np.full(len(x), np.nan)) == ""


def test_steady_is_what_chance_allows():
    """The number of independent values, 500 of a half with integral scale 0.5; a step of the mean."""
    x = np.linspace(0, 1000, 20001)
    noise = ornstein_uhlenbeck(x, 0.5, 1)
    told = steadiness(x, 5 + noise)
    assert 350 < float(re.search(r"about (\d+) independent", told)[1]) < 700, told
    assert "<b>steady" in told and 0.03 < float(re.search(r"± (\S+),", told)[1]) < 0.06
    assert "<b>not steady: chance alone" in steadiness(x, 5 + noise + 0.6 * (x > 750))
    quiet = [steadiness(x[:4001], ornstein_uhlenbeck(x[:4001], 0.5, seed)) for seed in range(40)]
    assert sum("<b>steady" in one for one in quiet) >= 36, "of steady curves few are taken for others"
