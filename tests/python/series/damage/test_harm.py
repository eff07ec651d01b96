"""Series that somebody made to harm: pipes in place of files, names that lead elsewhere, sizes that cannot be.

Whatever is wrong, a reader neither waits nor crashes nor reads anything else, and says what is wrong.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.harness.engines import ENGINES, KINDS
from helpers.inputs import sidecar
from helpers.programs.series import harmed
from tailrace.core import IoError
from tailrace.io import series as tr

UX = np.arange(7 * 5 * 6.0).reshape(7, 5, 6)
LABELS = ("raw", "raw-dist", "mpiio", "sion")  # each way of naming files once
SIDECARS = [engine for engine in ENGINES if engine.label in LABELS]


def write(engine, folder: Path) -> Path:
    path = engine.path(folder)
    with tr.open(path, "w", engine=engine.name, parameters=dict(engine.parameters)) as out:
        out.set_attribute("case", "tgv")
        for step in range(2):
            out.write_step(0.5 * step, index=step, ux=UX + step)
    return path


def in_a_program(function: str, path: Path) -> str:
    """What a function of `harmed` prints in a program of its own, because a mistake would hang or end this one."""
    command = [sys.executable, harmed.__file__, function, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


# ---- what is no file -------------------------------------------------------------------------------------------------


def kinds_of_engines():
    return pytest.mark.parametrize("engine", [*KINDS, SIDECARS[1]], ids=str)


@kinds_of_engines()
def test_a_pipe_in_place_of_a_file(tmp_path, engine):
    """No reader waits for the other end of the pipe."""
    path = write(engine, tmp_path)
    for file in [path] if path.is_file() else sorted(path.iterdir()):
        if file.suffix in (".xdmf", ".xdmf2"):  # not read
            continue
        kept = tmp_path / "kept"
        file.rename(kept)
        os.mkfifo(file)
        info, verify = json.loads(in_a_program("look", path))
        assert f"{file}: it is a named pipe; expected a regular file" in verify, (file, verify)
        assert not info or "named pipe" in info
        file.unlink()
        kept.rename(file)
    assert "all well" in json.loads(in_a_program("look", path))[1]


WRITE = """
import sys
import numpy as np
from tailrace.io import series as tr

with tr.open(sys.argv[1], sys.argv[2], engine=sys.argv[3]) as out:
    out.write_step(2.5, index=5, ux=np.zeros((7, 5, 6)))
