"""What engines refuse, in their words: values of parameters, and what does not go together with what is stored."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from helpers.inputs import sidecar
from tailrace.core import InputError, IoError
from tailrace.io import series as tr

ONES = np.ones((2, 3, 4))


def refused(path, mode="w", **how):
    """The text of the error of opening a series."""
    with pytest.raises(InputError) as error:
        tr.open(path, mode, **how)
    assert not path.exists()
    return str(error.value)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"compression": "gzip", "level": 10}, "level = 10: gzip has the levels 1 to 9"),
        ({"compression": "gzip", "level": 0}, "parameter level = '0': expected a whole number, at least 1"),
        ({"shuffle": True}, "shuffle = on: it only helps a compression; set compression = gzip"),
        ({"compression": "gzip", "transfer": "independent"}, "transfer: it has no meaning with a compression, "),
        ({"compression": "gzip", "chunk_bytes": (1 << 30) + 1}, "chunk_bytes = 1073741825: with a compression at most"),
        ({"chunk_bytes": 0}, "parameter chunk_bytes = '0': expected a whole number, at least 1"),
        ({"alignment": -1}, "parameter alignment = '-1': expected a whole number, at least 0"),
        ({"closing": "xx"}, "parameter closing = 'xx': expected the periodic directions, as 'xz'"),
        ({"closing": "a"}, "parameter closing = 'a': expected the periodic directions, as 'xz'"),
        ({"compression": "zip"}, "parameter compression = 'zip': expected one of none, gzip, szip"),
        ({"transfer": "fast"}, "parameter transfer = 'fast': expected one of , independent, collective"),
    ],
)
def test_parameters_of_hdf5(tmp_path, parameters, said):
    assert refused(tmp_path / "run.h5", parameters=parameters).startswith(said)


@pytest.mark.parametrize(
    "parameters",
    [
        {"compression": "gzip", "chunk_bytes": 1 << 30},
        {"compression": "gzip", "level": 9},
        {"closing": False},
        {"alignment": 0, "chunk_bytes": 1},
    ],
)
def test_parameters_of_hdf5_at_their_bounds(tmp_path, parameters):
    with tr.open(tmp_path / "run.h5", "w", parameters=parameters) as out:
        out.write_step(0.0, u=ONES)
    np.testing.assert_array_equal(tr.open(tmp_path / "run.h5")[0]["u"], ONES)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"hints.": "1"}, "engine mpiio has no parameter 'hints.'"),
        ({"hints.a": ""}, "parameter hints.a = '': MPI takes names of 1 to "),
        ({f"hints.{'a' * 300}": "1"}, "parameter hints.aaa"),
        ({"hints.a": "1" * 1100}, "parameter hints.a = '111"),
        ({"collect_bytes": -1}, "parameter collect_bytes = '-1': expected a whole number, at least 0"),
        ({"failure_timeout": 0}, "parameter failure_timeout = '0': expected a whole number, at least 1"),
    ],
)
def test_parameters_of_mpiio(tmp_path, parameters, said):
    with pytest.raises(InputError) as error:
        tr.open(tmp_path / "run", "w", engine="mpiio", parameters=parameters)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("name", ["sst:", "sst:.sst"])
def test_a_stream_has_a_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^a stream needs a name: sst:NAME$"):
        tr.open(name, "w")
    with pytest.raises(InputError, match=r"cannot append to .*: a stream keeps no steps; open it to write"):
        tr.open("sst:run", "a")


# ---- a file that goes on ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["run", "run.h5", "run.bp", "run.sion"])
def stored(request, tmp_path):
    """A series with an array and a list."""
    path = tmp_path / request.param
    with tr.open(path, "w") as out:
        out.write_step(0.0, u=ONES, lists={"p": np.zeros((5, 2))})
    return path


OTHERS = [
    lambda out: out.write_step(1.0, u=np.ones((2, 3, 5))),
    lambda out: out.write_step(1.0, u=ONES.astype("int32")),
    lambda out: out.write_step(1.0, p=ONES),
    lambda out: out.write_step(1.0, lists={"u": np.zeros((5, 2))}),
]


@pytest.mark.parametrize("number", range(len(OTHERS)), ids=["shape", "type", "list", "array"])
def test_hdf5_keeps_what_a_variable_is(tmp_path, number):
    path = tmp_path / "run.h5"
    with tr.open(path, "w") as out:
        out.write_step(0.0, u=ONES, lists={"p": np.zeros((5, 2))})
    said = (
        "holds 'u' as float64 of 4 x 3 x 2; it cannot also be float64 of 5 x 3 x 2",
        "holds 'u' as float64 of 4 x 3 x 2; it cannot also be int32 of 4 x 3 x 2",
        "holds 'p' as a list; it cannot also be a grid variable",
        "holds 'u' as a grid variable; it cannot also be a list",
    )[number]
    with tr.open(path, "a") as out:
        with pytest.raises(InputError) as error:
            OTHERS[number](out)
        assert str(error.value) == f"{path} {said}"
        out.write_step(2.0, u=2 * ONES)
    with tr.open(path) as series:
        assert list(series.times) == [0.0, 2.0]
        assert series.verify() == []
        np.testing.assert_array_equal(series[1]["u"], 2 * ONES)


def test_what_is_declared_is_declared_once(stored):
    with tr.open(stored, "a") as out:
        out.declare("w", (4, 3, 2), "float32")
        with pytest.raises(InputError, match="'w' is already declared or written"):
            out.declare("w", (4, 3, 2), "float32")
        for wrong in ((0, 1, 1), (1, -1, 1)):
            with pytest.raises(InputError, match="v: no array has the shape"):
                out.declare("v", wrong, "float32")
        for wrong in ("", ".v", "v/w", "v w"):
            with pytest.raises(InputError, match=f"'{wrong}' cannot name a variable"):
                out.declare(wrong, (4, 3, 2), "float32")
        out.write_step(1.0, w=ONES)
    assert tr.open(stored)[1].variables["w"].dtype == "float32"


def test_another_version_of_an_hdf5_file(tmp_path):
    path = tmp_path / "run.h5"
    with tr.open(path, "w") as out:
        out.write_step(0.0, u=ONES)
    with h5py.File(path, "a") as file:
        version = int(np.ravel(file["Tailrace"].attrs["version"])[0])
        file["Tailrace"].attrs["version"] = np.int64(version + 1)
    with pytest.raises(IoError, match=rf"its version is {version + 1}; this program reads version {version}$"):
        tr.open(path)


def test_a_variable_that_another_program_laid_out_takes_no_step(tmp_path):
    path = tmp_path / "run.h5"
    with tr.open(path, "w") as out:
        out.write_step(0.0, u=ONES)
    with h5py.File(path, "a") as file:
        values = file["VTKHDF/PointData/u"][:]
        del file["VTKHDF/PointData/u"]
        file["VTKHDF/PointData/u"] = values  # in one piece
    np.testing.assert_array_equal(tr.open(path)[0]["u"], ONES)
    with tr.open(path, "a") as out, pytest.raises(IoError, match="another program laid it out"):
        out.write_step(1.0, u=ONES)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("version", 99, r"its version is 99; this program reads versions 2 and 3"),
        ("byte_order", "middle", "its files have the byte order of another machine"),
        ("format", "tailrace sion series", "it is a 'tailrace sion series'; expected a 'tailrace raw series'"),
        ("grid", {"points": [2, 3, 4], "origin": [0, 0], "spacing": [1, 1, 1]}, "it is damaged or no description of a"),
        ("grid", {"points": [0, 3, 4], "origin": [0, 0, 0], "spacing": [1, 1, 1]}, "grid: no array has the shape"),
    ],
)
def test_headers_of_raw_series(tmp_path, key, value, said):
    with tr.open(tmp_path / "run", "w") as out:
        out.write_step(0.0, u=ONES)
    told = sidecar.read(tmp_path / "run")
    sidecar.write(tmp_path / "run", {**told, key: value})
    with pytest.raises(IoError, match=said):
        tr.open(tmp_path / "run", engine="raw")


@pytest.mark.parametrize(
    ("error", "kind"), [(IoError("gone"), IoError), (MemoryError("gone"), IoError), (ValueError("gone"), InputError)]
)
@pytest.mark.parametrize("engine", ["hdf5", "raw"])
def test_an_error_before_a_collective_call_keeps_its_kind(tmp_path, error, kind, engine):
    """A failure of the disk or a lack of memory is no mistake of the caller."""
    with tr.open(tmp_path / "x", "w", engine=engine) as out:
        out.write_step(0.0, ux=ONES)
    with (
        tr.open(tmp_path / "x") as stored,
        pytest.raises(kind, match=r"^gone$") as found,
        stored[0].raise_on_all_ranks(),
    ):
        raise error
    assert type(found.value) is kind
