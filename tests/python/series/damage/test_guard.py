"""Metadata that crash, hang or fill a library: a child process reads them, and its death is an error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import mpi4py
import numpy as np
import pytest
import xxhash

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.as_click import invoke
from helpers.harness.kept import KEPT
from helpers.inputs import sidecar
from helpers.programs.series import guarded
from tailrace.io import guard

SUFFIX = {"bp4": "bp4", "bp5": "bp", "adios_hdf5": "adios_hdf5", "hdf5": "h5"}


def write(folder: Path, engine: str, record: bool = True) -> Path:
    path = folder / f"run.{SUFFIX[engine]}"
    with tr.open(path, "w", engine=engine) as out:
        for index in range(3):
            out.write_step(0.5 * index, index=index, ux=np.full((4, 5, 6), float(index)), scalars={"energy": 1.5})
    if not record:
        (path / "tailrace.json").unlink()
    return path


def harm(path: Path) -> None:
    """Change the metadata so that ADIOS2 dies of signal 11, in every version that we know."""
    if path.suffix == ".bp4":
        data = bytearray((path / "md.idx").read_bytes())
        data[64 + 24 : 64 + 32] = (1 << 40).to_bytes(8, "little")  # where the variables of the first step are
        (path / "md.idx").write_bytes(data)
    else:
        data = (path / "mmd.0").read_bytes()
        (path / "mmd.0").write_bytes(data[:16] + b"\xff" * (len(data) - 16))  # the lengths of the first block stay


def command(*words: object) -> tuple[int, str]:
    """The exit code of `tailrace WORDS` and what it prints, in this process."""
    result = invoke(*words)
    return result.exit_code, result.output


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_values_beyond_the_end_of_a_file(tmp_path, engine, monkeypatch):
    """ADIOS2 waits for them without end, also where the first value of each variable is there."""
    monkeypatch.setattr(guard, "_SECONDS", 2)
    path = write(tmp_path, engine, record=False)
    data = (path / "data.0").read_bytes()
    (path / "data.0").write_bytes(data[: data.rindex(np.full(20, 2.0).tobytes())])
    with pytest.raises(tr.IoError, match="ADIOS2"):
        tr.open(path, guard=True)


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_info_and_verify_outlive_the_library(tmp_path, engine, ranks):
    path = write(tmp_path, engine, record=False)
    harm(path)
    for verb in ("info", "verify"):
        result = KEPT.result(tmp_path, verb, path, ranks=ranks)
        assert result.code == 1, result.text
        assert f"cannot read {path}: the library ADIOS2 died of signal 11 on it" in result.text
        assert "damaged or made to harm" in result.text and "Traceback" not in result.text


@pytest.mark.parametrize("engine", SUFFIX)
def test_what_is_sound_reads_the_same_in_a_child(tmp_path, engine, monkeypatch):
    path = write(tmp_path, engine)
    expected = [command("info", "--steps", "--minmax", path), command("verify", path)]
    assert expected[0][0] == expected[1][0] == 0
    calls = []
    call = guard.call

    def counted(*arguments):
        calls.append(arguments)
        return call(*arguments)

    monkeypatch.setattr(guard, "vouched", lambda *_: False)
    monkeypatch.setattr(guard, "call", counted)
    assert [command("info", "--steps", "--minmax", path), command("verify", path)] == expected
    with tr.open(path, guard=True) as series:
        assert len(series) == 3
    assert len(calls) == 3


def test_only_what_nobody_vouches_for_goes_to_a_child(tmp_path):
    paths = {engine: write(tmp_path, engine) for engine in SUFFIX}
    assert {engine: guard.vouched(path, engine) for engine, path in paths.items()} == {
        "bp4": True, "bp5": True, "adios_hdf5": False, "hdf5": True
    }  # fmt: skip
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = np.zeros(3)
    assert not guard.vouched(tmp_path / "foreign.h5", "hdf5"), "h5py writes metadata without checksums"
    with h5py.File(tmp_path / "newer.h5", "w", libver=("v108", "latest")) as file:
        file["x"] = np.zeros(3)
    assert not guard.vouched(tmp_path / "newer.h5", "hdf5"), (
        "nobody knows what other programs put into the newer format"
    )
    with h5py.File(tmp_path / "block.h5", "w", userblock_size=512) as file:
        file["Tailrace"] = np.zeros(3)
    with (tmp_path / "block.h5").open("r+b") as file:
        file.write(b"\xff" * 20)  # of another program, in front of the superblock
    assert not guard.vouched(tmp_path / "block.h5", "hdf5")
    for name in ("foreign.h5", "newer.h5"):
        code, text = command("info", tmp_path / name)
        assert code == 0 and "hdf5-other" in text  # of another program, read as such
    for engine in ("bp4", "bp5"):
        record = paths[engine] / "tailrace.json"
        text = record.read_text()
        for damaged in ("", "[" * 1000, text.replace('"md.0"', '"md.1"')):
            record.write_text(damaged)
            with pytest.raises(tr.IoError, match="damaged"):  # no library reads it
                tr.open(paths[engine], guard=True)
        record.unlink()
        assert not guard.vouched(paths[engine], engine)
        record.write_text(text)
        assert guard.vouched(paths[engine], engine)
        with (paths[engine] / "md.idx").open("ab") as index:
            index.write(b"s")
        assert not guard.vouched(paths[engine], engine), "bytes behind those that the record tells"


def dies(how: str) -> None:
    """Called in the child."""
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "code":
        os._exit(3)
    elif how == "time":
        time.sleep(60)
    elif how == "memory":
        np.ones(1 << 38)
    else:
        print("printed, as libraries do", flush=True)
        raise tr.IoError(f"cannot read it: {how}")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("signal", "the library ADIOS2 died of signal 11"),
        ("code", "with code 3"),
        ("time", "did not return within 2 s"),
        ("memory", "of memory"),
        ("its own error", "cannot read it: its own error"),
    ],
)
def test_every_end_of_the_child_is_an_error(tmp_path, monkeypatch, how, words):
    monkeypatch.setattr(guard, "_SECONDS", 20 if how != "time" else 2)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with pytest.raises(tr.IoError, match=words):
        guard.call(tmp_path, "bp5", f"{Path(__file__).stem}:dies", how)


def test_a_library_that_waits_is_given_up(tmp_path, monkeypatch):
    """ADIOS2 waits without end for bytes that the index names and md.0 lacks."""
    monkeypatch.setattr(guard, "_SECONDS", 2)
    path = write(tmp_path, "bp5", record=False)
    os.truncate(path / "data.0", 100)
    code, text = command("verify", path)
    assert code == 1 and str(path) in text, text


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_open_with_a_guard_raises_on_all_ranks(tmp_path, three, engine):
    path = write(tmp_path, engine, record=False)
    harm(path)
    said = f"cannot read {path}: the library ADIOS2 died of signal 11 on it"
    for *errors, steps in three.results(guarded.open_beside, path=str(path)):
        assert len(errors) == 2 and all(said in error for error in errors) and steps == 0, errors


@pytest.mark.parametrize(("mode", "name", "said"), [
    ("r", "pipe.h5", "it is a named pipe"),
    ("r", "pipe", "it is a named pipe"),
    ("r", "x" * 300, "name too long"),
    ("a", "x" * 300 + ".bp", "name too long"),
], ids=["hdf5", "raw", "long", "long-append"])  # fmt: skip
def test_what_cannot_be_looked_at_is_an_error_on_all_ranks(tmp_path, mode, name, said):
    """Rank 0 looks at it alone, and the other ranks wait for what it found."""
    if name.startswith("pipe"):
        os.mkfifo(tmp_path / name)
    errors = KEPT.ranks(2).results(guarded.try_to_open, limit=60, path=str(tmp_path / name), mode=mode)
    assert said in errors[0].lower() and errors[0] == errors[1]


def forge(path: Path) -> None:
    """Write checksums that match whatever the metadata of a BP series now are, as anybody can."""
    told = json.loads((path / "tailrace.json").read_text())
    for name in told["record"]["checksums"]:
        data = bytearray((path / name).read_bytes())
        if name == "md.idx":
            data[38:40] = b"\0\0"
        told["record"]["checksums"][name] = xxhash.xxh3_64_hexdigest(bytes(data))
    text = json.dumps(told["record"], separators=(",", ":"), sort_keys=True)
    told["checksum"] = sidecar.checksum(text)
    (path / "tailrace.json").write_text(json.dumps(told))


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_a_guard_does_not_trust_checksums(tmp_path, three, engine):
    path = write(tmp_path, engine)
    harm(path)
    forge(path)
    assert guard.vouched(path, engine), "the checksums match"
    for *errors, _ in three.results(guarded.open_beside, path=str(path)):
        assert len(errors) == 2 and all("the library ADIOS2 died of signal 11 on it" in error for error in errors)


def waits(place: str) -> None:
    """Called in the child; a library that does not return would not let Python do anything either."""
    Path(place).write_text(str(os.getpid()))
    time.sleep(1000)


def test_the_child_does_not_outlive_its_parent(tmp_path):
    """Long before its own time ends."""
    places = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    call = f"guard.call(Path('run.bp'), 'bp5', '{Path(__file__).stem}:waits', 'child')"
    program = f"from pathlib import Path; from tailrace.io import guard; guard._SECONDS = 1000; {call}"
    parent = mpi_run.start([sys.executable, "-c", program], tmp_path, {"PYTHONPATH": places})
    try:
        wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        child = Path("/proc", (tmp_path / "child").read_text())
        assert alive(child)
        parent.kill()
        wait_for(lambda: not alive(child))
    finally:
        mpi_run.kill_session(parent)
        mpi_run.finish(parent, 60)


def alive(process: Path) -> bool:
    try:
        return ") Z " not in (process / "stat").read_text()
    except OSError:
        return False


def wait_for(condition):
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_child_ends_itself_after_its_time():
    program = "import os, time; from tailrace.io import guard; guard._end_with(os.getppid(), 1); time.sleep(1000)"
    ended = subprocess.run([sys.executable, "-c", program], timeout=240, check=False)
    assert ended.returncode == -signal.SIGALRM


def test_the_child_takes_no_module_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", ".", *(place for place in sys.path if place != str(tmp_path))])
    tr.open(write(tmp_path, "bp5", record=False), guard=True).close()


def company() -> tuple[bool, list[int]]:
    """Called in the child: whether it ends MPI, and the processes that it has started."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return bool(mpi4py.rc.finalize), [number for number in numbers if mpi_run.parent(number) == os.getpid()]


