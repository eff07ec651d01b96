"""`tailrace bench solver`: steps of boxes and channels."""

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness.bench_runs import cells, interrupted, refused, run
from tailrace.bench.compute.flow import FlowKind, MadeFlow, flow_of
from tailrace.bench.compute.rounds import ComputeSetting
from tailrace.bench.records.summary import rankings


def test_boxes_on_one_and_two_ranks(tmp_path):
    found = run(tmp_path, "solver", "--global", "16,12,20", "--ranks", "1,2", "--rounds", "2")
    assert not found.failures
    variants = cells(found)
    assert {(one.cell.source, one.cell.ranks, one.cell.shape) for one in variants} == {
        (flow, ranks, shape)
        for flow, shape in (("periodic", (16, 12, 20)), ("free-slip", (17, 13, 21)))
        for ranks in (1, 2)
    }
    for one in variants:
        assert (one.cell.operation, one.cell.name, one.cell.variables) == ("step", "auto", 3)
        for m in one.rounds:
            assert m.bytes == 0
            assert set(m.phases) == {"convection", "pressure", "transposes"}
            assert m.phases["convection"] > 0
            assert m.phases["pressure"] > 0
            assert m.counts["rows"] * m.counts["cols"] == one.cell.ranks
            assert m.counts["divergence"] < 1e-10
            assert m.counts["numbers_per_point"] > 3
    alone = [one for one in cells(found, "limit") if one.cell.name == "independent runs"]
    assert {(one.cell.source, one.cell.ranks) for one in alone} == {("periodic", 2), ("free-slip", 2)}
    by_setting = {ranking.setting: ranking for ranking in rankings(found)}
    assert all(by_setting[one.cell.setting].limits == (one,) for one in alone)
    assert {one.cell.name for one in cells(found, "limit")} == {
        "independent runs", "memory copy", "adding two arrays into a third",
    }  # fmt: skip


def test_a_channel_with_scalars_in_single_precision(tmp_path):
    words = ("--flow", "stretched,scalars=2", "--flow", "channel", "--transpose", "alltoall", "--precision", "float32")
    found = run(tmp_path, "solver", *words, "--local", "16,16,12", "--ranks", "1", "--rounds", "2")
    variants = cells(found)
    assert {(one.cell.source, one.cell.variables, one.cell.name, one.cell.shape) for one in variants} == {
        ("stretched,scalars=2", 5, "alltoall", (16, 17, 12)), ("channel", 3, "alltoall", (16, 17, 12)),
    }  # fmt: skip
    assert all(one.cell.precision == "float32" for one in variants)


def test_memory_is_that_of_the_fields(tmp_path):
    """Three fields of velocity, three of each of two right-hand sides, and work arrays: above the least, not far."""
    words = ("--flow", "periodic", "--transpose", "alltoall", "--global", "64,64,64", "--ranks", "1", "--rounds", "1")
    [variant] = cells(run(tmp_path, "solver", *words))
    assert 9 < variant.rounds[0].counts["numbers_per_point"] < 18


def test_a_flow_that_is_not_finite_is_a_failure():
    made = MadeFlow(FlowKind("periodic"), ComputeSetting("solver", 1, (12, 12, 12)), MPI.COMM_SELF, "alltoall")
    made.core.velocity(0)[...] = np.nan
    with pytest.raises(ValueError, match="the flow is not finite after 1 steps"):
        made.counts()


def test_interrupted(tmp_path):
    interrupted(tmp_path, "solver", "--global", "12,12,12", "--ranks", "2", "--rounds", "5000")


def test_flows():
    assert flow_of("stretched,scalars=3") == FlowKind("stretched", 3)
    assert flow_of("free-slip").word == "free-slip"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--flow", "pipe"], "--flow pipe: expected periodic, free-slip, channel, stretched, or a channel"),
        (["--flow", "periodic,scalars=1"], "--flow periodic,scalars=1: expected"),
        (["--flow", "channel,scalars=many"], "--flow channel,scalars=many: expected"),
        (["--precision", "half"], "--precision half: expected float64 or float32"),
        (["--transpose", "quick"], "--transpose quick: expected one of auto"),
    ],
)
def test_wrong_words(tmp_path, words, said):
    assert said in refused(tmp_path, "solver", *words)


def test_too_few_points_are_a_failed_cell(tmp_path):
    found = run(tmp_path, "solver", "--global", "2,16,16", "--flow", "periodic", "--ranks", "1", code=1)
    [failure] = found.failures
    assert "the compact schemes need at least" in failure.error
    assert {one.cell.operation for one in found.measurements} == {"copy", "add"}
