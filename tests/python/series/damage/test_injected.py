"""Each class of faults of the system that once gave wrong data or ended the program; inject_faults.py tries all calls.

A program of its own, in which the library of faults is preloaded, makes one call fail.
"""

from __future__ import annotations

import pytest
from mpi4py import MPI

from helpers.harness.injection import run

needs_open_mpi = pytest.mark.skipif(
    "Open MPI" not in MPI.Get_library_version(), reason="only Open MPI's MPI-IO does not come back"
)

GONE = """
from mpi4py import MPI
comm = MPI.COMM_WORLD

def part(value):
    return tr.Block(np.full((2, 4, 4), float(value)), (4, 4, 4), (0, 0, 2 * comm.rank))

out = tr.open("run", "w", engine="raw", parameters={"strategy": "dist"}, comm=comm)
for index in (1, 2):
    out.write_step(0.1 * index, index=index, ux=part(index))
out.begin_step(3, 0.3)
out.write("ux", part(3))
if comm.rank == 1:
    os.unlink("run/ux-3.0001.bin")
try:
    out.end_step()
    print("no error")
except tr.IoError:
    pass
out.write_step(0.4, index=4, ux=part(4))
out.close()
if comm.rank == 0:
    with tr.open("run", comm=MPI.COMM_SELF) as stored:
        print([(step.index, float(step.read("ux").min()), float(step.read("ux").max())) for step in stored])
"""


def test_a_step_of_which_one_rank_lost_its_file_is_not_listed(tmp_path, library):
    assert run(library, tmp_path, GONE, ranks=2) == "[(1, 1.0, 1.0), (2, 2.0, 2.0), (4, 4.0, 4.0)]\n"


WRITTEN_IN_PIECES = """
out = tr.open("run.bp", "w")
for index in (1, 2):
    out.write_step(0.1 * index, index=index, ux=a * index)
injector.arm(Fault("write", "EINTR", short={short}), 2)  # the second write of the step is a writev of md.0
out.write_step(0.3, index=3, ux=a * 3)
assert injector.disarm() == "writev"
out.close()
print(steps("run.bp"))
"""


@pytest.mark.parametrize("short", [True, False])
def test_a_writev_that_is_cut_short(tmp_path, library, short):
    assert run(library, tmp_path, WRITTEN_IN_PIECES.format(short=short)) == "[(1, True), (2, True), (3, True)]\n"


LOST = """
out = tr.open("run.{extension}", "w", engine="{engine}")
out.write_step(0.1, index=1, ux=a)
injector.arm(Fault("write", lost=True), {number})
try:
    out.write_step(0.2, index=2, ux=2 * a)
except tr.IoError as failure:
    print("the system has lost some of them" in str(failure))
assert injector.disarm()
assert steps("run.{extension}") == [(1, True)]
out.write_step(0.3, index=3, ux=3 * a)
out.close()
print(steps("run.{extension}"))
"""


@pytest.mark.parametrize("number", [2, 3])  # the first write of a step is that of the values, which have checksums
@pytest.mark.parametrize(("engine", "extension"), [("bp4", "bp4"), ("bp5", "bp")])
def test_metadata_that_the_system_loses(tmp_path, library, engine, extension, number):
    program = LOST.format(engine=engine, extension=extension, number=number)
    assert run(library, tmp_path, program) == "True\n[(1, True), (3, True)]\n"


SILENT = """
quiet = told = 0
for number in range(1, 40):
    for name in ("x", "x.lock"):
        os.system(f"rm -rf {name}")
    out = tr.open("x", "w", engine="adios_hdf5")
    out.write_step(0.1, index=1, ux=a)
    injector.arm(Fault("write"), number)
    error = ""
    try:
        out.write_step(0.2, index=2, ux=2 * a, lists={"p": np.full((4, 3), 2.0)})
    except tr.IoError as failure:
        error = str(failure)
    if not injector.disarm():
        break
    out.close()
    told += bool(error)
    out = None
    gc.collect()
    found = steps("x")
    assert found == ([(1, True)] if error else [(1, True), (2, True)]), (number, error, found)
print(number > 5 and told > 5)
"""


def test_writes_of_adios_hdf5_that_fail(tmp_path, library):
    assert run(library, tmp_path, SILENT) == "True\n"


CLOSED = """
with tr.open("run.h5", "w") as out:
    for index in (1, 2):
        out.write_step(0.1 * index, index=index, ux=a * index)
before = Path("run.h5").read_bytes()
failed = 0
for number in range(1, 76):
    injector.arm(Fault("read"), number)
    try:
        with tr.open("run.h5") as stored:
            for step in stored:
                assert np.array_equal(step.read("ux"), step.index * a), number
    except tr.IoError:
        failed += 1
    injector.disarm()
gc.collect()
names = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
print(failed > 10, [name for name in names if os.path.exists(name) and "run.h5" in os.readlink(name)])
print(steps("run.h5"), Path("run.h5").read_bytes() == before)
"""


