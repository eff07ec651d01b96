"""Logs of Darshan as records, and Darshan's library for jobs of our own."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.inputs.foreign_results import measured, write
from tailrace.bench.imported import darshan_log
from tailrace.bench.imported.foreign import ForeignError
from tailrace.bench.imported.recognise import program_of, read_foreign
from tailrace.bench.ranks import darshan_runtime
from tailrace.bench.records.results import read_results


def report(**changes):
    """As a DarshanReport that has not read its records: two ranks, a file of each and one of both, and a terminal."""
    counters = {
        "counters": ["POSIX_OPENS", "POSIX_READS", "POSIX_WRITES", "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN"],
        "fcounters": ["POSIX_F_READ_TIME", "POSIX_F_WRITE_TIME", "POSIX_F_META_TIME", "POSIX_F_SLOWEST_RANK_TIME"],
    }
    records = [
        {"id": 1, "rank": 0, "counters": [1, 0, 4, 0, 4000], "fcounters": [0.0, 1.0, 0.1, 0.0]},
        {"id": 2, "rank": 1, "counters": [1, 0, 4, 0, 4000], "fcounters": [0.0, 3.0, 0.2, 0.0]},
        {"id": 3, "rank": -1, "counters": [2, 2, 2, 500, 600], "fcounters": [1.0, 2.0, 1.0, 2.0]},
        {"id": 4, "rank": 0, "counters": [1, 0, 9, 0, 999], "fcounters": [0.0, 99.0, 0.0, 0.0]},
    ]
    found = SimpleNamespace(
        metadata={
            "job": {"nprocs": 2, "start_time_sec": 1795598086, "end_time_sec": 1795598097, "jobid": 7, "uid": 1,
                    "metadata": {"lib_ver": "3.5.0"}},
            "exe": "./app input ",
        },
        modules={"POSIX": {"partial_flag": False}, "HEATMAP": {}},
        counters={}, records={}, name_records={1: "/a", 2: "/b", 3: "/c", 4: "<STDOUT>"},
    )  # fmt: skip

    def read(module, warnings):
        assert not warnings
        found.counters[module], found.records[module] = counters, records

    found.mod_read_all_records = read
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def test_a_package_without_its_library_is_no_damaged_log(tmp_path, monkeypatch):
    """As pydarshan does where it finds no libdarshan-util."""
    (tmp_path / "darshan").mkdir()
    (tmp_path / "darshan/__init__.py").write_text("raise RuntimeError('Could not find libdarshan-util.so!')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "darshan"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ForeignError, match=r"does not load: .*Could not find libdarshan-util"):
        darshan_log._read("a.darshan", "run")


def test_darshan_mapping():
    run, *found, end = darshan_log.records_of(report(), "darshan-1", Path("app.darshan"))
    assert (run.command, run.software) == ("./app input", {"Darshan": "3.5.0"})
    assert (run.began, end.ended) == ("2026-11-25T09:14:46+00:00", "2026-11-25T09:14:57+00:00")
    of = {one.cell.operation: one for one in found}
    assert list(of) == ["write", "read", "meta"]
    # The slowest rank of its own files, and of the shared file 2 s that are divided as 2 : 1 : 1.
    assert of["write"].seconds == pytest.approx(3.0 + 1.0)
    assert of["read"].seconds == pytest.approx(0.5)
    assert of["meta"].seconds == pytest.approx(0.2 + 0.5)
    assert [of[kind].bytes for kind in of] == [8600, 500, 0]
    assert of["write"].counts == {"files": 3.0, "calls": 10.0}
    assert of["write"].phases == {"write": of["write"].seconds}
    cell = of["write"].cell
    assert (cell.name, cell.ranks, cell.nodes, cell.cache) == ("Darshan POSIX", 2, 0, "")
    assert "./app input" in cell.source


def test_darshan_log_that_is_not_whole_is_in_doubt():
    found = darshan_log.records_of(report(modules={"POSIX": {"partial_flag": True}}), "darshan-1", Path("a"))
    assert all("memory" in one.disturbed for one in measured(found))


def test_darshan_log_without_counters_of_bytes():
    with pytest.raises(ForeignError, match="found only HEATMAP"):
        darshan_log.records_of(report(modules={"HEATMAP": {}}), "darshan-1", Path("a"))


HEAD = struct.pack("<8sq", b"3.41", 6567223)


def test_darshan_is_recognised_and_its_package_is_named(tmp_path, monkeypatch):
    path = write(tmp_path, HEAD + bytes(2000))
    assert program_of(path) == "Darshan"
    monkeypatch.setattr(darshan_log.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ForeignError, match="pip install darshan"):
        read_foreign(path)


def test_darshan_logs_that_are_damaged(tmp_path):
    darshan = pytest.importorskip("darshan")
    for number, whole in enumerate(sorted(Path(darshan.__file__).parent.rglob("*.darshan"))[:2]):
        path = write(tmp_path, whole.read_bytes()[:-400], f"{number}.darshan")
        with pytest.raises(ForeignError, match=str(number)):
            read_foreign(path)


def test_darshan_times_are_those_of_darshan(tmp_path):
    """The sum of our three kinds is what Darshan calls the time by the slowest rank."""
    darshan = pytest.importorskip("darshan")
    from darshan.backend.cffi_backend import accumulate_records

    path = next(Path(darshan.__file__).parent.rglob("ior_hdf5_example.darshan"))
    found = measured(read_foreign(path))
    assert {one.cell.name for one in found} == {"Darshan POSIX", "Darshan MPI-IO", "Darshan HDF5"}
    report = darshan.DarshanReport(str(path), read_all=False)
    for module in ("POSIX", "MPI-IO"):
        report.mod_read_all_records(module, warnings=False)
        metrics = accumulate_records(report.records[module].to_df(), module, 4).derived_metrics
        ours = [one for one in found if one.cell.name == f"Darshan {module}"]
        assert sum(one.seconds for one in ours) == pytest.approx(metrics.agg_time_by_slowest)
        assert sum(one.bytes for one in ours) == metrics.total_bytes


def loadable():
    """A library that the loader of this machine takes."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    return Path(next(word for word in maps if "/libm.so" in word or "/libm-" in word))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation of Darshan with a library that does nothing; called with what darshan-config tells."""
    monkeypatch.delenv("DARSHAN_LIBRARY", raising=False)
    monkeypatch.delenv("LD_PRELOAD", raising=False)

    def install(variables):
        prefix = tmp_path / "darshan"
        for name in ("bin", "lib"):
            (prefix / name).mkdir(parents=True)
        shutil.copy(loadable(), prefix / "lib" / "libdarshan.so")
        config = prefix / "bin" / "darshan-config"
        config.write_text(f'#!/bin/sh\ntest "$1" = --log-path-by-env && echo "{variables}"\n', encoding="utf-8")
        config.chmod(0o755)
        monkeypatch.setenv("PATH", f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}")
        return prefix / "lib" / "libdarshan.so"

    return install


