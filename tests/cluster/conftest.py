"""Fixtures of the tests on several nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nodes import Cluster, cluster_of

from helpers.harness.program import Program


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes, for all tests of a file."""
    with cluster_of(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """start(hosts, ranks, *command): in `cwd` or the directory of the test, whose programs end with it."""

    def begin(hosts: str, ranks: int | None, *command: object, analysis: str = "", cwd: Path = tmp_path) -> Program:
        return cluster.start(cwd, hosts, *command, ranks=ranks, analysis=analysis)

    yield begin
    for one in cluster.programs:
        one.end()
    if cluster.programs:
        cluster.kill_all()
    cluster.programs.clear()
