"""What a release says of itself in more than one place."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_citation_has_the_version_of_the_build():
    build = re.search(r"project\(Tailrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    page = re.search(r"version = \{(\S+)\}", (ROOT / "docs" / "cite.md").read_text(encoding="utf-8"))
    assert build and citation and page
    assert citation[1] == page[1] == build[1]
