"""Damaged files of the Pencil Code: each ends in a clear error or in correct reading."""

import os
import struct
import tracemalloc

import numpy as np
import pytest
from mpi4py import MPI

from helpers.inputs.pencil_runs import HandMade
from tailrace import core as _core
from tailrace.formats.pencil import dataset_at
from tailrace.formats.pencil.run.parameters import parse_parameters
from tailrace.io.dataset_reader import DatasetReader
from tailrace.io.placement import Box

FLIPS = int(os.environ.get("TAILRACE_FLIPS", "25"))  # more of them: by hand
KINDS = ("dist", "collect_xy", "collect", "hdf5")


def read_all(path):
    """Everything that a user can ask for."""
    found = dataset_at(path)
    for position in range(len(found.steps) if found is not None else 0):
        found.scalars(position)
        for name, one in (found.variables(position) | found.derived(position)).items():
            found.read(position, name, Box((0, 0, 0), one.shape), np.empty(one.shape[::-1], one.dtype))
        found.check(position)
    return found


def small(tmp_path, layout):
    made = HandMade(tmp_path / "data", (4, 3, 4), (2, 1, 2)).texts()
    getattr(made, layout)()
    found = list(made.data.glob("allprocs/VAR1*"))  # of the layouts with one file
    (path,) = found or [made.data / "proc0" / "VAR1"]
    return made, path


def boundaries(raw):
    """Bytes at which a record of a little-endian file, or one of its marks, begins or ends."""
    at, found = 0, {0}
    while at < len(raw):
        (size,) = struct.unpack_from("<i", raw, at)
        found |= {at, at + 4, at + 4 + size, at + 8 + size}
        at += size + 8
    return sorted(found)


@pytest.mark.parametrize("layout", ["dist", "collect_xy", "collect"])
def test_a_file_that_is_cut_off_anywhere(tmp_path, layout):
    made, path = small(tmp_path, layout)
    raw = path.read_bytes()
    start = made.fields.nbytes if layout == "collect" else 0
    ends = {start + end for end in boundaries(raw[start:])} | {0, 1, start // 2, len(raw) - 1}
    for end in sorted(ends - {len(raw)}):
        path.write_bytes(raw[:end])
        found = None
        try:
            found = dataset_at(tmp_path)
            found.scalars(0)
        except _core.IoError as error:
            assert str(path) in str(error)
        else:
            # Without persistent variables a file is whole too.
            assert "persist/random_seeds" not in found.scalars(0) or layout != "collect"


@pytest.mark.parametrize("layout", KINDS)
def test_random_bytes_end_in_an_error_or_in_values(tmp_path, layout):
    made, path = small(tmp_path, layout)
    others = [made.data / name for name in ("dim.dat", "index.pro", "varname.dat", "param.nml", "proc1/dim.dat")]
    targets = [path, *others, *(made.data.glob("*/grid.dat"))]
    rng = np.random.default_rng(int(os.environ.get("TAILRACE_SEED", "0")) + len(layout))
    for _ in range(FLIPS):
        target = targets[int(rng.integers(0, len(targets)))]
        raw = bytearray(target.read_bytes())
        whole = bytes(raw)
        for _ in range(int(rng.integers(1, 4))):
            near = len(raw) if rng.random() < 0.5 else min(len(raw), 64)
            at = int(rng.integers(0, near))
            raw[at if rng.random() < 0.5 else len(raw) - 1 - at] = int(rng.integers(0, 256))
        target.write_bytes(raw)
        try:
            with np.errstate(all="ignore"):
                read_all(tmp_path)
        except (_core.IoError, _core.InputError) as error:
            assert str(made.data) in str(error)
        target.write_bytes(whole)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "has 0 lines; expected 4"),
        ("-8 15 18 8 0 0\nD\n3 3 3\n2 1 3 1\n", "line 1 is '-8 15 18 8 0 0'; expected 5 to 6 whole numbers"),
        ("999999999 15 18 8 0 0\nD\n3 3 3\n2 1 3 1\n", "expected 1 to 16777216 points"),
        ("14 15 18 999999 0 0\nD\n3 3 3\n2 1 3 1\n", "at most 10000 fields"),
        ("14 15 18 8 0 0\nQ\n3 3 3\n2 1 3 1\n", "line 2 is 'Q'; expected the precision S or D"),
        ("14 15 18 8 0 0\nD\n9 9 9\n2 1 3 1\n", "expected 1 to 16777216 points"),
        ("14 15 18 8 0 0\nD\n3 3 3\n0 1 3 1\n", "cannot be divided"),
        ("14 15 18 8 0 0\nD\n3 3 3\n3 1 3 1\n", "cannot be divided"),
        ("14 15 18 8 0 0\nD\n3 3 3³\n2 1 3 1\n", "line 3 is '3 3 3³'; expected 3 whole numbers"),
        ("16777216 15 18 8 0 0\nD\n3 3 3\n8388605 1 3 1\n", "says 25165815 processes; expected at most 1048576"),
        ("14 15 24 8 0 0\nD\n3 3 3\n2 1 3 1\n", r"proc0/dim.dat: has \(4, 9, 4\) .* expected \(4, 9, 6\) of D"),
        ("14 15 18 8 0 0\nS\n3 3 3\n2 1 3 1\n", r"proc0/dim.dat: has \(4, 9, 4\) .* D; expected \(4, 9, 4\) of S"),
        ("14 15 18 8 0 0\nD\n3 3 3\n2 1 3 1\n" + "x\n" * 10, "has 8 lines; expected 4"),
    ],
)
def test_wrong_sizes(tmp_path, text, expected):
    HandMade(tmp_path / "data").texts().dist()
    (tmp_path / "data" / "dim.dat").write_text(text, encoding="latin-1")
    with pytest.raises(_core.IoError, match=expected):
        dataset_at(tmp_path)


