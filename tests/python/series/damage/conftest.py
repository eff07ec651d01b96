"""What several tests of damage share."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.harness import injection


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    """Makes calls of the system fail in a program that preloads it."""
    return injection.preloaded(tmp_path_factory.mktemp("faults"))