def test_reads_of_hdf5_that_failed_leave_no_file_open(tmp_path, library):
    """HDF5 may say "infinite loop closing library" at the end of such a program: it has not freed some memory."""
    assert run(library, tmp_path, CLOSED) == "True []\n[(1, True), (2, True)] True\n"


HIDDEN = """
Path("run.h5").write_bytes(b"\\x89HDF\\r\\n\\x1a\\n" + bytes(range(1, 200)))
found = set()
for number in range(1, 100):
    injector.arm(Fault("stat"), number)
    try:
        tr.open("run.h5", engine="hdf5")
    except tr.IoError as failure:
        found.add(str(failure))
    if not injector.disarm():
        break
assert number > 5 and not any(".replaced" in told for told in found), found
print(len(found) > 1)
"""


def test_looking_for_an_earlier_series_hides_no_error(tmp_path, library):
    """It is looked for after an error, to say where it is: what fails then is not the cause."""
    assert run(library, tmp_path, HIDDEN) == "True\n"


READ = """
with tr.open("run.{extension}", "w", engine="{engine}") as out:
    for index in (1, 2):
        out.write_step(0.1 * index, index=index, ux=a * index, uy=a * index + 0.5)
failed = 0
for number in range(1, 400):
    with tr.open("run.{extension}") as stored:
        stored[0].variables, stored[1].variables
        injector.arm(Fault("read", "ESTALE" if number % 2 else "EIO"), (number + 1) // 2)
        try:
            assert np.array_equal(stored[0].read("ux"), a), number
        except tr.IoError:
            failed += 1
        if not injector.disarm():
            break
        gc.collect()
        mine = [np.full(a.shape, -1.0) for _ in range(16)]  # one gets the memory of the array that could not be read
        assert np.array_equal(stored[1].read("uy"), 2 * a + 0.5)
        assert all((one == -1.0).all() for one in mine), number
print(failed > 0)
"""


@pytest.mark.parametrize(("engine", "extension"), [("bp4", "bp4"), ("bp5", "bp"), ("adios_hdf5", "adios_hdf5")])
def test_a_read_after_one_that_failed(tmp_path, library, engine, extension):
    assert run(library, tmp_path, READ.format(engine=engine, extension=extension)) == "True\n"


READ_TOGETHER = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
grid = tr.UniformGrid((8, 10, 24), spacing=(0.25, 0.25, 0.25), boundaries=("periodic",) * 3)
part = lambda value: tr.Block(np.full((12, 10, 8), float(value)), (8, 10, 24), (0, 0, 12 * comm.rank))
with tr.open("run{extension}", "w", grid=grid if {gridded} else None, comm=comm) as out:
    for index in (1, 2):
        out.write_step(0.1 * index, index=index, ux=part(index), scalars={{"energy": 0.5}})
failed = 0
for number in range(1, 400):
    error = ""
    if comm.rank == {rank}:
        injector.arm(Fault("{kind}", "{error}"), number)
    try:
        with tr.open("run{extension}", comm=comm) as stored:
            for step in stored:
                assert (np.asarray(step["ux"]) == step.index).all()
                assert (step.read("ux") == step.index).all()
    except tr.IoError as failure:
        error = str(failure)
    called = comm.bcast(injector.disarm() if comm.rank == {rank} else "", root={rank})
    gc.collect()
    errors = comm.allgather(bool(error))
    assert len(set(errors)) == 1, (number, errors)
    failed += errors[0]
    if not called:
        break
if comm.rank == 0:
    print(failed > 1)
"""


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("gridded", [True, False])
@pytest.mark.parametrize(("kind", "error"), [("open", "EMFILE"), ("read", "EIO")])
def test_one_rank_cannot_read(tmp_path, library, kind, error, gridded, rank):
    """Every rank reads the metadata of a step for itself; none must wait for one that could not."""
    words = {"extension": ".h5", "kind": kind, "error": error, "gridded": gridded, "rank": rank}
    assert run(library, tmp_path, READ_TOGETHER.format(**words), 2) == "True\n"


PUBLISHED = """
out = tr.open("run{extension}", "w", engine="{engine}", parameters={parameters})
for index in (1, 2):
    out.write_step(0.1 * index, index=index, ux=a * index)
for number in range(1, 400):
    injector.arm(Fault("{kind}"), number)
    error = ""
    try:
        out.write_step(0.3, index=3, ux=3 * a)
    except tr.IoError as failure:
        error = str(failure)
    if not injector.disarm():
        break
    assert steps("run{extension}") == [(1, True), (2, True)] + ([] if error else [(3, True)]), (number, error)
    if not error:
        out.close()
        out = tr.open("run{extension}", "a", engine="{engine}", parameters={parameters}, rewind_to=2)
