"""Results of IOR and benchio as records. The texts have the format of real runs on two ranks."""

import json
import os
import pickle
import struct

import pytest
import typer
from typer.testing import CliRunner

from helpers.inputs.foreign_results import measured, write
from tailrace.bench.imported import benchio, foreign, recognise
from tailrace.bench.imported.foreign import ForeignError
from tailrace.bench.imported.recognise import program_of, read_foreign
from tailrace.bench.records.records import End, Failure, Run
from tailrace.bench.records.results import read_results
from tailrace.bench.records.summary import rankings, summarise
from tailrace.cli.bench.imported import import_results

MIB = 1 << 20
PARAMETERS = {
    "testID": 0, "api": "POSIX", "platform": "node(Linux)", "testFileName": "/scratch/run/testFile",
    "options": "(null)", "deadlineForStonewall": 0, "nodes": 1, "tasksPerNode": 2, "repetitions": 2, "fsync": 1,
    "fsyncperwrite": 0,
    "filePerProc": 1, "reorderTasks": 0, "collective": 0, "segmentCount": 1, "transferSize": 262144,
    "blockSize": 1048576,
}  # fmt: skip
OPTIONS = {"api": "POSIX", "access": "file-per-process", "nodes": 1, "tasks": 2, "clients per node": 2}


def timing(access, rate, total, opening=0.0002, moving=0.0093, closing=0.003):
    return {
        "access": access, "bwMiB": rate, "blockKiB": 1024.0, "xferKiB": 256.0, "iops": 864.1145, "latency": 0.0016,
        "openTime": opening, "wrRdTime": moving, "closeTime": closing, "totalTime": total,
    }  # fmt: skip


TIMINGS = [
    timing("write", 213.3583, 0.0094),
    timing("read", 3953.1612, 0.0005),
    timing("write", 199.9001, 0.0100),
    timing("read", 3002.3651, 0.0007),
]


def ior(results=TIMINGS, command="ior -F -e -b 1m -t 256k -i 2", tests=1, **parameters):
    test = {
        "TestID": 0,
        "StartTime": "Wed Nov 25 09:03:31 2026",
        "Parameters": PARAMETERS | parameters,
        "Options": OPTIONS,
        "Results": results,
    }
    return {
        "Version": "4.1.0+dev",
        "Began": "Wed Nov 25 09:03:31 2026",
        "Command line": command,
        "Machine": "Linux node17",
        "tests": [test] * tests,
        "summary": [],
        "Finished": "Wed Nov 25 09:03:40 2026",
    }


def test_ior_run_tells_what_the_file_tells_and_no_more(tmp_path):
    run, *_, end = read_foreign(write(tmp_path, ior()))
    assert isinstance(run, Run) and isinstance(end, End)
    assert run.command == "ior -F -e -b 1m -t 256k -i 2"
    assert run.machine == {"system": "Linux", "host": "node17"}
    assert run.software == {"IOR": "4.1.0+dev"}
    assert run.began == "2026-11-25T09:03:31"  # no time zone: IOR tells none
    assert run.directories == {"/scratch/run": {"path": "/scratch/run"}}
    assert (end.run, end.ended, end.failures) == (run.run, "2026-11-25T09:03:40", 0)


def test_ior_names_are_as_they_are(tmp_path):
    """IOR writes names of files and its command line as they are: a tab is no reason to refuse the file."""
    content = json.dumps(ior(command="ior -o a{}b")).replace("a{}b", "a\tb")
    run, *_ = read_foreign(write(tmp_path, content))
    assert run.command == "ior -o a\tb"


def test_ior_cells_and_rounds(tmp_path):
    found = measured(read_foreign(write(tmp_path, ior())))
    assert [(one.cell.operation, one.round) for one in found] == [("write", 1), ("read", 1), ("write", 2), ("read", 2)]
    first, second = found[:2]
    assert first.cell.name == "IOR POSIX file per process" and first.cell.bench == "io" and first.cell.engine == ""
    assert (first.cell.ranks, first.cell.nodes, first.cell.shape) == (2, 1, (2 * MIB,))
    assert (first.cell.cache, second.cell.cache) == ("synced", "page cache")
    assert first.cell.directory == "/scratch/run"
    assert dict(first.cell.parameters)["transferSize"] == 262144
    assert first.phases == {"open": 0.0002, "write": 0.0093, "close": 0.003}
    assert "read" in second.phases
    assert len(summarise(found)) == 2


