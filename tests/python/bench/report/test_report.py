"""The HTML report, against results that are known; parsed by the standard library."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from helpers.inputs.benchmarks import GIB, NOISE, cell, results, rich_example, rounds, run, small
from tailrace.bench.records.records import Failure, Interruption
from tailrace.bench.records.results import BenchResults
from tailrace.bench.report.compare import against
from tailrace.bench.report.figures import seconds, significant
from tailrace.bench.report.flames import MOST_RANKS, calls
from tailrace.bench.report.overview import Overview
from tailrace.bench.report.report import ReportError, page, page_data, write_report

HOSTILE = """</script><script>alert("1")</script> & 'x' $name ${y} <!-- \x1b[31m \u2028 \ud800 é"""
_VOID = {"meta", "link", "br", "hr", "input"}


class Page(HTMLParser):
    """The elements of a page with their texts; every element that begins must end, in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts, self.attributes, self.cells = [], [], {}, [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] in (["td"], ["th"]):
            self.cells.append(data)
        for tag in set(self.open):
            self.texts[tag] = self.texts.get(tag, "") + data

    def values(self, tag, name):
        return [value for owner, key, value in self.attributes if (owner, key) == (tag, name)]


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def panel(found, section, **choice):
    data = page_data(Overview(found), [])
    return next(one for one in data["sections"][section] if choice.items() <= one["choice"].items())


@pytest.mark.parametrize(
    "found",
    [
        results(),
        results(rounds(cell(), 1.0, (1.0,))),
        results(rounds(cell(), 0.0, (1.0,))),
        results([Failure(cell(), 1, "broken", "run 1")]),
        results(rounds(cell("step", points=()), 1.0, bytes=0)),
        small(),
        rich_example(),
    ],
    ids=["nothing", "one round", "no time", "one failure", "no bytes", "small", "rich"],
)
def test_a_page_is_whole_and_refers_to_nothing_else(found):
    text = page(found, small())
    parsed = Page(text)
    assert not re.search(r"https?:|//[\w.]+/|@import|url\(", text.partition("<body>")[0])
    assert not {"link", "img", "iframe", "object", "base"} & set(parsed.tags)
    assert not parsed.values("script", "src")
    assert all(value.startswith("#") for value in parsed.values("a", "href"))
    targets = {value for _, key, value in parsed.attributes if key == "id"}
    assert {value[1:] for value in parsed.values("a", "href")} <= targets
    assert not [one for one in parsed.attributes if one[1].startswith("on") or one[1] == "style"]


def test_the_script_of_the_page_loads_nothing_and_makes_no_elements_of_texts():
    script = re.search(r"<script>(.*?)</script>", page(small()), re.DOTALL)[1]
    assert "class Section" in script
    assert not re.search(r"https?:|fetch\(|XMLHttp|import\b|innerHTML|insertAdjacent|document\.write|eval\(", script)


def test_the_data_of_the_page_are_those_that_were_computed():
    new, old = rich_example(2.0), rich_example()
    computed = page_data(Overview(new), against(new, old))
    assert data_of(page(new, old)) == json.loads(json.dumps(computed))
    assert set(computed["ways"]) >= {"raw", "hdf5", "bp5", "mpiio", "sion", "raw aggregators=node"}
    assert computed["limits"] == ["pwrite", "pread"]


def test_names_and_errors_of_any_characters_stay_texts():
    odd = cell(HOSTILE, directory=HOSTILE, parameters=((HOSTILE, HOSTILE),))
    stacks = {f"rank 0;{HOSTILE.replace(';', '')}": 0.5}
    measured = rounds(odd, 1.0, phases={HOSTILE: 0.5}, disturbed={1: HOSTILE}, stacks=stacks)
    measured += rounds(cell(HOSTILE, directory=HOSTILE, cache=HOSTILE, role="limit"), 1.0)
    odd_run = run("run 1", command=HOSTILE, machine={HOSTILE: HOSTILE}, notes=[HOSTILE], began=HOSTILE)
    found = BenchResults([odd_run, *measured, Failure(odd, 9, HOSTILE, "run 1")], [HOSTILE])
    text = page(found, found)
    parsed = Page(text)
    assert parsed.tags.count("script") == 2 and parsed.tags.count("style") == 1
    shown = HOSTILE.replace("\x1b", r"\u001b").replace("\ud800", r"\ud800").replace("\u2028", r"\u2028")
    for tag in ("dd", "th", "td", "li", "h3", "summary", "title"):
        assert "</script" not in re.search(rf"<{tag}.*?</{tag}>", text, re.DOTALL)[0]
    for tag in ("dd", "th", "td", "li", "h3"):
        assert shown in parsed.texts[tag]
    assert "\x1b" not in text and text.encode("utf-8")
    assert data_of(text)["ways"] == [HOSTILE]


def test_the_policy_of_the_page_names_its_own_script_and_style():
    text = page(small())
    policy = next(value for value in Page(text).values("meta", "content") if "default-src" in value)
    for tag in ("script", "style"):
        source = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_the_heading_says_where_when_and_what_went_wrong():
    parsed = Page(page(rich_example()))
    for words in ("Example 9000", "256.0 GiB", "Open MPI 4.1.4", "tailrace bench io --ranks 1,2,4", "/scratch/bench"):
        assert words in parsed.texts["dd"]
    assert "was interrupted" in parsed.texts["header"] and "line is not whole" in parsed.texts["header"]
    assert "was interrupted" not in Page(page(small())).texts["header"]


def first_lines(text):
    return re.findall(r"<p[^>]*>(.*?)</p>", text.partition("</h1>")[2].replace("<strong>", "").replace("</strong>", ""))


def test_the_page_begins_with_what_to_use_here():
    verified = {"verified": True, "bytes": GIB}
    writes = [*rounds(cell("raw"), 2.0, **verified), *rounds(cell("bp5"), 1.0, **verified)]
    reads = [*rounds(cell("raw", operation="read", cache="cold"), 1.0)]
    assert first_lines(page(results(writes, reads)))[0] == (
        "Use here: for writing fields, bp5 (sure); for reading fields, raw (the fastest, alone or in a tie, in 1 of 1 "
        "setting)."
    )
    unread = results(rounds(cell("raw"), 1.0))
    assert first_lines(page(unread))[0].startswith("Use here: for writing fields, nothing yet, because no way wrote")
    assert first_lines(page(results()))[0] == "Nothing was measured that could tell what to use here."


def test_what_others_have_done_is_nothing_to_use_here():
    """Other programs, Darshan's layers below our engines, and the fastest way of the bench of memory."""
    verified = {"verified": True, "bytes": GIB}
    ours = [*rounds(cell("raw"), 1.0, **verified), *rounds(cell("raw", operation="read", cache="cold"), 2.0)]
    theirs = [
        *rounds(cell("IOR POSIX", operation="read", cache="cold"), 1.0),
        *rounds(cell("benchio HDF5", source="benchio"), 1.0),
        *rounds(cell("Darshan POSIX", operation="meta", cache=""), 0.1),
        *rounds(replace(cell("bp5"), bench="memory"), 0.1, counts={"private": 9e9, "shared": 0.0}),
    ]
    assert first_lines(page(results(ours, theirs)))[0] == "Use here: for writing fields, raw (not sure)."


def test_an_interrupted_run_is_the_first_line():
    told = Interruption("run 1", "2026-03-14T15:10:00+01:00", "Ctrl-C", "3 of 4 measurements")
    found = results(rounds(cell("raw"), 1.0), [told], ended=False)
    assert first_lines(page(found))[0] == (
        "The run of 2026-03-14T15:09:26+01:00 was interrupted by Ctrl-C. Missing: 3 of 4 measurements."
    )


def test_the_verdict_names_the_fastest_its_ties_and_doubts():
    tie = results(
        rounds(cell("raw"), 1.0), rounds(cell("bp5"), 1.01, NOISE[::-1]), rounds(cell("sion"), 2.0),
        rounds(cell("pwrite"), 0.5), rounds(cell("hdf5"), 0.1, verified=False),
    )  # fmt: skip
    article = Page(page(tie)).texts["article"]
    assert "Fastest: raw" in article and "50 % of the limit pwrite; tie with bp5" in article
    assert "Sure: sion, the next, takes 2.00 times as long" in article
    assert "hdf5: wrong values in 7 of 7 rounds; it has no rank." in article


def test_three_rounds_do_not_decide():
    three = results(rounds(cell("raw"), 1.0, (1, 1, 1)), rounds(cell("sion"), 2.0, (1, 1, 1)))
    assert "Not sure: ways can be told apart from 4 rounds of each on." in Page(page(three)).texts["article"]


def test_a_weak_scaling_of_flows_with_ends():
    """Which have one node more, of the whole: 129 nodes on one rank, 257 on two."""
    shapes = (((65, 65, 65), 1), ((65, 65, 129), 2), ((65, 129, 129), 4))
    found = results(*(rounds(cell(points=points, ranks=ranks), 1.0) for points, ranks in shapes))
    (weak,) = [
        one
        for one in page_data(Overview(found), [])["sections"]["ranks"]
        if one["choice"]["scaling"].startswith("weak")
    ]
    assert [one["x"] for one in weak["lines"][0]["points"]] == [1, 2, 4]


def test_strong_and_weak_scaling_are_told_apart():
    parts = []
    for points, ranks in (((64, 64, 64), 1), ((64, 64, 64), 2), ((64, 64, 128), 2), ((64, 64, 256), 4)):
        parts.append(rounds(cell(points=points, ranks=ranks), 1.0))
    found = results(*parts)
    scalings = [one["choice"]["scaling"] for one in page_data(Overview(found), [])["sections"]["ranks"]]
    assert scalings == ["strong: 64 x 64 x 64", "weak: 64 x 64 x 64 per rank"]
    (weak,) = panel(found, "ranks", scaling=scalings[1])["lines"]
    assert [one["x"] for one in weak["points"]] == [1, 2, 4]
    (size,) = panel(found, "size", ranks="2 ranks")["lines"]
    assert [one["x"] for one in size["points"]] == [3 * 8 * 64**3, 2 * 3 * 8 * 64**3]


def test_points_are_bandwidths_with_their_spread():
    found = results(rounds(cell(), 0.5, (1.0, 2.0, 4.0), bytes=2**30), rounds(cell("pwrite"), 0.25, bytes=2**30))
    variant, limit = panel(found, "ranks")["lines"]
    assert [variant["points"][0][key] for key in ("low", "y", "high")] == [0.5, 1.0, 2.0]
    assert (variant["limit"], limit["limit"], limit["name"]) == (False, True, "pwrite")


def test_decompositions_of_the_same_ranks_are_beside_the_curve():
    found = results(
        rounds(cell(ranks=4, decomposition=(1, 1, 4)), 1.0), rounds(cell(ranks=4, decomposition=(1, 2, 2)), 0.5),
        rounds(cell(ranks=2), 1.0),
    )  # fmt: skip
    (line,) = panel(found, "ranks")["lines"]
    assert [one["x"] for one in line["points"]] == [2, 4] and [one["x"] for one in line["beside"]] == [4]
    assert line["points"][1]["y"] == pytest.approx(2 * line["beside"][0]["y"])


def test_shares_phases_files_and_rounds_of_a_way():
    phases = {"write": 0.5, "sync": 0.25}
    counts = {"files": 3, "stored": 3 * 2**20}
    found = results(
        rounds(cell(), 1.0, (1, 1, 1), phases=phases, counts=counts, disturbed={3: "noise"}),
        rounds(cell("pwrite"), 0.5, (1, 1, 1)),
    )
    (share,) = panel(found, "share")["rows"]
    assert share["parts"][0]["value"] == pytest.approx(50)
    (phase,) = panel(found, "phases")["rows"]
    assert {part["key"]: part["value"] for part in phase["parts"]} == {**phases, "the rest": 0.25}
    assert panel(found, "files", shown="files")["rows"][0]["parts"][0]["value"] == 3
    stored = panel(found, "files", shown="stored bytes")
    assert (stored["unit"], stored["rows"][0]["parts"][0]["value"]) == ("MiB", 3)
    dots = panel(found, "rounds")["rows"][0]["dots"]
    assert [one["marked"] for one in dots] == [False, False, True] and "noise" in dots[2]["text"]


def test_counts_without_a_chart_are_in_the_table():
    found = results(rounds(cell(), 1.0, counts={"dropped": 4, "files": 1}))
    assert "dropped 4" in Page(page(found)).cells


def test_each_benchmark_has_a_table_of_its_own_phases():
    other = replace(cell("sst"), bench="couple")
    found = results(rounds(cell(), 1.0, phases={"sync": 0.5}), rounds(other, 1.0, phases={"wait": 0.25}))
    one, two = Page(page(found)).texts["caption"].split("Seconds by phase (medians), ")[1:]
    assert one.startswith("io") and two.startswith("couple")
    heads = re.findall(r"medians\), \w+</caption><thead>(.*?)</thead>", page(found))
    assert ["sync" in head for head in heads] == [True, False] and ["wait" in head for head in heads] == [False, True]


def test_two_groups_of_rounds_are_said_below_their_chart():
    found = results(rounds(cell(), 1.0, (1, 1, 1, 2, 2, 2)))
    assert panel(found, "rounds")["notes"] == ["raw: two groups of rounds: 3 near 1 s and 3 near 2 s"]


def test_flame_graphs_are_of_the_median_round():
    stacks = {"rank 0;write": 0.5, "rank 0;write;sync": 0.25, "rank 1;write": 1.0}
    measured = rounds(cell(ranks=2), 1.0, (1.0, 3.0, 2.0))
    found = results([replace(one, stacks={**stacks, "rank 1;close": one.seconds}) for one in measured])
    graph = panel(found, "flames")
    assert "round 3" in graph["title"]
    assert graph["flame"] == [
        "all ranks", 3.75, [
            ["rank 0", 0.75, [["write", 0.75, [["sync", 0.25, []]]]]],
            ["rank 1", 3.0, [["write", 1.0, []], ["close", 2.0, []]]],
        ],
    ]  # fmt: skip
    assert calls(stacks)["write"] == (0.75, 0.875, 1.0) and calls(stacks)["write;sync"] == (0.0, 0.125, 0.25)


def test_a_round_that_does_not_count_may_have_the_only_stacks():
    first, *others = rounds(cell(), 1.0)
    traced = replace(first, round=0, seconds=9.0, stacks={"rank 0;write": 8.5})
    found = results([traced, *others])
    graph = panel(found, "flames")
    assert graph["title"].endswith("round 0") and graph["flame"][1] == 8.5
    assert graph["notes"][0] == "The round took 9.00 s; the median is 1.01 s." and "does not count" in graph["notes"][1]
    assert panel(found, "rounds")["rows"][0]["middle"] == pytest.approx(1.0075)


def test_of_many_ranks_a_flame_graph_has_some_from_the_fastest_to_the_slowest():
    stacks = {f"rank {rank};write": 1.0 + rank for rank in range(100)}
    graph = panel(results(rounds(cell(ranks=100), 100.0, stacks=stacks)), "flames")
    names = [one[0] for one in graph["flame"][2]]
    assert len(names) == MOST_RANKS and {"rank 0", "rank 99"} <= set(names)
    assert "16 of 100 ranks" in graph["notes"][1]


def test_all_figures_are_in_tables():
    found = rich_example()
    parsed = Page(page(found))
    cells, text = set(parsed.cells), "\n".join(parsed.cells)
    for verdict in Overview(found).verdicts:
        for one in verdict.members:
            for value in (
                one.seconds.median,
                *(one.rate.median / 2**30, one.rate.least / 2**30, one.rate.most / 2**30),
            ):
                assert significant(value) in cells
            assert all(significant(value) in cells for value in one.phases.values())
            assert all(f"{each.round}: {seconds(each.seconds)}" in text for each in one.rounds)
    failed = {one.cell for one in found.failures}
    assert len(failed) > 1 and {"1, 2", found.failures[0].error} <= cells
    assert parsed.texts["table"].count('expected 4 "chunks" <of> ranks, found 3 & no more') == len(failed)


def test_a_comparison_lists_what_became_slower():
    parsed = Page(page(small({"hdf5": 2.0}), small()))
    assert "2 are slower" in parsed.texts["p"]
    assert parsed.texts["li"].count("slower, takes 2.00 times as long") == 2
    data = data_of(page(small({"hdf5": 2.0}), small()))
    marked = [row["label"] for one in data["sections"]["compare"] for row in one["rows"] if row["dots"][0]["marked"]]
    assert marked == ["hdf5", "hdf5"]


def test_ways_of_one_name_are_told_apart_by_their_parameters():
    found = results(*(rounds(cell(parameters=(("sync", value),)), 1.0) for value in ("on", "off")))
    assert page_data(Overview(found), [])["ways"] == ["raw (sync=on)", "raw (sync=off)"]


def test_two_thousand_cells_make_one_page():
    parts = [
        rounds(cell(name, ranks=ranks, points=(8 * number, 8, 8), cache=cache), 1.0 / ranks, (1.0, 1.1, 0.9))
        for number in range(1, 21) for ranks in (1, 2, 4, 8, 16) for cache in ("synced", "direct")
        for name in ("raw", "hdf5", "bp5", "mpiio", "sion", "pwrite", *(f"way {at}" for at in range(4)))
    ]  # fmt: skip
    text = page(results(*parts))
    Page(text)
    assert len(data_of(text)["sections"]["rounds"]) == 200 and len(text) < 8e6


def test_only_reports_of_ours_are_replaced(tmp_path):
    path = tmp_path / "new" / "report.html"
    write_report(small(), path)
    first = path.read_text(encoding="utf-8")
    write_report(rich_example(), path)
    assert path.read_text(encoding="utf-8") != first and list(path.parent.iterdir()) == [path]
    path.write_text("<html>mine</html>")
    with pytest.raises(ReportError, match=r"report\.html is there already.*choose another name by -o"):
        write_report(small(), path)
    assert path.read_text() == "<html>mine</html>"
    with pytest.raises(ReportError):
        write_report(small(), tmp_path)