print(number > 1)
out.close()
"""


@pytest.mark.parametrize(
    ("engine", "extension", "kind", "parameters"),
    [
        ("raw", "", "stat", {}), ("raw", "", "sync", {"sync": True}), ("hdf5", ".h5", "stat", {}),
        ("hdf5", ".h5", "sync", {"sync": True}), ("bp5", ".bp", "sync", {"sync": True}),
        ("bp4", ".bp4", "sync", {"sync": True}), ("sion", ".sion", "stat", {}), ("hdf5", ".h5", "read", {}),
    ],
)  # fmt: skip
def test_a_step_that_was_said_to_have_failed_is_not_there(tmp_path, library, engine, extension, kind, parameters):
    program = PUBLISHED.format(engine=engine, extension=extension, kind=kind, parameters=parameters)
    assert run(library, tmp_path, program) == "True\n"


DEAD_DISK = """
out = tr.open("run.{extension}", "w", engine="{engine}")
for index in (1, 2):
    out.write_step(0.1 * index, index=index, ux=a * index)
injector.arm(Fault("write", sticky=True), {number})
told = 0
for _ in range(2):
    try:
        out.write_step(0.3, index=3, ux=3 * a)
    except tr.IoError:
        told += 1
try:
    out.close()
except tr.IoError:
    pass
out = None
gc.collect()
assert injector.disarm()
print(told, steps("run.{extension}"))
"""


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(("engine", "extension"), [("bp4", "bp4"), ("bp5", "bp")])
def test_a_disk_that_is_gone(tmp_path, library, engine, extension, number):
    program = DEAD_DISK.format(engine=engine, extension=extension, number=number)
    assert run(library, tmp_path, program) == "2 [(1, True), (2, True)]\n"


NOT_SEEN = """
with tr.open("run{extension}", "w", engine="{engine}") as out:
    for index in (1, 2):
        out.write_step(0.1 * index, index=index, ux=a * index)
for number in range(1, 400):
    injector.arm(Fault("{kind}", "{error}"), number)
    error = ""
    try:
        tr.open("run{extension}", "a", engine="{engine}").close()
    except tr.IoError as failure:
        error = str(failure)
        assert "filesystem error" not in error, error
    if not injector.disarm():
        break
    gc.collect()
    assert steps("run{extension}") == [(1, True), (2, True)], (number, error)
print(number > 1)
"""


@pytest.mark.parametrize(("kind", "error"), [("stat", "ESTALE"), ("open", "EMFILE")])
@pytest.mark.parametrize(("engine", "extension"), [("bp5", ".bp"), ("bp4", ".bp4"), ("hdf5", ".h5"), ("raw", "")])
def test_what_cannot_be_examined_is_not_missing(tmp_path, library, engine, extension, kind, error):
    program = NOT_SEEN.format(engine=engine, extension=extension, kind=kind, error=error)
    assert run(library, tmp_path, program) == "True\n"


REPLACED = """
begun = 0
for number in range(1, 400):
    os.system("rm -rf run run.*")
    with tr.open("run", "w", engine="{engine}") as out:
        for index in (1, 2):
            out.write_step(0.1 * index, index=index, ux=a * index)
    injector.arm(Fault("stat", "ESTALE", sticky={sticky}), number)
    written = []
    try:
        with tr.open("run", "w", engine="{engine}") as out:
            begun += 1
            out.write_step(0.3, index=3, ux=a * 3)
            written = [(3, True)]
    except tr.IoError:
        pass
    if not injector.disarm():
        break
    out = None
    gc.collect()
    tr.open("run", "a", engine="{engine}").close()  # the next writer puts the old series back
    assert steps("run") == (written or [(1, True), (2, True)]), number
print(number > 10, begun > 1)
"""


@pytest.mark.parametrize("sticky", [True, False])
@pytest.mark.parametrize("engine", ["raw", "mpiio", "adios_hdf5"])
def test_a_series_of_which_a_file_cannot_be_examined_is_not_replaced_unsaved(tmp_path, library, engine, sticky):
    assert run(library, tmp_path, REPLACED.format(engine=engine, sticky=sticky)) == "True True\n"


FIRST_STEP = """
import json
import shutil

def killed():
    for path, index in (("old", 1), ("run{extension}", 3)):
        with tr.open(path, "w", engine="{engine}") as out:
            out.write_step(0.1 * index, index=index, ux=a * index)
    names = os.listdir("old") if "{engine}" == "raw" else []
    aside = Path("run{extension}.replaced")
    aside.mkdir()
    for name in names:
        os.rename(f"old/{{name}}", aside / name)
    if not names:
        aside.rmdir()
        os.rename("old", aside)
    record = {{"tailrace": "replaced series", "state": "aside", "beside": [], "names": names}}
    Path("run{extension}.replaced.json").write_text(json.dumps(record))

