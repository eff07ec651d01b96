"""The table of benches: each is a command whose options are its fields, and has jobs that travel to their ranks."""

import inspect
from dataclasses import fields, is_dataclass

import pytest

from tailrace import core as _core
from tailrace.bench.benches import benches
from tailrace.bench.io.bench import IoBench
from tailrace.bench.ranks.job import Job
from tailrace.cli.bench import command as commands

ALL = {one.name: one for one in benches()}


def options(one):
    """The fields of a dataclass and of its groups, in their order."""
    for field in fields(one):
        value = getattr(one, field.name)
        yield from options(value) if is_dataclass(value) else [(field.name, value)]


@pytest.mark.parametrize("bench", ALL.values(), ids=ALL)
def test_its_command_has_each_option_once(bench):
    command = commands.command_of(bench)
    found = [(one.name, one.default) for one in inspect.signature(command).parameters.values()]
    assert found == list(options(bench()))
    assert len(dict(found)) == len(found)
    assert inspect.getdoc(command) == inspect.getdoc(bench)
    assert {"limit", "out", "append"} <= dict(found).keys()
    assert not [name for name, default in found if default is True], "a flag is off until it is given"


@pytest.mark.parametrize("bench", ALL.values(), ids=ALL)
def test_its_jobs_are_the_same_on_their_ranks(tmp_path, bench):
    if bench.paired and "sst" not in _core.engine_names():
        pytest.skip("this build has no streams")
    jobs = bench().jobs({"here": tmp_path})
    assert jobs
    assert [Job.from_word(job.to_word()) for job in jobs] == jobs
    assert all(job.ranks > 0 and job.program.tasks > 0 for job in jobs)


def test_a_command_fills_groups_in_groups(monkeypatch):
    measured = []
    monkeypatch.setattr(commands, "measure", measured.append)
    given = dict(options(IoBench()))
    commands.command_of(IoBench)(**{**given, "whole": ["6,5,4"], "seed": 7, "append": True, "halo": 2})
    [bench] = measured
    assert (bench.grid.sizes.whole, bench.rhythm.seed, bench.results.append, bench.halo) == (["6,5,4"], 7, True, 2)
    assert dict(options(bench)) == {**given, "whole": ["6,5,4"], "seed": 7, "append": True, "halo": 2}
