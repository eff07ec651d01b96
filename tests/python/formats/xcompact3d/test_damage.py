"""Damaged files of Xcompact3D: a clear error or correct reading, never anything else."""

import json
import random
import re

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs.xcompact3d_files import NX, NY, NZ, field, input_text, make_checkpoint, make_run
from tailrace import Error, IoError
from tailrace.formats.recognise import dataset_at
from tailrace.formats.xcompact3d import dataset_at as xcompact3d_at
from tailrace.io.dataset_reader import DatasetReader
from tailrace.io.placement import Box

WHOLE = 8 * NX * NY * NZ


@pytest.mark.parametrize("size", [0, 1, 7, 8, WHOLE // 2 + 8, WHOLE - 1, WHOLE + 1, 2 * WHOLE])
def test_files_of_another_size(tmp_path, size):
    run = make_run(tmp_path / "run")
    path = run / "data" / "uy-2.bin"
    path.write_bytes((path.read_bytes() * 2)[:size])
    dataset = dataset_at(run)
    assert [sorted(dataset.variables(at)) for at in (0, 1)] == [["pp", "ux", "uy", "uz"], ["pp", "ux", "uz"]]
    message = (
        rf"uy-2.bin: has {size} bytes; expected {WHOLE} bytes \(float64\) or {WHOLE // 2} \(float32\) for 12 x 9 x 10"
    )
    assert len(dataset.left_out) == 1
    assert re.search(message, dataset.left_out[0])
    with pytest.raises(IoError, match=message):
        dataset_at(path)
    damaged = path.read_bytes()
    for other in (run / "data").glob("*-2.bin"):
        other.write_bytes(damaged)
    assert [index for index, _ in dataset_at(run).steps] == [20], "nothing of the step can be read"


def test_files_on_cells_are_left_out(tmp_path):
    run = make_run(tmp_path / "run")
    field(2, "pp", (NX, NY - 1, NZ)).tofile(run / "data" / "ppraw-2.bin")
    with tr.open(run) as series:
        assert "ppraw" not in series[1].variables
        np.testing.assert_array_equal(series[1].read("uy"), field(2, "uy"))
        assert not series.verify()
    dataset = dataset_at(run)
    assert dataset.left_out == []
    assert any(
        "ppraw: left out: 1 files (ppraw-2.bin, ...) have the size of 12 x 8 x 10 cells" in n for n in dataset.notes
    )


def test_files_that_change_after_they_were_opened(tmp_path):
    run = make_run(tmp_path / "run")
    dataset = dataset_at(run)
    (run / "data" / "uy-2.bin").write_bytes(b"12345678")
    with pytest.raises(IoError, match=r"uy-2.bin: has 8 bytes; expected"):
        dataset.variables(1)
    assert "uy-2.bin: has 8 bytes" in dataset.check(1)[0]


def test_values_that_are_not_finite_are_told(tmp_path):
    run = make_run(tmp_path / "run")
    values = field(2, "uz")
    values[3, 2, 1] = np.nan
    values[4, 0, 0] = np.inf
    values.tofile(run / "data" / "uz-2.bin")
    dataset = dataset_at(run)
    reader = DatasetReader(dataset, MPI.COMM_SELF)
    assert [reader.verify(position) for position in (0, 1)] == [[], []]
    assert dataset.not_finite == ["step 40: uz has 2 values that are not finite, the first at point 1, 2, 3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (input_text((10**9, 1, 1)), r"BasicParam.nx: must be from 1 to 16777216 \(found 1000000000\)"),
        (input_text((0, 9, 10)), "BasicParam.nx: must be from 1"),
        (input_text(ends=((0, 1), (2, 2), (0, 0))), "BasicParam.nclx1: and nclxn must both be 0"),
        (input_text(ends=((3, 3), (2, 2), (0, 0))), "BasicParam.nclx1: must be from 0 to 2"),
        (input_text(basic="istret = 2"), "BasicParam.beta: must be from 1e-06"),
        (input_text(basic="istret = 2\nbeta = 1e-290"), "BasicParam.beta: must be from 1e-06"),
        (input_text().replace("yly = 2.0", "yly = 1e300"), "BasicParam.yly: must be from 0 to"),
        (input_text(basic="cpg = T").replace("re = 250.", "re = 1e300"), "BasicParam.re: must be below"),
        (input_text(basic="istret = 9"), "BasicParam.istret: must be from 0 to 3"),
        (input_text(inout="nvisu = 0"), "InOutParam.nvisu: must be from 1"),
        (input_text().replace("dt = 0.01", "dt = -1"), "BasicParam.dt: must be greater than 0"),
        (input_text().replace("xlx = 6.0", "xlx = abc"), "BasicParam.xlx: must be a number"),
        ("&Other\n/End\n", "there is no group &BasicParam"),
        ("x" * (1 << 21), "expected a namelist of at most"),
    ],
)
def test_inputs_that_are_wrong(tmp_path, text, message):
    run = make_run(tmp_path / "run")
    (run / "input.i3d").write_text(text)
    with pytest.raises(IoError, match=message):
        dataset_at(run)


def probe(path):
    """Open and read one value of all there is; True if it is whole."""
    try:
        dataset = dataset_at(path)
        for position in range(len(dataset.steps) if dataset else 0):
            for name, one in dataset.variables(position).items():
                out = np.empty((1, 1, 1), one.dtype)
                dataset.read(position, name, Box((0, 0, 0), (1, 1, 1)), out)
    except (Error, IoError) as error:
        assert len(str(error)) < 5000
        return False
    return True


def flip(text, rng):
    """Some bytes of it changed, removed, or doubled."""
    made = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made))
        how = rng.randrange(4)
        if how == 0:
            made[at] = rng.randrange(256)
        elif how == 1:
            del made[at : at + rng.randint(1, 9)]
        elif how == 2:
            made[at:at] = rng.choice([b"999999999999", b"-1", b"&", b"/", b"<", b"\0", b"1e999", b"'", b"(", b"*"])
        else:
            made[at:at] = made[at : at + rng.randint(1, 40)]
        if not made:
            made = bytearray(b" ")
    return bytes(made)


