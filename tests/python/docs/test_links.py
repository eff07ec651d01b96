"""Links of the pages lead somewhere also in a plain view of the repository, where the site is not built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.harness.snippets import ROOT

PAGES = [
    *(path for path in sorted(ROOT.glob("*.md"))),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "generated"),
    ROOT / "examples" / "README.md",
]


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as viewers of Markdown and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = page.parent / path if path else page
        assert place.exists(), f"{page.name} links to {target}, which is not in the repository"
        if anchor:
            assert anchor in _anchors(place), f"{page.name} links to {target}; there is no such heading"