def test_ior_seconds_are_as_exact_as_the_file_allows(tmp_path):
    """The rate has more digits of a short time, the total those of a long one."""
    found = measured(read_foreign(write(tmp_path, ior([timing("read", 3953.1612, 0.0005)]))))[0]
    assert found.bytes == 2 * MIB
    assert found.seconds == pytest.approx(2 / 3953.1612, rel=1e-12)
    found = measured(read_foreign(write(tmp_path, ior([timing("write", 0.0123, 162.6016)]))))[0]
    assert (found.bytes, found.seconds) == (2 * MIB, 162.6016)


def test_ior_that_ends_by_time_has_the_bytes_that_it_moved(tmp_path):
    """A real run with -D 1: IOR said that it moved 74448896 bytes."""
    results = [timing("write", 47.3756, 1.4987, 0.0001, 1.4986, 0.002)]
    path = write(tmp_path, ior(results, deadlineForStonewall=1, blockSize=512 * MIB, transferSize=MIB))
    found = measured(read_foreign(path))[0]
    assert (found.bytes, found.seconds, found.cell.shape) == (74448896, 1.4987, ())
    assert "1 s" in found.cell.source


def test_ior_that_moved_less_than_it_was_asked_for(tmp_path):
    """A full disk: "Using actual aggregate bytes moved"."""
    found = measured(read_foreign(write(tmp_path, ior([timing("write", 100.0, 0.0050)]))))[0]
    assert (found.bytes, found.seconds) == (MIB // 2, 0.005)


def test_ior_of_version_3_has_lists_of_lists_and_removals(tmp_path):
    removal = {"access": "remove", "totalTime": 0.0956}
    old = ior([[TIMINGS[0], TIMINGS[1], removal], [TIMINGS[2], TIMINGS[3], removal]], nodes=0, useO_DIRECT=1)
    del old["Version"]
    noise = "[ ]\n, \n[ ]\n\n}\n\n}\nordinated Test of Parallel I/O\n"  # IOR 3.2 begins its files so
    records = read_foreign(write(tmp_path, noise + json.dumps(old, indent=2)))
    assert records[0].software == {}
    assert [(one.cell.operation, one.round) for one in measured(records)] == [
        ("write", 1), ("read", 1), ("write", 2), ("read", 2),
    ]  # fmt: skip
    assert {one.cell.cache for one in measured(records)} == {"direct"}
    assert {one.cell.nodes for one in measured(records)} == {1}  # 2 tasks, 2 on a node


@pytest.mark.parametrize(
    ("command", "fsync", "cache"),
    [
        ("ior --posix.odirect", 0, "direct"),
        ("ior -O useo_direct=1", 0, "direct"),
        ("ior -B", 1, "direct"),
        ("ior -b 1m", 0, "page cache"),
        ("ior -f script", 0, ""),
        ("ior -f script", 1, "synced"),
    ],
)
def test_ior_cache(tmp_path, command, fsync, cache):
    found = measured(read_foreign(write(tmp_path, ior(command=command, fsync=fsync))))[0]
    assert found.cell.cache == cache


def test_ior_tests_of_one_cell_are_further_rounds(tmp_path):
    found = measured(read_foreign(write(tmp_path, ior(tests=2))))
    assert [one.round for one in found if one.cell.operation == "write"] == [1, 2, 3, 4]


def test_ior_sizes_are_not_ranked_against_each_other(tmp_path):
    variants = [ior(), ior(api="MPIIO"), ior(blockSize=2 * MIB, results=[timing("write", 400.0, 0.01)])]
    variants = [write(tmp_path, variant, str(number)) for number, variant in enumerate(variants)]
    output = tmp_path / "out.jsonl"
    run(*variants, "-o", output)
    found = rankings(read_results(output))
    assert sorted(len(one.variants) for one in found if one.setting.operation == "write") == [1, 2]


@pytest.mark.parametrize("rate", ["inf", 0.0, 1e-320])
def test_ior_without_a_time_is_a_failure(tmp_path, rate):
    *_, failure, end = read_foreign(write(tmp_path, ior([timing("write", rate, 0.0)])))
    assert isinstance(failure, Failure) and "no time" in failure.error
    assert end.failures == 1


BENCHIO = """
 Simple Parallel IO benchmark
 ----------------------------

 Running on            2  process(es)
{nodes} Process grid is (           1 ,            1 ,            2 )
 Array size is   (          32 ,           32 ,           16 )
 Global size is  (          32 ,           32 ,           32 )

 Total amount of data =    2.4414062500000000E-004  GiB

 Clock resolution is    1.0000000000000000E-003 , usecs

 Using the following IO methods
 ------------------------------
 serial{blanks}

 ------
 Serial{blanks}
 ------

 Writing to unstriped/serial.dat{blanks}
 time =    4.4706700009555789E-004 , rate =   0.54609404171593168       GiB/s

 ------
  Proc {blanks}
 ------

 Writing to unstriped/proc000000.dat{blanks}
 time =   0.23464819099990564      , rate =    2.1308495832392804       MiB/s
 time =    1.7075260002457071D-003 , rate =    292.82130985299887       MiB/s
 mintime =    1.7075260002457071E-003 , maxrate =    292.82130985299887       MiB/s
 avgtime =   0.11817785850007567      , avgrate =    147.47607971809914       MiB/s
 Deleting: unstriped/proc000000.dat{blanks}

"""
FINISHED = """
 --------
 Finished
 --------

"""
NODES = "\n Running on            2  nodes\n Node number           0  is a1 with            1  process\n"
NODES += " Node number           1  is a2 with            1  process\n\n"


def printed(nodes=""):
    return BENCHIO.format(nodes=nodes, blanks=" " * 40)


def test_benchio(tmp_path):
    run, *found, end = read_foreign(write(tmp_path, "mpiexec says so\n" + printed() + FINISHED))
    assert isinstance(run, Run) and isinstance(end, End)
    assert (run.command, run.began) == ("", "")
    assert "does not tell the number of nodes" in " ".join(run.notes)
    assert [(one.cell.name, one.round, one.seconds) for one in found] == [
        ("benchio Serial", 1, 4.4706700009555789e-4),
        ("benchio file per process", 1, 0.23464819099990564),
        ("benchio file per process", 2, 1.7075260002457071e-3),
    ]
    cell = found[0].cell
    assert (cell.ranks, cell.nodes, cell.shape, cell.decomposition) == (2, 0, (32, 32, 32), (1, 1, 2))
    assert (cell.directory, cell.cache, cell.precision, cell.halo) == ("unstriped", "page cache", "float64", 1)
    assert {one.bytes for one in found} == {32**3 * 8}
    assert found[0].rate / (1 << 30) == pytest.approx(0.54609404171593168)  # as benchio says


def test_benchio_several_times_in_one_file(tmp_path):
    run, *found = read_foreign(write(tmp_path, printed(NODES) + FINISHED + printed(NODES)))
    assert [one.round for one in found if one.cell.name == "benchio Serial"] == [1, 2]
    assert {one.cell.nodes for one in found} == {2}
    assert run.machine == {"host": "a1, a2"}
    assert not any(isinstance(one, End) for one in found)  # the second was interrupted


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Process grid is", "Grid is", "Process grid is"),
        ("Global size is", "Size is", "Global size is"),
        ("Writing to", "To", "Writing to FILE"),
        ("4.4706700009555789E-004", "-4.4E-004", "above 0 s"),
        ("4.4706700009555789E-004", "4.4-004-", "a number"),
        ("4.4706700009555789E-004", "4.4E+999", "above 0 s"),
        ("2  process", "0  process", "above 0"),
        ("time =", "seconds =", "time = SECONDS"),
    ],
)
def test_wrong_benchio(tmp_path, old, new, says):
    with pytest.raises(ForeignError, match=says) as error:
        benchio.read_benchio(write(tmp_path, printed().replace(old, new)))
    assert str(tmp_path / "results") in str(error.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "found ''"),
        (b"\x89HDF\r\n", "log of Darshan, found"),
        ("IOR-4.1.0: MPI Coordinated Test of Parallel I/O\n", "summaryFormat=JSON"),
        ("access,bw(MiB/s),IOPS,Latency\n", "summaryFormat=JSON"),
        ('{"kind": "run", "run": "a"}\n', "no need to import"),
        ('{\n"Version": "4", "tests": ' + "[" * 100_000, "whole JSON"),
        ('{\n"Version": "4", "tests": [NaN]}', "whole JSON.*NaN"),
        ('{\n"Version": "4", "tests": [1e999]}', "whole JSON.*1e999"),
        ('{\n"Version": "4", "tests": [' + "9" * 5000 + "]}", "whole JSON"),
        ('{\n"Version": "4", "tests": 3}', 'the list "tests"'),
        ('{\n"Version": "4", "tests": [3]}', "expected objects"),
        ('{\n"Version": "4", "tests": [{}]}', "IOR 3.2 or newer"),
        (ior([{"access": "erase"}]), "write or read, found"),
        (ior([{"access": "write"}]), '"totalTime", a number'),
        (ior([timing("write", -5.0, "soon")]), '"totalTime", a number'),
        (ior([TIMINGS[0] | {"openTime": "inf"}]), '"openTime", a number'),
        (ior(transferSize=0), "above 0"),
        (ior(tasksPerNode="two"), '"tasksPerNode", a whole number'),
        (json.dumps(ior(), indent=2)[:900], "summaryFile=FILE"),
        (json.dumps(ior(), indent=2).encode() + b"\xff", "UTF-8"),
    ],
)
def test_wrong_files(tmp_path, content, says):
    path = write(tmp_path, content)
    with pytest.raises(ForeignError, match=says) as error:
        read_foreign(path)
    assert str(path) in str(error.value)
    assert pickle.loads(pickle.dumps(error.value)).args == error.value.args  # it comes from a child process


