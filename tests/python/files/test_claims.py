"""The right to set earlier results aside: which run holds it, when the run gives it back, and what happens to links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailrace.core import FileLock, InputError, IoError
from tailrace.files.set_aside import SetAside, record_of


def is_free(record: Path) -> bool:
    """Whether a program may use a record."""
    try:
        FileLock(str(record)).release()
    except IoError:
        return False
    return True


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_claim_makes_the_folder_of_its_record(tmp_path: Path) -> None:
    record = record_of(tmp_path / "a" / "b" / "run.h5")
    with SetAside(record, [tmp_path / "a"]) as earlier:
        earlier.claim()
        earlier.claim()
        assert record.parent.is_dir() and not is_free(record)
    assert is_free(record)


@pytest.mark.parametrize("text", ["mine", '{"tailrace": "earlier results", "state": 3}'])
def test_a_claim_that_fails_is_given_back_at_once(tmp_path: Path, text: str) -> None:
    record = record_of(tmp_path / "x")
    with SetAside(record, [tmp_path / "x"]) as earlier:
        record.write_text(text)
        with pytest.raises((InputError, IoError), match=r"x\.earlier\.json is "):
            earlier.claim()
        assert is_free(record)
    assert record.read_text() == text


def test_a_record_that_cannot_be_written_is_given_back_at_once(tmp_path: Path) -> None:
    record = record_of(tmp_path / "x")
    (tmp_path / "x").write_text("old")
    with SetAside(record, [tmp_path / "x"]) as earlier:
        (tmp_path / "x.earlier.json.tmp").write_text("mine")
        with pytest.raises(InputError, match="is no record of earlier results"):
            earlier.set_aside([tmp_path / "x"])
        assert is_free(record) and not record.exists()
    assert (tmp_path / "x").read_text() == "old"


def test_a_record_is_given_back_when_the_new_results_exist(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with SetAside(record_of(tmp_path / "x"), [tmp_path / "x"]) as earlier:
        earlier.set_aside([tmp_path / "x"])
        (tmp_path / "x").write_text("new")
        earlier.remove()
        assert is_free(record_of(tmp_path / "x"))


def test_one_that_went_away_brings_the_others_back_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with SetAside(record_of(tmp_path / "a"), [tmp_path]) as earlier:
        with pytest.raises(IoError, match=rf"{tmp_path / 'b'} went away while earlier results were being set aside"):
            earlier.set_aside([tmp_path / "a", tmp_path / "b"])
        assert (tmp_path / "a").read_text() == "old" and not (tmp_path / "a.earlier.json").exists()


def test_a_record_that_somebody_removed_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with SetAside(record_of(tmp_path / "a"), [tmp_path]) as earlier:
        earlier.set_aside([tmp_path / "a"])
        record_of(tmp_path / "a").unlink()
    assert (tmp_path / "a").read_text() == "old"


def test_links_stay_and_lead_somewhere(tmp_path: Path) -> None:
    """A new series is written into the folder to which its name leads."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "run.bp").mkdir()
    (tmp_path / "disk" / "run.bp" / "md.idx").write_text("old")
    (tmp_path / "disk" / "a.h5").write_text("old")
    paths = [tmp_path / "run.bp", tmp_path / "a.h5"]
    for path in paths:
        path.symlink_to(Path("disk") / path.name)
    with SetAside(record_of(tmp_path / "run.bp"), paths) as earlier:
        earlier.set_aside(paths)
        assert names(tmp_path / "disk") == ["a.h5.earlier", "run.bp", "run.bp.earlier"]
        assert not any((tmp_path / "run.bp").iterdir()) and not (tmp_path / "a.h5").exists()
    assert (tmp_path / "run.bp" / "md.idx").read_text() == (tmp_path / "a.h5").read_text() == "old"
    assert all(path.is_symlink() for path in paths)
    assert names(tmp_path / "disk") == ["a.h5", "run.bp"]


def test_folders_that_are_set_aside_leave_their_names_free(tmp_path: Path) -> None:
    place = tmp_path / "run.bp"
    place.mkdir()
    with SetAside(record_of(place), [place]) as earlier:
        earlier.set_aside([place])
        assert not place.exists()
        told = json.loads(record_of(place).read_text())
        assert (told["state"], told["paths"]) == ("aside", [str(place)])
    assert place.is_dir()
