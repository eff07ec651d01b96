"""Results on a terminal, against results that are known."""

from __future__ import annotations

import io

from helpers.inputs.benchmarks import NOISE, cell, results, rounds, small
from tailrace.bench.records.records import Failure
from tailrace.bench.report.tables import print_tables


def printed(found):
    stream = io.StringIO()
    print_tables(found, stream)
    return stream.getvalue()


def rows(text, *names):
    """The first line of each name."""
    lines = text.splitlines()
    return [next(line for line in lines if line.startswith(name)) for name in names]


def test_ways_are_ranked_with_their_figures_and_shares_of_the_limit():
    text = printed(small())
    first = text.split("\n\n")[0].splitlines()
    assert first[0] == "write, 64 x 64 x 64, 1 rank, synced, scratch"
    names = [line.split()[0] for line in first[2:8]]
    assert names[0] == "raw" and names[-1] == "pwrite" and names[1:5] == ["bp5", "sion", "hdf5", "mpiio"]
    raw, limit = rows(text, "raw", "pwrite")
    assert "50 %" in raw and "limit" in limit and "%" not in limit
    # 3 variables of 64^3 values of 8 bytes in 0.5 s (2 GiB/s would take 0.003 s: the seconds are those of `small`).
    median = 3 * 8 * 64**3 / 2**30 / (0.5 * sorted(NOISE)[3])
    assert f"{median:.4f}" in raw


def test_the_fastest_is_marked_or_all_that_tie():
    tie = results(rounds(cell("raw"), 1.0), rounds(cell("bp5"), 1.01, NOISE[::-1]), rounds(cell("sion"), 2.0))
    raw, bp5, sion = rows(printed(tie), "raw", "bp5", "sion")
    assert " tie " in raw and " tie " in bp5 and " tie " not in sion
    assert "tie with bp5" in printed(tie)
    alone = results(rounds(cell("raw"), 1.0), rounds(cell("sion"), 2.0))
    raw, sion = rows(printed(alone), "raw", "sion")
    assert " fastest " in raw and " fastest " not in sion
    assert "Sure: sion, the next, takes 2.00 times as long" in printed(alone)


def test_phases_are_split_with_the_rest():
    text = printed(results(rounds(cell(), 1.0, (1, 1, 1), phases={"write": 0.6, "sync": 0.3})))
    assert "write 60, sync 30, the rest 10" in text


def test_doubts_failures_wrong_values_and_interruptions_are_said():
    groups = rounds(cell("bp5"), 1.0, (1, 1, 1, 2, 2, 2))
    wrong = rounds(cell("sion"), 0.1, verified=False)
    disturbed = rounds(cell("raw"), 1.0, disturbed={2: "another program"})
    failed = [Failure(cell("hdf5"), 1, "no space [bold]left[/bold] on\ndevice \x1b[31m", "run 1")]
    text = printed(results(groups, wrong, disturbed, failed, ended=False, notes=["results:9: left out"]))
    assert "! bp5: two groups of rounds: 3 near 1 s and 3 near 2 s." in text
    assert "! sion: wrong values in 7 of 7 rounds; it has no rank." in text
    assert "! raw: 1 of 7 rounds disturbed (another program)." in text
    assert "! hdf5: 1 round failed." in text
    assert "! hdf5: no space [bold]left[/bold] on device \\u001b[31m" in text
    assert "! The run of 2026-03-14T15:09:26+01:00 was interrupted: measurements may be missing." in text
    assert "! results:9: left out" in text
    assert "\x1b" not in text
    assert "Fastest: raw" in text  # sion is faster, but wrong


def test_what_moves_nothing_is_in_seconds():
    text = printed(results(rounds(cell("step"), 0.25, (1, 1, 1), bytes=0)))
    assert "min s" in text and "GiB/s" not in text and "Fastest: step, 250 ms" in text


def test_a_setting_of_failures_only_is_there():
    text = printed(results([Failure(cell("raw"), 1, "broken", "run 1")]))
    assert "write, 64 x 64 x 64, 1 rank, synced, scratch" in text and "No way could be ranked." in text


def test_disturbed_rounds_of_many_ways_share_a_line():
    groups = rounds(cell("mpiio"), 1.0, (1, 1, 1, 2, 2, 2))
    text = printed(
        results(*(rounds(cell(name), 1.0, disturbed={1: "noise"}) for name in ("raw", "bp5", "sion")), groups)
    )
    assert "! disturbed rounds: raw 1 of 7, bp5 1 of 7, sion 1 of 7 (such as: noise)." in text
    assert text.count("disturbed") == 1 and "! mpiio: two groups of rounds" in text


def test_limits_alone_are_no_verdict():
    text = printed(results(rounds(cell("pwrite"), 1.0), rounds(cell("raw", cache="direct"), 1.0)))
    assert "Only limits were measured." in text and "No way could be ranked" not in text
    assert "write, direct, scratch: the fastest" in text and "write, synced, scratch:" not in text


def test_the_tally_counts_settings():
    assert "write, synced, scratch: the fastest, alone or in a tie, is raw in 2 of 2 settings." in printed(small())