def test_files_of_hostile_size_and_kind(tmp_path):
    path = write(tmp_path, printed())
    os.truncate(path, foreign.MOST + 1)
    with pytest.raises(ForeignError, match=r"at most 256\.0 MiB"):
        read_foreign(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ForeignError, match="named pipe"):
        read_foreign(tmp_path / "pipe")
    with pytest.raises(ForeignError, match="cannot be read"):
        read_foreign(tmp_path)
    with pytest.raises(ForeignError, match="cannot be read"):
        read_foreign(tmp_path / "nothing")


def run(*words, code=0):
    app = typer.Typer()
    app.command()(import_results)
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


def test_command(tmp_path):
    first, second = write(tmp_path, ior(), "a.json"), write(tmp_path, printed() + FINISHED, "b.txt")
    output = tmp_path / "out.jsonl"
    said = run(first, second, "-o", output)
    assert "a.json: 4 measurements of 2 cells" in said and "b.txt: 3 measurements of 2 cells" in said
    found = read_results(output)
    assert len(found.runs) == 2 and len(found.measurements) == 7 and not found.interrupted
    assert found.measurements[0] == read_foreign(first)[1]

    before = output.read_bytes()
    assert "--append" in run(write(tmp_path, printed(), "c.txt"), "-o", output, code=2)
    assert "twice" in run(first, "-o", output, "--append", code=2)
    assert "log of Darshan" in run(write(tmp_path, "nothing", "d"), "-o", output, "--append", code=2)
    assert output.read_bytes() == before
    run(tmp_path / "c.txt", "-o", output, "--append")
    assert [one.run for one in read_results(output).interrupted] == [read_results(output).runs[2].run]


def test_command_writes_nothing_where_a_file_is_wrong(tmp_path):
    first, output = write(tmp_path, ior(), "a.json"), tmp_path / "out.jsonl"
    assert "nothing" in run(first, write(tmp_path, "nothing", "b"), "-o", output, code=2)
    assert not output.exists()
    assert "cannot be written" in run(first, "-o", tmp_path / "missing" / "out.jsonl", code=1)


def test_readers_are_those_that_are_recognised(tmp_path):
    assert {
        program_of(write(tmp_path, content)) for content in (ior(), printed(), struct.pack("<8sq", b"3.41", 6567223))
    } == set(recognise.READERS)