place = Path.cwd()
(place / "killed").mkdir()
os.chdir(place / "killed")
killed()
told = 0
for number in range(1, 400):
    shutil.rmtree(place / "again", ignore_errors=True)
    shutil.copytree(place / "killed", place / "again")
    os.chdir(place / "again")
    injector.arm(Fault("{kind}", "{error}", sticky={sticky}), number)
    try:
        tr.open("run{extension}", "a", engine="{engine}").close()
    except tr.IoError:
        told += 1
    if not injector.disarm():
        break
    gc.collect()
    assert steps("run{extension}") == [(3, True)], number
    tr.open("run{extension}", "a", engine="{engine}").close()
    assert steps("run{extension}") == [(3, True)], number
    assert not Path("run{extension}.replaced").exists(), number
print(number > 3, told > 0)
"""


@pytest.mark.parametrize(
    ("engine", "extension", "kind", "error", "sticky"),
    [
        ("bp5", ".bp", "open", "EMFILE", False), ("bp4", ".bp4", "read", "ESTALE", True),
        ("hdf5", ".h5", "stat", "ESTALE", False), ("hdf5", ".h5", "open", "EACCES", True),
        ("hdf5", ".h5", "read", "ESTALE", True), ("raw", "", "open", "EACCES", True),
        ("raw", "", "stat", "ESTALE", False), ("raw", "", "read", "EIO", False),
    ],
)  # fmt: skip
def test_a_new_series_that_cannot_be_read_is_not_one_without_a_step(
    tmp_path, library, engine, extension, kind, error, sticky
):
    """A writer was killed after the first step of a series that replaces another, before it removed the other."""
    words = {"engine": engine, "extension": extension, "kind": kind, "error": error, "sticky": sticky}
    answer = run(library, tmp_path, FIRST_STEP.format(**words)).split()
    assert answer[0] == "True" and (sticky <= (answer[1] == "True"))


NOT_OPENED = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
place = tr.Block(np.ones((2, 4, 4)), (4, 4, 4), (0, 0, 2 * comm.rank))
parameters = {"collect_bytes": 0, "failure_timeout": 2, "transfer": sys.argv[1]}
out = tr.open("run", "w", engine="mpiio", parameters=parameters, comm=comm)
told = []
for number in range(1, 40):
    if comm.rank == 1:
        injector.arm(Fault("open", "EMFILE"), number)
    try:
        out.write_step(0.1 * number, index=number, ux=place)
        told.append(0)
    except tr.IoError:
        told.append(1)
    called = comm.bcast(injector.disarm() if comm.rank == 1 else "", root=1)
    if not called:
        break
out.close()
with tr.open("run", comm=comm) as stored:
    assert [step.index for step in stored] == [number for number, error in enumerate(told, 1) if not error]
if comm.rank == 0:
    print(len(told) > 2, sum(told) > 1, told[-1])
"""


@needs_open_mpi
def test_a_file_that_one_rank_cannot_open_by_mpi(tmp_path, library):
    """A common opening would leave all ranks waiting in Open MPI."""
    assert run(library, tmp_path, NOT_OPENED, 2, "independent") == "True True 0\n"


@needs_open_mpi
def test_a_file_that_one_rank_cannot_open_together_with_the_others(tmp_path, library):
    """Collective writing needs a common opening: after what can be tried before, the program ends with a message."""
    with pytest.raises(AssertionError, match=r"cannot open .*MPI-IO does not come back"):
        run(library, tmp_path, NOT_OPENED, 2, "collective")


FEW_DESCRIPTORS = """
from mpi4py import MPI
import resource
comm = MPI.COMM_WORLD
place = tr.Block(np.ones((2, 4, 4)), (4, 4, 4), (0, 0, 2 * comm.rank))
parameters = {"collect_bytes": 0, "failure_timeout": 2, "transfer": "collective"}
out = tr.open("run", "w", engine="mpiio", parameters=parameters, comm=comm)
out.write_step(0.1, index=1, ux=place)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
told = 0
for left in (0, 1, 2):
    taken = []
    if comm.rank == 1:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        while len(taken) < 256:
            try:
                taken.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                break
        for _ in range(left):
            os.close(taken.pop())
    try:
        out.write_step(0.2, index=2, ux=place)
    except tr.IoError as failure:
        told += "Too many open files" in str(failure)
    for one in taken:
        os.close(one)
out.write_step(0.2, index=2, ux=place)
out.close()
if comm.rank == 0:
    with tr.open("run", comm=MPI.COMM_SELF) as stored:
        print(told, [step.index for step in stored])
"""


def test_one_rank_has_too_few_descriptors_for_a_common_opening(tmp_path, library):
    assert run(library, tmp_path, FEW_DESCRIPTORS, 2) == "3 [1, 2]\n"