"""


@kinds_of_engines()
def test_no_writer_waits_either(tmp_path, engine):
    """A writer refuses a pipe in place of any kind of file, or writes beside it what a reader finds whole."""
    path = write(engine, tmp_path)
    kinds = {} if path.is_file() else {file.suffix: file.name for file in sorted(path.iterdir())}
    names = list(kinds.values()) or [""]
    for number, (name, mode) in enumerate(itertools.product(names, "aw")):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write(engine, folder)
        file = path / name if name else path
        file.unlink()
        os.mkfifo(file)
        command = [sys.executable, "-c", WRITE, path, mode, engine.name]
        result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        if result.returncode:
            assert f"{file}: it is a named pipe" in result.stderr or f"it holds {file}, which is" in result.stderr
            assert "IoError" in result.stderr
            continue
        with tr.open(path) as found:
            assert [step.index for step in found] == ([0, 1, 5] if mode == "a" else [5]), name
            assert not np.any(found[-1].read("ux"))
            of_earlier = mode == "a" and file.is_fifo() and file.suffix not in (".xdmf", ".xdmf2")
            assert [f"{file}: it is a named pipe" in line for line in found.verify()] == [True] * of_earlier, name


@pytest.mark.parametrize("name", ["run.h5", "run", "run.bp", "run.sion"])
def test_sockets_and_devices_are_no_series(tmp_path, name):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / name))
        with pytest.raises(IoError, match=f"{name}: it is a socket; expected a regular file"):
            tr.open(tmp_path / name)
    (tmp_path / "zero.h5").symlink_to("/dev/zero")
    with pytest.raises(IoError, match=r"zero.h5: it is a device; expected a regular file"):
        tr.open(tmp_path / "zero.h5")


# ---- names -----------------------------------------------------------------------------------------------------------


def rename(told, name):
    """Let the sidecar name another file as that of the last step."""
    step = told["steps"][-1]
    variable = step["variables"][0]
    if "files" in variable:
        variable["files"][0] = name
    elif "file" in variable:
        variable["file"] = name
    else:
        step["file"] = name


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "..", ".", "", "a/b", "ux-2.bin\0", "./ux-2.bin"])
@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_sidecar_names_files_of_its_directory(tmp_path, engine, name):
    path = write(engine, tmp_path)
    (tmp_path / "secret").write_bytes(bytes(UX))
    told = sidecar.read(path)
    rename(told, name)
    sidecar.write(path, told)
    for mode in ("r", "a"):
        with pytest.raises(IoError, match=r"series.jsonl: step 1 .*expected a plain name in its directory"):
            tr.open(path, mode, engine=engine.name)
    with tr.open(path, "w", engine=engine.name) as out:  # neither removed nor written
        out.write_step(0.0, index=1, ux=UX)
    assert (tmp_path / "secret").read_bytes() == bytes(UX)


OF_LIBRARIES = [one for one in KINDS if one.traits.sidecar and one.traits.library]


@pytest.mark.parametrize("engine", [*SIDECARS, *OF_LIBRARIES], ids=str)
def test_a_link_is_no_file_of_a_series(tmp_path, engine):
    path = write(engine, tmp_path)
    file = next(file for file in sorted(path.iterdir()) if file.suffix in (".bin", ".sion", ".h5"))
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    with pytest.raises(IoError, match=f"{file.name}: it is a symbolic link; expected a regular file"):
        tr.open(path)[0].read("ux")


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_no_writer_follows_a_link(tmp_path, engine):
    """A stranger's link in the directory must not make a writer destroy what it leads to."""
    path = write(engine, tmp_path)
    names = [file.name for file in path.iterdir()]
    for file in path.iterdir():
        file.unlink()
    (tmp_path / "precious").write_text("precious")
    for name in (*names, "series.jsonl.tmp"):
        if name not in ("series.jsonl", "series.xdmf"):
            (path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(IoError, match="symbolic link"):
        write(engine, tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


# ---- numbers ---------------------------------------------------------------------------------------------------------


def in_shape(value, at=0):
    return lambda told: told["steps"][-1]["variables"][0]["shape"].__setitem__(at, value)


def in_grid(key, value):
    return lambda told: told.__setitem__(
        "grid", {"points": [7, 5, 6], "origin": [0, 0, 0], "spacing": [1, 1, 1], key: value}
    )


def in_step(**changed):
    return lambda told: told["steps"][-1].update(changed)


def in_variable(**changed):
    return lambda told: told["steps"][-1]["variables"][0].update(changed)


NO_SHAPE = "series.jsonl: step 1 is damaged .*ux: no array has the shape"
SIZES = {
    "negative": (in_shape(-7), f"{NO_SHAPE} 6 x 5 x -7"),
    "empty": (in_shape(0), NO_SHAPE),
    "too many points": (in_shape(10**18), NO_SHAPE),
    "overflow": (in_shape(2**62), NO_SHAPE),
    "more than int64": (
        in_shape(2**64 - 1),
        "step 1 is damaged .*a whole number below 2.63, found 18446744073709551615",
    ),
    "product that overflows": (in_variable(shape=[2**32, 2**32, 2**32]), NO_SHAPE),
    "text": (in_shape("7"), "step 1 is damaged .*expected a whole number below 2.63, found string"),
    "two directions": (in_variable(shape=[7, 5]), "step 1 is damaged .*out of range"),
    "unknown type": (in_variable(type="float80"), "step 1 is damaged .*unknown number type 'float80'"),
    "wrong scalars": (in_step(scalars=[[1]]), "step 1 is damaged"),
    "grid": (in_grid("points", [7, 5, -6]), "series.jsonl: it is damaged .*grid: no array has the shape -6 x 5 x 7"),
    "coordinates": (in_grid("coordinates", [[0.0], [], []]), "series.jsonl: it is damaged .*1 coordinates in z for 7"),
    "attributes": (lambda told: told.update(attributes={"a": {"b": 1}}), "it is damaged .*key .real. not found"),
}


@pytest.mark.parametrize("change", SIZES)
@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_sizes_that_cannot_be(tmp_path, engine, change):
    make, message = SIZES[change]
    path = write(engine, tmp_path)
    told = sidecar.read(path)
    make(told)
    sidecar.write(path, told)
    for mode in ("r", "a"):
        with pytest.raises(IoError, match=message):
            tr.open(path, mode, engine=engine.name)


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, 7), (0, -1), (1, -8), (1, 2**63 - 1), (2, 1), (2, -1), (2, 2**63 - 1), (5, 0), (5, 2**62), (7, -6)],
)
def test_blocks_that_cannot_be(tmp_path, at, value):
    path = write(SIDECARS[1], tmp_path)
    told = sidecar.read(path)
    told["steps"][-1]["variables"][0]["blocks"][0][at] = value
    sidecar.write(path, told)
    with pytest.raises(
        IoError, match=r"series.jsonl: step 1 is damaged \(a block of ux has number .* its shape 6 x 5 x 7"
    ):
        tr.open(path)


