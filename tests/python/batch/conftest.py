import os

import pytest

from helpers.harness.jobs import CASE


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(CASE)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("OMPI_COMM", "PMI", "PALS_", "SLURM_", "PBS_"))]:
        monkeypatch.delenv(name)
    return tmp_path
