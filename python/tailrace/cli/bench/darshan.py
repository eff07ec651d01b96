"""`--darshan` of `tailrace bench io`: Darshan's library watches the jobs, and its logs join the results."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from ..ranks import launch, started

if TYPE_CHECKING:
    from tailrace.bench.records.results import ResultFile


class Watched:
    """Jobs that Darshan watches. Its logs stay beside the results: results.jsonl has the directory `results-darshan`.

    :param out: the file of results.
    :raises ValueError: this program runs inside a job, which has started without Darshan; or there is no package
        `darshan` that reads the logs.
    :raises DarshanError: Darshan's library is missing, or does not load.
    :raises OSError: the directory of the logs cannot be made.
    """

    def __init__(self, out: Path) -> None:
        from tailrace.bench.ranks.darshan_runtime import preload

        if started.size() is not None:
            raise ValueError(
                "--darshan: Darshan must be loaded before MPI starts; leave mpiexec out, or set LD_PRELOAD to "
                "libdarshan.so for the job, and give its log to tailrace bench import"
            )
        package = importlib.util.find_spec("darshan")
        if package is None or package.origin is None:  # missing, or only a directory of that name
            raise ValueError(
                "--darshan: expected the Python package darshan, which reads the logs; pip install darshan"
            )
        self.directory = out.with_name(f"{out.stem}-darshan")
        self._environment = preload(self.directory)
        self._earlier = set(self.directory.rglob("*.darshan"))

    def start(self, ranks: int, words: list[str]) -> subprocess.Popen[str]:
        """Start ranks, as `start.start` does, with Darshan."""
        command = launch.job(ranks, words, alone=False)
        return launch.begin(command._replace(environment=command.environment | self._environment), subprocess.PIPE)

    def add_to(self, results: ResultFile) -> None:
        """Add the records of the logs of these jobs to a file of results.

        :raises DarshanError: the jobs have written no log.
        :raises ForeignError: a log cannot be read.
        """
        from tailrace.bench.imported.recognise import read_foreign
        from tailrace.bench.ranks.darshan_runtime import DarshanError, logs

        new = [log for log in logs(self.directory) if log not in self._earlier]
        if not new:
            raise DarshanError(f"{self.directory}: expected a new log of Darshan, found only those of earlier runs")
        for record in [record for log in new for record in read_foreign(log)]:
            results.add(record)
