"""What is said of a path at which there is nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.files.missing import nothing_at


def test_a_near_name_beside_it_is_told(tmp_path: Path) -> None:
    for name in ("run.h5", "run1.h5", "notes.txt"):
        (tmp_path / name).touch()
    said = f"there is no such file or directory; did you mean {tmp_path / 'run.h5'}?"
    assert nothing_at(tmp_path / "runn.h5") == said
    assert nothing_at(tmp_path / "case.toml") == "there is no such file or directory"
    assert nothing_at(tmp_path / "deep" / "run.h5") == "there is no such file or directory"


def test_links_say_where_they_lead(tmp_path: Path) -> None:
    """Neither the link itself nor another one that leads nowhere is meant."""
    (tmp_path / "link.h5").symlink_to(tmp_path / "gone.h5")
    (tmp_path / "link2.h5").symlink_to(tmp_path / "gone.h5")
    (tmp_path / "ring").symlink_to("ring")
    target = (tmp_path / "gone.h5").resolve()
    assert nothing_at(tmp_path / "link.h5") == f"it is a link to {target}, which is not there"
    assert nothing_at(tmp_path / "ring") == "it is a link that leads back to itself"
    (tmp_path / "links.h5").touch()
    hint = f"; did you mean {tmp_path / 'links.h5'}?"
    assert nothing_at(tmp_path / "link.h5") == f"it is a link to {target}, which is not there{hint}"


@pytest.mark.parametrize("others", [["ux.a", "ux.b"], []])
def test_one_name_is_told_at_most(tmp_path: Path, others: list[str]) -> None:
    for name in others:
        (tmp_path / name).touch()
    assert nothing_at(tmp_path / "ux.c").count("did you mean") == bool(others)
