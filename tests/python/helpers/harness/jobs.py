"""A case for a batch system, and the command `tailrace job`."""

from typer.testing import CliRunner

from tailrace.cli.main import app

CASE = """
[case]
name = "small"
reynolds = 100.0
flow = "taylor-green"

[grid]
points = [16, 12, 8]
lengths = [6.283185307179586, 6.283185307179586, 6.283185307179586]
boundaries = ["periodic", "periodic", "periodic"]

[time]
dt = 1e-4
steps = 4000

[diagnostics]
every = 10

[[output]]
name = "snapshots"
fields = ["ux", "uy", "uz"]
every = 2000
engine = "hdf5"

[checkpoint]
minutes = 30.0
"""


def job(*words, code=0):
    """What `tailrace job WORDS` prints; it must end with `code`."""
    done = CliRunner().invoke(app, ["job", *words])
    assert done.exit_code == code, done.output
    return done.output
