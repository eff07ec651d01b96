"""What an interrupted run says is missing."""

from dataclasses import dataclass

from tailrace.bench.ranks.job import Job
from tailrace.bench.ranks.job_plan import JobPlan


@dataclass(frozen=True)
class Tasks:
    tasks: int


def job(ranks, tasks):
    return Job(ranks, Tasks(tasks), {})


def test_the_rest_of_the_current_job_and_the_later_jobs_are_missing():
    first, second, third = jobs = (job(1, 10), job(2, 10), job(2, 5))
    plan = JobPlan(jobs)
    assert plan.missing(0) == "25 of 25 measurements (10 of 10 on 1 rank, 15 of 15 on 2 ranks)"
    plan.begin(first, 0)
    assert plan.missing(4) == "21 of 25 measurements (6 of 10 on 1 rank, 15 of 15 on 2 ranks)"
    plan.begin(second, 9)  # one has failed
    assert plan.missing(12) == "12 of 25 measurements (12 of 15 on 2 ranks)"
    plan.begin(third, 19)
    assert plan.missing(24) == "nothing but the end of the run"
