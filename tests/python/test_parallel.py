"""The number of ranks and their arrangement change nothing; failures on one rank are raised on all."""

import errno

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness.kept import KEPT
from helpers.inputs import cases
from helpers.programs.series import parallel_programs
from tailrace.core import IoError
from tailrace.parallel import agree, on_root

RANKS = (1, 2, 3, 4, 6)
STEPS = 50


def computed(directory, case, ranks, methods):
    given = {"case": str(case), "result": str(directory / f"{ranks}.npz"), "methods": methods}
    KEPT.ranks(ranks).results(parallel_programs.compute_on_every_process_grid, limit=200, **given)
    results = {}
    with np.load(given["result"]) as file:
        for key in file.files:
            label, _, name = key.partition("/")
            results.setdefault(label, {})[name] = file[key]
    return results


@pytest.mark.parametrize(
    "box, methods",
    [("periodic", ["alltoall", "subarray"]), ("free-slip", ["shared"]), ("mixed", ["shared", "alltoall"])],
)
def test_fields_are_the_same_on_every_process_grid(tmp_path, box, methods):
    case = cases.write_case(tmp_path, box, steps=STEPS)
    alone = computed(tmp_path, case, 1, ["alltoall"])["1x1-alltoall"]
    for one, other in (("ux", "uy"), ("uy", "uz"), ("ux", "uz")):
        assert abs(alone[one] - alone[other]).max() > 0.1, "a symmetric flow would hide mistakes"
    worst, bitwise, count, divergence = 0.0, 0, 0, alone["divergence"].max()
    for ranks in RANKS[1:]:
        results = computed(tmp_path, case, ranks, methods)
        assert len(results) == len(methods) * sum(ranks % rows == 0 for rows in range(1, ranks + 1))
        for label, result in results.items():
            for name in ("ux", "uy", "uz", "pressure", "vorticity_x", "q"):
                error = abs(result[name] - alone[name]).max() / max(1.0, abs(alone[name]).max())
                assert error <= 1e-12, f"{name} on {label}"
                worst = max(worst, error)
            # Sums over the ranks are added in another order.
            ours, theirs = (
                np.nan_to_num(result["numbers"]),
                np.nan_to_num(alone["numbers"]),
            )  # the residual is not there
            assert abs(ours / np.where(theirs == 0, 1, theirs) - (theirs != 0)).max() < 1e-12, label
            assert len(result["divergence"]) == STEPS
            divergence = max(divergence, result["divergence"].max())
            count += 1
            bitwise += all(result[name].tobytes() == alone[name].tobytes() for name in ("ux", "uy", "uz"))
    print(f"{box}: fields within {worst:.1e}, {bitwise} of {count} bitwise equal; max |div u| L / U = {divergence:.1e}")
    assert divergence <= 1e-11


def test_failures_are_shared(three):
    three.results(parallel_programs.share_failures, limit=60)


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_are_compared_without_gathering(ranks):
    KEPT.ranks(ranks).results(parallel_programs.compare_ranks, limit=60)


@pytest.mark.parametrize("ranks", [1, 3, 6])
def test_extremes_where_ranks_have_no_value(ranks, tmp_path):
    KEPT.ranks(ranks).results(parallel_programs.extremes_of_small_fields, limit=60, path=str(tmp_path / "a.h5"))


@pytest.mark.parametrize("shared", [agree, on_root])
def test_a_failure_of_the_system_is_an_io_error_that_names_the_file(shared, tmp_path):
    """Also on one rank: callers know one type."""
    for work in (lambda: (tmp_path / "none").stat(), lambda: (tmp_path / "none").open()):
        with pytest.raises(IoError) as caught:
            shared(MPI.COMM_SELF, work)
        assert str(caught.value) == f"{tmp_path}/none: No such file or directory"


@pytest.mark.parametrize("shared", [agree, on_root])
@pytest.mark.parametrize("error", [OSError("of a user"), ValueError(errno.EIO), IoError("of ours")])
def test_other_errors_stay_what_they_are(shared, error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        shared(MPI.COMM_SELF, fail)
    assert type(caught.value) is type(error) and str(caught.value) == str(error)
