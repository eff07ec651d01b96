"""`tailrace bench memory`: what a rank needs besides its own block."""

import numpy as np
import pytest

from helpers.harness.bench_runs import cells, interrupted, refused, run
from tailrace.bench.output import peak as peaks
from tailrace.bench.output.peak import Peak

BLOCK = 128 * 128 * 128 * 8  # 16 MiB, far above what libraries take for themselves


def test_buffers_are_copies_of_the_block(tmp_path):
    words = ("--local", "128,128,128", "--engine", "raw", "--engine", "hdf5", "--buffers", "3", "--rounds", "2")
    found = run(tmp_path, "memory", *words, "--ranks", "1,2")
    assert not found.failures
    variants = cells(found)
    assert {(one.cell.name, one.cell.ranks) for one in variants} == {
        (name, ranks) for name in ("raw", "raw,buffers=3", "hdf5", "hdf5,buffers=3") for ranks in (1, 2)
    }
    for one in variants:
        copies = 3 if "buffers" in one.cell.name else 0
        assert one.cell.steps == 2 + copies
        for m in one.rounds:
            assert m.bytes == BLOCK * one.cell.ranks * one.cell.steps
            assert m.counts["block"] == BLOCK
            least = min(copies, 1)  # a disk that is fast enough leaves buffers unused
            assert least - 0.05 < m.counts["private"] / BLOCK < copies + 0.4, one.cell
            assert set(m.counts) == {"private", "shared", "block", "sampled"}


def test_a_copy_of_an_engine_is_seen(tmp_path):
    words = ("--local", "128,128,128", "--ranks", "2", "--buffers", "0", "--engine", "bp4")
    [one] = cells(run(tmp_path, "memory", *words))
    assert 0.9 < one.rounds[0].counts["private"] / BLOCK < 2.5  # ADIOS2 copies the block


@pytest.mark.parametrize("kept", [True, False])
def test_peak(monkeypatch, tmp_path, kept):
    """Memory that is taken and given back within the block counts, by the kernel's peak and by looking often."""
    if not kept:
        monkeypatch.setattr(peaks, "Path", lambda path: tmp_path / "nowhere" / "x" if "clear" in path else real(path))
    real = peaks.Path if kept else type(tmp_path)
    before = np.ones(10**6)
    with Peak() as peak:
        for _ in range(20):
            values = np.ones(8 * 10**6)
            values += 1
            del values
    assert peak.sampled is not kept
    assert 0.9 * 64e6 < peak.private < 1.3 * 64e6
    assert peak.shared == 0
    assert before[0] == 1


def test_interrupted(tmp_path):
    found = interrupted(tmp_path, "memory", "--global", "8,8,8", "--ranks", "2", "--rounds", "2000", "--engine", "raw")
    assert {one.cell.bench for one in found.measurements} == {"memory"}


def test_wrong_words(tmp_path):
    assert "expected three numbers" in refused(tmp_path, "memory", "--global", "8,8")