@pytest.mark.parametrize(
    "name", ["input.i3d", "restart.info", "snapshot-1.xdmf", "input.json", "yp.dat", "probe", "history"]
)
def test_texts_with_random_changes(tmp_path, name):
    from tailrace.formats.xcompact3d.texts import xdmf_text  # only to have a text to damage
    from tailrace.grids import UniformGrid

    run = make_run(tmp_path / "run", (1,), ("ux",), basic="istret = 2\nbeta = 0.3")
    make_checkpoint(run, ["ux", "uy", "uz", "pp"], (NX, NY - 1, NZ))
    (run / "probes").mkdir()
    mesh = {"Nx": NX, "Ny": NY, "Nz": NZ, "Lx": 6.0, "Ly": 2.0, "Lz": 5.0, "BCx": 0, "BCy": 2, "BCz": 0}
    told = {"mesh": {"properties": mesh}, "ux": {"type": "data", "properties": {"filename": "data/ux"}}}
    texts = {
        "input.i3d": (run / "input.i3d", run, (run / "input.i3d").read_text()),
        "restart.info": (run / "restart.info", run / "checkpoint", (run / "restart.info").read_text()),
        "snapshot-1.xdmf": (
            run / "data" / "snapshot-1.xdmf",
            run / "data" / "snapshot-1.xdmf",
            xdmf_text(UniformGrid((NX, NY, NZ)), 1, 0.5, {"ux": 8}),
        ),
        "input.json": (run / "input.json", run / "input.json", json.dumps(told)),
        "yp.dat": (run / "yp.dat", run, "".join(f"{0.25 * j:.15e}\n" for j in range(NY))),
        "probe": (
            run / "probes" / "probe0001",
            run / "probes" / "probe0001",
            "".join(f"{value:14.6E}" for value in (0.1, 1, 2, 3)) + "\n",
        ),
        "history": (run / "time_evol.dat", run / "time_evol.dat", "0.09 0.12 1 2 0.3\n0.19 0.11 3 4 0.4\n"),
    }
    path, opened, text = texts[name]
    path.write_text(text)
    assert probe(opened)
    rng = random.Random(name)
    outcomes = []
    for _ in range(60):
        path.write_bytes(flip(text.encode(), rng))
        outcomes.append(probe(opened))
    assert False in outcomes


def test_a_line_that_is_too_long_is_no_row_of_a_history(tmp_path):
    run = make_run(tmp_path / "run", (1,), ("ux",))
    (run / "time_evol.dat").write_bytes(b"0.09 0.12 1 2 0.3\n" + bytes(5000))
    with pytest.raises(IoError, match="line 2: has 5000 letters; expected a row of numbers"):
        dataset_at(run / "time_evol.dat")


def test_what_lies_beside_a_restart_file_is_none(tmp_path):
    """A restart file is known by its name or its size, and by its `restart.info`."""
    run = make_run(tmp_path / "run", (1,), ("ux",))
    make_checkpoint(run, ["ux", "uy", "uz", "pp"], (NX, NY - 1, NZ))
    named, other, short = run / "checkpoint", run / "restart0001", run / "notes.bin"
    other.write_bytes(named.read_bytes())
    short.write_bytes(named.read_bytes()[:-8])
    for path in (named, other):
        assert sorted(dataset_at(path).variables(0)) == ["pp", "ux", "uy", "uz"]
    assert dataset_at(short) is None
    (run / "restart.info").unlink()
    assert dataset_at(named) is None and dataset_at(other) is None


@pytest.mark.parametrize("name", ["data/ux-1.bin", "checkpoint", "time_evol.dat", "."])
def test_files_of_xcompact3d_have_no_parameters(tmp_path, name):
    run = make_run(tmp_path / "run", (1,), ("ux",))
    make_checkpoint(run, ["ux", "uy", "uz", "pp"], (NX, NY - 1, NZ))
    (run / "time_evol.dat").write_text("0.09 0.12 1 2 0.3\n0.19 0.11 3 4 0.4\n")
    with pytest.raises(tr.InputError, match="are read without parameters; found level"):
        xcompact3d_at(run / name, {"level": "1"})