def test_a_missing_file_of_a_process(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    (made.data / "proc4" / "VAR1").unlink()
    found = dataset_at(tmp_path)
    with pytest.raises(_core.IoError, match=r"proc4/VAR1: cannot be read: No such file"):
        found.read(0, "ux", Box((0, 0, 0), made.points), np.empty(made.points[::-1]))
    assert "proc4/VAR1" in found.check(0)[0]


def test_files_of_two_snapshots(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    other = HandMade(tmp_path / "data2").texts().dist(time=0.75)
    (other.data / "proc2" / "VAR1").replace(made.data / "proc2" / "VAR1")
    found = dataset_at(tmp_path)
    with pytest.raises(_core.IoError, match=r"proc2/VAR1: .* of time 0.75 .*expected .* of 0.5 .* not of one snapshot"):
        found.read(0, "ux", Box((0, 0, 0), made.points), np.empty(made.points[::-1]))


def test_values_that_are_no_numbers_are_found(tmp_path):
    made = HandMade(tmp_path / "data").texts()
    made.fields[4, 5, 6, 7] = np.nan
    made.dist()
    found = dataset_at(tmp_path)
    assert DatasetReader(found, MPI.COMM_SELF).verify(0) == []
    assert found.not_finite == ["step 1: ax has 1 values that are not finite, the first at point 4, 3, 2"]


def test_absurd_records(tmp_path):
    """Marks that promise much, and a chain of parts without values, cost neither memory nor time."""
    made = HandMade(tmp_path / "data").texts().dist()
    path = made.data / "proc0" / "VAR1"
    for raw in (
        b"\xff\xff\xff\x7f" * 40,
        struct.pack("<ixi", -1, 1) * 70_000,
        b"\0" * 100,
        struct.pack("<i", -(2**31)),
    ):
        path.write_bytes(raw)
        with pytest.raises(_core.IoError, match="proc0/VAR1"):
            dataset_at(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_special_files_are_refused(tmp_path):
    made = HandMade(tmp_path / "data").texts().dist()
    found = dataset_at(tmp_path)
    (made.data / "proc1" / "VAR1").unlink()
    os.mkfifo(made.data / "proc1" / "VAR1")
    with pytest.raises(_core.IoError, match=r"proc1/VAR1: cannot be read: it is a named pipe"):
        found.read(0, "ux", Box((0, 0, 0), made.points), np.empty(made.points[::-1]))


def test_links_out_of_a_file_are_refused(tmp_path):
    import h5py

    made = HandMade(tmp_path / "data").texts().hdf5()
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["ux"] = made.fields[0]
    with h5py.File(made.data / "allprocs" / "VAR1.h5", "a") as file:
        del file["data/ux"]
        file["data/ux"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/ux")
    with pytest.raises(_core.IoError, match=r"data/ux is no array; expected .* in the file itself"):
        dataset_at(tmp_path)


def test_parameters_of_any_text_take_bounded_time(tmp_path):
    path = tmp_path / "param.nml"
    for text in (
        "'" * 100_000,
        "3*" * 100_000,
        "a=999999999*1\n" * 1000,
        "((" * 100_000,
        "a%" * 100_000,
        "\n" * 500_000,
    ):
        path.write_text("&g\n k=" + text)
        parse_parameters(path.read_text())
    path.write_bytes(b"&init_pars\n lperi= 3*T, x='it''s', c=(1.,2.), d=-0.5D-3, e=1.7-308, f='a/b=&c' /\n&b lperi=F /")
    found = parse_parameters(path.read_text())
    assert found["init_pars/lperi"] == [True] * 3 and found["b/lperi"] == [False]
    assert found["init_pars/d"] == [-0.5e-3] and found["init_pars/e"] == [1.7e-308]
    assert found["init_pars/f"] == ["a/b=&c"] and found["init_pars/c"] == []
    made = HandMade(tmp_path / "data").texts().dist()
    (made.data / "param.nml").write_bytes(bytes(5 << 20))
    with pytest.raises(_core.IoError, match="has more than 4194304 bytes"):
        dataset_at(tmp_path)