@pytest.mark.parametrize(("count", "points"), [(0, 0), (2, 420)])
def test_blocks_that_do_not_hold_every_point_once(tmp_path, count, points):
    """Which of two blocks is right cannot be known, also where they have as many points as are asked for, or more."""
    path = write(SIDECARS[1], tmp_path)
    told = sidecar.read(path)
    variable = told["steps"][-1]["variables"][0]
    variable["blocks"] *= count
    sidecar.write(path, told)
    with tr.open(path) as stored, pytest.raises(IoError, match=f"the blocks of ux hold {points} points of .* 210"):
        stored[-1].read("ux")


def test_a_container_of_too_many_files(tmp_path):
    path = write(SIDECARS[3], tmp_path)
    for number in (-1, 0, 10**9):
        told = sidecar.read(path)
        told["steps"][0]["files"] = number
        sidecar.write(path, told)
        with pytest.raises(IoError, match=f"step 0 .*its container has {number} files"):
            tr.open(path)


def test_no_file_is_as_large_as_its_shape(tmp_path):
    """A shape that could be, with a checksum: verify does not count its pieces before it reads the first."""
    path = write(SIDECARS[0], tmp_path)
    told = sidecar.read(path)
    variable = told["steps"][0]["variables"][0]
    variable["shape"] = variable["checksums"][0][3:6] = [10**5, 10**6, 10**6]
    sidecar.write(path, told)
    assert "too early" in tr.open(path)[0].verify()[0]


# ---- depth -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_attributes_nested_deeply(tmp_path, engine):
    path = write(engine, tmp_path)
    lines = (path / "series.jsonl").read_text().splitlines(keepends=True)
    deep = '{"attributes":{"a":' + "[" * 200_000 + "]" * 200_000 + "}}"
    lines.insert(1, f'["{sidecar.checksum(deep)}",{deep}]\n')
    (path / "series.jsonl").write_text("".join(lines))
    assert "line 2 is damaged (it is nested deeper than 64 times)" in in_a_program("read", path)


def test_record_nested_deeply(tmp_path):
    engine = next(engine for engine in KINDS if engine.traits.extensions[:1] == [".bp"])
    path = write(engine, tmp_path)
    (path / "tailrace.json").write_text('{"record":' + '{"a":' * 200_000 + "1" + "}" * 200_001)
    assert "tailrace.json: it is damaged (it is nested deeper" in in_a_program("read", path)


def test_messages_about_what_is_no_utf_8(tmp_path):
    """What a library quotes from a damaged file is shown, not an error about the message."""
    engine = next(engine for engine in KINDS if engine.traits.extensions[:1] == [".bp"])
    path = write(engine, tmp_path)
    (path / "tailrace.json").write_bytes(b'{"record": "\xff\xfe"}')
    with pytest.raises(IoError, match=r"tailrace.json: it is damaged .*xff"):
        tr.open(path)
