"""Which earlier results are read in another process first, and which files belong to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailrace.io import guard, series
from tailrace.io.found import ExistingResult, of_series


@pytest.mark.parametrize(("name", "engine", "vouched"), [("run.h5", "hdf5", True), ("run", "adios_hdf5", False)])
def test_what_checksums_cover_needs_no_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, engine: str, vouched: bool
) -> None:
    path = tmp_path / name
    with series.open(path, "w", engine=engine) as out:
        out.set_attribute("run", "abc")
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(guard, "check_metadata", lambda *given: calls.append(given))
    (found,) = of_series(path)
    assert found.named == str(path) and found.run == "abc" and found.files
    assert len(calls) == (not vouched)
    assert list(of_series(path, guarded=False)) == [found]
    assert len(calls) == (not vouched), "the second time none"


def test_a_journal_belongs_to_its_series(tmp_path: Path) -> None:
    """One of a series in a directory is among its files; that of another series is not."""
    path = tmp_path / "run.h5"
    with series.open(path, "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    (tmp_path / "run.journal").write_bytes(b"")
    (found,) = of_series(path)
    files = [path, Path(f"{path}.xdmf2")]
    assert found == ExistingResult(str(path), files)
    journal = tmp_path / "run.h5.journal"
    journal.write_bytes(b"")
    assert list(of_series(path)) == [ExistingResult(str(path), [*files, journal])]


def test_what_a_killed_program_began_to_replace_is_a_result(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with series.open(path, "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    path.rename(f"{path}.replaced")
    told = {"tailrace": "replaced series", "state": "aside", "beside": [], "names": []}
    Path(f"{path}.replaced.json").write_text(json.dumps(told))
    (found,) = of_series(path)
    assert found.files and path in found.files and path.exists()
