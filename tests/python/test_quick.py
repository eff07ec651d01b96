"""The list of `make quick` names tests that are there, and some of each folder."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
QUICK = (HERE / "quick.txt").read_text().splitlines()
FOLDERS = sorted({path.parent for path in HERE.rglob("test_*.py")})


@pytest.mark.parametrize("entry", QUICK)
def test_what_is_listed_is_there(entry):
    file, _, name = entry.partition("::")
    assert (ROOT / file).is_file()
    assert not name or f"\ndef {name.partition('[')[0]}(" in (ROOT / file).read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(HERE)))
def test_every_folder_has_a_quick_test(folder):
    assert any((ROOT / entry.partition("::")[0]).parent == folder for entry in QUICK), (
        f"tests/python/quick.txt has no test of {folder}; add one that takes about a second"
    )