def test_darshan_environment(installed, tmp_path, monkeypatch):
    library, place = installed("MY_LOGS,DARSHAN_LOGDIR"), tmp_path / "logs"
    monkeypatch.setenv("LD_PRELOAD", str(loadable()))
    environment = darshan_runtime.preload(place)
    assert environment["LD_PRELOAD"] == f"{library}:{loadable()}"
    assert {environment[name] for name in ("MY_LOGS", "DARSHAN_LOGDIR", "DARSHAN_LOGPATH")} == {str(place)}
    assert "DARSHAN_ENABLE_NONMPI" not in environment
    assert darshan_runtime.preload(place, mpi=False)["DARSHAN_ENABLE_NONMPI"] == "1"
    assert list(place.iterdir()) == []


def test_darshan_with_a_fixed_place_gets_directories_of_the_day(installed, tmp_path):
    installed("")
    darshan_runtime.preload(tmp_path / "logs")
    assert len(list((tmp_path / "logs").glob("*/*/*"))) == 2


def test_darshan_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    monkeypatch.setenv("DARSHAN_LIBRARY", str(tmp_path / "libdarshan.so"))
    with pytest.raises(darshan_runtime.DarshanError, match="found no file"):
        darshan_runtime.preload(tmp_path / "logs")
    monkeypatch.delenv("DARSHAN_LIBRARY")
    monkeypatch.setattr(darshan_runtime, "_said", lambda *command: "")
    with pytest.raises(darshan_runtime.DarshanError, match="set DARSHAN_LIBRARY"):
        darshan_runtime.preload(tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_darshan_that_does_not_load(tmp_path, monkeypatch):
    monkeypatch.setenv("DARSHAN_LIBRARY", str(write(tmp_path, "no library", "libdarshan.so")))
    with pytest.raises(darshan_runtime.DarshanError, match="cannot be preloaded"):
        darshan_runtime.preload(tmp_path / "logs")


def test_darshan_logs(tmp_path):
    with pytest.raises(darshan_runtime.DarshanError, match="found none"):
        darshan_runtime.logs(tmp_path)
    (tmp_path / "2026").mkdir()
    partial = write(tmp_path / "2026", b"", "a.darshan_partial")
    with pytest.raises(darshan_runtime.DarshanError, match="MPI_Finalize"):
        darshan_runtime.logs(tmp_path)
    late, early = write(tmp_path, b"", "a.darshan"), partial.rename(tmp_path / "2026" / "b.darshan")
    os.utime(early, (1, 1))
    assert darshan_runtime.logs(tmp_path) == [early, late]


def test_darshan_watches_a_job(tmp_path):
    pytest.importorskip("darshan")
    try:
        environment = darshan_runtime.preload(tmp_path / "logs", mpi=False)
    except darshan_runtime.DarshanError as error:
        pytest.skip(f"no runtime of Darshan: {error}")
    data = tmp_path / "data"
    script = f"import os; os.write(os.open({str(data)!r}, os.O_CREAT | os.O_WRONLY), bytes(5000))"
    subprocess.run([sys.executable, "-c", script], env=os.environ | environment, check=True, timeout=240)
    (log,) = darshan_runtime.logs(tmp_path / "logs")
    assert program_of(log) == "Darshan"
    assert [one.bytes for one in measured(read_foreign(log)) if one.cell.operation == "write"] == [5000]


def bench(directory, *words, **environment):
    words = (sys.executable, "-m", "tailrace.cli", "bench", "io", "--darshan", "--engine", "raw", *words)
    more = ("--global", "32,24,16", "--ranks", "1,2", "--rounds", "1", "-o", "r.jsonl", "--operations", "write")
    return subprocess.run(
        [*words, *more], cwd=directory, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )


def test_bench_under_darshan_refuses_what_cannot_be(tmp_path):
    pytest.importorskip("darshan")
    done = bench(tmp_path, DARSHAN_LIBRARY=str(tmp_path / "libdarshan.so"))
    assert done.returncode == 2
    assert "found no file" in done.stderr
    done = bench(tmp_path, OMPI_COMM_WORLD_SIZE="2")
    assert done.returncode == 2
    assert "before MPI starts" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_bench_says_where_darshan_left_no_log(installed, tmp_path):
    """A library that loads but does not count: the measurements stay, and the command fails."""
    pytest.importorskip("darshan")
    installed("MY_LOGS")
    done = bench(tmp_path)
    assert done.returncode == 1
    assert "found none" in done.stderr
    found = read_results(tmp_path / "r.jsonl")
    assert found.measurements
    assert not found.interrupted


def test_bench_under_darshan(tmp_path):
    pytest.importorskip("darshan")
    try:
        darshan_runtime.preload(tmp_path / "try")
    except darshan_runtime.DarshanError as error:
        pytest.skip(f"no runtime of Darshan: {error}")
    done = bench(tmp_path)
    assert done.returncode == 0, done.stderr
    found = read_results(tmp_path / "r.jsonl")
    ours, *theirs = found.runs
    assert any("Darshan" in note for note in ours.notes)
    assert [run.command.split()[1:4] for run in theirs] == [["-m", "tailrace.cli", "bench"]] * 2
    for ranks in (1, 2):
        written = [one.bytes for one in found.measurements if one.run == ours.run and one.cell.ranks == ranks]
        [seen] = [
            one.bytes for one in found.measurements
            if one.cell.name == "Darshan POSIX" and one.cell.operation == "write" and one.cell.ranks == ranks
        ]  # fmt: skip
        assert seen >= sum(written) * 0.5  # of each round; a limit in memory writes nothing
    assert len(list((tmp_path / "r-darshan").rglob("*.darshan"))) == 2