def test_nothing_of_mpi_that_fails_is_taken_for_the_file(tmp_path, monkeypatch):
    """A daemon of Open MPI ended children that had read everything."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    assert guard.call(tmp_path, "bp5", f"{Path(__file__).stem}:company") == (False, [])


def test_the_child_writes_no_traces(tmp_path, monkeypatch):
    """Those of the program itself are written when it closes the series."""
    path = write(tmp_path, "bp5", record=False)
    monkeypatch.setenv("TAILRACE_PARAMETERS", "trace=trace.json, folded=folded.txt")
    monkeypatch.chdir(tmp_path)
    with tr.open(path, guard=True) as series:
        assert len(series) == 3
        assert not list(tmp_path.glob("*trace*")) and not list(tmp_path.glob("*folded*"))
    assert json.loads((tmp_path / "trace.json").read_text())
    assert (tmp_path / "folded.txt").exists()


@pytest.mark.parametrize("fails", [2, 3])
def test_a_child_that_does_not_begin_is_started_again(tmp_path, monkeypatch, fails):
    """What ends before the work says nothing of the file."""
    place = tmp_path / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text(
        "import os, pathlib\n"
        f"count = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "count.open('a').write('x')\n"
        f"if count.stat().st_size <= {fails}:\n"
        "    os._exit(1)\n"
    )
    monkeypatch.syspath_prepend(str(place))
    path = write(tmp_path, "bp5", record=False)
    if fails < 3:
        guard.call(path, "bp5", "tailrace.io.guard:read_metadata", str(path), "bp5")
    else:
        with pytest.raises(tr.IoError, match="ended with code 1 before it began, 3 times"):
            guard.call(path, "bp5", "tailrace.io.guard:read_metadata", str(path), "bp5")
    assert (tmp_path / "count").stat().st_size == 3


def test_the_child_has_the_package_of_its_parent(tmp_path, monkeypatch):
    """Also where a program has put another one of the same name before it."""
    other = tmp_path / "tailrace"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('another package')\n")
    path = write(tmp_path, "bp5", record=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    guard.call(path, "bp5", "tailrace.io.guard:read_metadata", str(path), "bp5")
