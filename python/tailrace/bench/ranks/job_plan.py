"""The jobs of a run, and what is missing of them when the run is interrupted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tailrace.text import counted

from .job import Job


@dataclass
class JobPlan:
    """All jobs of a run, in their order, and how far they are."""

    jobs: tuple[Job, ...] = ()
    begun: int = 0  # jobs
    before: int = 0  # tasks that were finished when the last of them began

    def begin(self, job: Job, finished: int) -> None:
        """A job begins; so many tasks of the jobs before it are finished."""
        if self.begun == len(self.jobs):
            self.jobs += (job,)
        self.begun += 1
        self.before = finished

    def missing(self, finished: int) -> str:
        """What is not measured, in words, when so many tasks are finished."""
        every, left = Counter[int](), Counter[int]()
        for number, job in enumerate(self.jobs):
            tasks = job.program.tasks
            every[job.ranks] += tasks
            if number >= self.begun:
                left[job.ranks] += tasks
            elif number == self.begun - 1:
                left[job.ranks] += max(0, tasks - (finished - self.before))
        parts = [
            f"{count} of {every[ranks]} on {counted(ranks, 'rank')}" for ranks, count in sorted(left.items()) if count
        ]
        if not parts:
            return "nothing but the end of the run"
        return f"{left.total()} of {counted(every.total(), 'measurement')} ({', '.join(parts)})"
