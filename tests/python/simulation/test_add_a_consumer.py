"""The page "Add a consumer": what it writes into a copy of the package works, as it stands there."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np

import tailrace
import tailrace as tr
from helpers.harness import mpi_run, snippets
from tailrace import _core
from tailrace.io.time_series import read_time_series

PAGE = snippets.ROOT / "docs/howto/add_a_consumer.md"
CASE = """
[case]
flow = "taylor-green"
reynolds = 100.0
[grid]
points = [16, 12, 8]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "periodic", "periodic"]
[time]
dt = 0.01
steps = 6
[[output]]
name = "snapshots"
fields = ["uy", "q"]
every = 2
engine = "hdf5"
[[extremes]]
fields = ["uy", "q"]
every = 2
"""


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text()
    assert before in source, path
    path.write_text(source.replace(before, text + before, 1))


def test_the_consumer_of_the_page_sees_the_steps_of_a_run(tmp_path):
    package = tmp_path / "python" / "tailrace"
    shutil.copytree(Path(str(tailrace.__file__)).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(Path(_core.__file__), package)
    shutil.copy(Path(_core.__file__).with_name("libtailrace.so"), package)
    section, field, consumer, line = (block.text for block in snippets.read(PAGE).shown())
    (package / "case/sections/extremes_section.py").write_text(section)
    known = "from .sections.forcing_section import"
    insert(package / "case/case.py", known, "from .sections.extremes_section import ExtremesSection\n")
    insert(
        package / "case/case.py", "    analysis: list[AnalysisSection]", "    " + field.split("\n", 1)[1].strip() + "\n"
    )
    (package / "consumers/extremes.py").write_text(consumer)
    recorder = package / "simulation/recorder.py"
    insert(recorder, "from tailrace.consumers.opening", "from tailrace.consumers.extremes import open_extremes\n")
    table, added = re.compile(r"^OPENERS.*?^\]\n", re.M | re.S), "    open_extremes,\n"
    before = table.search(text := recorder.read_text())
    assert before is not None and line.replace(added, "") == before[0], "the page shows the table as it is"
    recorder.write_text(text.replace(before[0], line))

    (tmp_path / "case.toml").write_text(CASE)
    for ranks in (1, 2):
        command = [sys.executable, "-m", "tailrace.cli", "run", "case.toml", *(["--overwrite"] if ranks > 1 else [])]
        launcher = mpi_run.mpiexec(ranks) if ranks > 1 else []
        done = mpi_run.finish(mpi_run.start([*launcher, *command], tmp_path, {"PYTHONPATH": str(package.parent)}), 120)
        assert done.code == 0, done.text
        table = read_time_series(tmp_path / "extremes.csv")
        with tr.open(tmp_path / "snapshots.h5") as stored:
            assert table["step"].tolist() == [step.index for step in stored] == [0, 2, 4, 6]
            for name in ("uy", "q"):
                np.testing.assert_allclose(table[name], [abs(step.read(name)).max() for step in stored], rtol=1e-15)
