"""The two ends of a stream, as programs: `python stream_ends.py write|read NAME [key=value ...]`.

Both print what they do, a line each, for which the test waits, and at the end what the coupling has
cost ("coupling", JSON). The writer says "left INDEX" of a step that the stream does not take, and at the end which
those were ("dropped", JSON); the reader "missed", JSON, of those that it learns of. The values of a field follow from
step and position, so that the reader can tell a wrong one.

The test steers them by files in the working directory: the writer ends when there is a file `stop`; a reader told
`hold=yes` says which step has come and looks at it only when there is a file `go`.
"""

import contextlib
import dataclasses
import itertools
import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace as tr

comm = MPI.COMM_WORLD


def say(*words):
    if comm.rank == 0:
        print(*words, flush=True)


def there_is(name):
    """On all ranks alike."""
    return comm.bcast(Path(name).exists())


def field(shape, index, z):
    """Rows z of the field of a step."""
    nx, ny, nz = shape
    return (1000.0 * index + np.arange(nx * ny * nz, dtype=float).reshape(nz, ny, nx))[z]


def scalars(index):
    """Those of a step, one of which the others do not have."""
    return {"energy": 0.25 * index, "count": index, "word": f"step {index}", **({"rare": 0.5} if index == 2 else {})}


def part(n):
    """This rank's share of n."""
    return n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size


def listening():
    """The number of sockets of this process to which others may connect."""
    own = {str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()}
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return sum(row[3] == "0A" and f"socket:[{row[9]}]" in own for row in rows)


def write(name, options):
    shape = tuple(int(n) for n in options.pop("shape", "6x5x12").split("x"))
    steps, pause = int(options.pop("steps", 5)), float(options.pop("pause", 0))  # 0 steps: until there is a file `stop`
    blind = options.pop("blind", "")  # writes to steps that are not taken too
    fails = options.pop("fails", "")  # tries a step with a wrong second array before each step
    leaves_in = int(options.pop("leaves_in", -1))  # the number of the step that it does not end before it closes
    begin, end = part(shape[2])
    before, most, listened = time.monotonic(), 0.0, listening()
    with tr.open(name, "w", comm=comm, parameters=options, grid=tr.UniformGrid(shape, spacing=(0.5, 0.5, 0.25))) as out:
        say("open")
        say("listens", json.dumps(comm.gather(listening() > listened)))
        out.set_attribute("case", "tgv")
        out.set_attribute("ux/unit", "m/s")
        for index in itertools.count():
            if there_is("stop") if steps == 0 else index == steps:
                break
            ux = field(shape, index, slice(begin, end))
            if fails:
                with contextlib.suppress(tr.InputError):
                    wrong = {"ux": tr.Block(ux, shape, (0, 0, begin)), "id": tr.Block(np.zeros(3), shape)}
                    out.write_step(99.0, wrong, index=10 * index)
                    say("written")
            entered = time.monotonic()
            if not (taken := out.begin_step(10 * index, 0.5 * index)):
                say("left", 10 * index)
            if taken or blind:
                out.write("ux", tr.Block(ux, shape, (0, 0, begin)))
                if index == leaves_in:
                    break
                out.write("id", tr.Block(ux.astype(np.int32), shape, (0, 0, begin)))
                out.write_list("particles", np.full((index * (comm.rank + 1), 3), float(comm.rank)))
                if index == 2:
                    out.write("once", tr.Block(ux.astype(np.float32), shape, (0, 0, begin)))
                for scalar, value in scalars(index).items():
                    out.write_scalar(scalar, value)
            out.end_step()
            most = max(most, time.monotonic() - entered)
            say("wrote", 10 * index)
            time.sleep(pause)
        if "buffers" not in options:  # else it would wait for the background
            own = out.coupling.own
            say("cost", json.dumps({"elapsed": own.elapsed, "spent": own.wait + own.transfer, "most": most}))
        say("closing", round(time.monotonic() - before, 2))
    say("dropped", json.dumps(out.dropped))
    say("coupling", json.dumps(dataclasses.asdict(out.coupling)))
    say("closed", round(time.monotonic() - before, 2))


def check(step, shape):
    """What `write` of this module has written."""
    index = step.index // 10
    assert step.time == 0.5 * index
    begin, end = part(shape[2])
    got = step.read("ux", ((0, 0, begin), (shape[0], shape[1], end - begin)))
    np.testing.assert_array_equal(got, field(shape, index, slice(begin, end)))
    box = ((1, 2, 3), (2, 1, 4))
    np.testing.assert_array_equal(step.read("id", box), field(shape, index, slice(3, 7))[:, 2:3, 1:3])
    assert ("once" in step) == (index == 2), step.names
    assert step.variables["id"].dtype == "int32"
    assert step.variables["particles"].is_list
    rows = step["particles"]
    assert rows.shape[1] == 3
    assert len(rows) % (index or 1) == 0
    assert step.scalars == scalars(index)
    assert step.verify() == []
    assert not step.unchecked


@contextlib.contextmanager
def closed_after_an_error(series):
    """What has failed can be closed nevertheless."""
    try:
        yield
    except tr.IoError:
        series.close()
        say("closed after an error")
        raise


def read(name, options):
    foreign, most, pause = options.pop("foreign", ""), int(options.pop("most", 10**6)), float(options.pop("pause", 0))
    hold, verify_only = options.pop("hold", ""), options.pop("verify_only", "")
    hang = options.pop("hang", "")
    say("opening")
    series = tr.open(name, comm=comm, parameters=options)
    say("open")
    missed = []
    with closed_after_an_error(series):
        for number, step in enumerate(series):
            missed += step.missed
            if hold:
                say("got", step.index)
                while not there_is("go"):
                    time.sleep(0.02)
            if verify_only:
                assert step.verify() == []
                say("read", step.index)
            elif foreign:
                shape = step.variables["ux"].shape
                assert step["uz"].mean() == 3 * step.index
                say("read", step.index, step.time, shape)
            else:
                shape = series.grid.points
                assert series.grid.spacing == (0.5, 0.5, 0.25)
                assert series.attributes == {"case": "tgv", "ux/unit": "m/s"}
                check(step, shape)
                say("read", step.index)
            if number + 1 == most:
                break
            time.sleep(1000 if hang and number == 2 else pause)
    count = len(series)
    series.close()
    say("missed", json.dumps(missed))
    say("coupling", json.dumps(dataclasses.asdict(series.coupling)))
    say("end", count)


if __name__ == "__main__":
    chosen = {"write": write, "read": read}[sys.argv[1]]
    try:
        chosen(sys.argv[2], dict(word.split("=", 1) for word in sys.argv[3:]))
    except (tr.IoError, tr.InputError) as error:
        say("error:", " ".join(str(error).split()))
        sys.stdout.flush()
        sys.exit(3)
