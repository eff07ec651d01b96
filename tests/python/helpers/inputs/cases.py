"""Small cases that take a fraction of a second a step: non-cubic, without symmetry, with every kind of boundary."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from ..harness import mpi_run
from ..harness.kept import KEPT
from . import mixed_flow, sidecar
from .mixed_flow import LENGTHS

BOXES = {
    "periodic": ((16, 12, 10), ("periodic", "periodic", "periodic")),
    "free-slip": ((13, 17, 11), ("free-slip", "free-slip", "free-slip")),
    "mixed": ((16, 11, 13), ("periodic", "free-slip", "periodic")),
}


def write_case(
    directory: Path,
    box: str = "mixed",
    *,
    steps: int = 10,
    scheme: str = "rk3",
    precision: str = "double",
    dt: float = 0.01,
    every: int = 0,
    keep: int = 2,
    diagnostics: int = 1,
    outputs: tuple[str, ...] = (),
    output_every: int = 2,
    extra: str = "",
    points: tuple[int, int, int] | None = None,
    flow: str = "flow.py:velocity",
) -> Path:
    """Write case.toml and flow.py; returns the path of the case."""
    nodes, boundaries = BOXES[box]
    directory.mkdir(parents=True, exist_ok=True)
    periodic = tuple(kind == "periodic" for kind in boundaries)
    text = Path(mixed_flow.__file__).read_text()
    (directory / "flow.py").write_text(re.sub(r"PERIODIC = .*", f"PERIODIC = {periodic}", text))
    suffix = {"adios_hdf5": ".adios_hdf5", "bp4": ".bp4", "hdf5": ".h5", "bp5": ".bp", "raw": "", "sion": ".sion"}
    blocks = "".join(
        f"""
[[output]]
name = "{engine}"
fields = ["ux", "uy", "uz", "pressure"]
every = {output_every}
engine = "{engine}"
path = "out{suffix[engine]}"
"""
        for engine in outputs
    )
    path = directory / "case.toml"
    path.write_text(
        f"""
[case]
name = "test"
flow = "{flow}"
reynolds = 100.0
[grid]
points = {list(points or nodes)}
lengths = {list(LENGTHS)}
boundaries = {json.dumps(boundaries)}
[time]
scheme = "{scheme}"
dt = {dt}
steps = {steps}
[numerics]
precision = "{precision}"
[diagnostics]
every = {diagnostics}
[checkpoint]
every = {every}
keep = {keep}
{extra}
{blocks}"""
    )
    return path


def run(
    case: Path, *arguments: object, ranks: int | None = None, limit: float = 60, overwrite: bool = True
) -> mpi_run.Result:
    """Run a case in its directory; its output and exit code.

    On ranks that are kept, but for numbers of ranks that few tests need.

    :param overwrite: a case that is started again replaces its results.
    """
    if overwrite and not {"--resume", "--overwrite"} & {str(word) for word in arguments}:
        arguments = (*arguments, "--overwrite")
    if (ranks or 1) <= 6:
        return KEPT.result(case.parent, "run", case, *arguments, ranks=ranks or 1, limit=limit)
    return mpi_run.tailrace("run", case, *arguments, cwd=case.parent, ranks=ranks, limit=limit)


def message(result: mpi_run.Result, code: int = 1) -> str:
    """The message of a run that failed; one per rank, or tracebacks, fail the test."""
    assert result.code == code, result.text
    assert "Traceback" not in result.text
    assert "this is a defect" not in result.text
    assert "[rank " not in result.err, "one rank failed alone, and had to abort the others that waited for it"
    assert result.err.count("tailrace: ") == 1, result.err
    return result.err[result.err.index("tailrace: ") :]


def table(path: Path) -> list[bytes]:
    """The columns and rows of a time series, without the comments, which tell who made it and when."""
    return [line for line in path.read_bytes().splitlines() if not line.startswith(b"#")]


def checkpoints(directory: Path) -> list[int]:
    """Steps of the checkpoints in a run's directory, in order; those that are under way are not counted."""
    return sorted(int(path.name[5:]) for path in (directory / "checkpoints").glob("step-????????"))


def state(directory: Path, step: int) -> dict[str, np.ndarray]:
    """The fields of a checkpoint, read without Tailrace."""
    path = directory / "checkpoints" / f"step-{step:08d}"
    told = sidecar.read(path)["steps"][0]
    assert told["index"] == step
    return {
        entry["name"]: np.fromfile(path / entry["file"], entry["type"]).reshape(entry["shape"])
        for entry in told["variables"]
    }


def assert_same_state(one: dict[str, np.ndarray], other: dict[str, np.ndarray], tolerance: float = 0.0) -> None:
    """Bitwise equal where `tolerance` is 0."""
    assert one.keys() == other.keys()
    for name, values in one.items():
        if tolerance == 0.0:
            assert values.tobytes() == other[name].tobytes(), f"{name} differs by {abs(values - other[name]).max()}"
        else:
            assert abs(values - other[name]).max() <= tolerance, name
