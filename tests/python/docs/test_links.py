"""Links between the written documents lead to files and headings that are there."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from helpers.harness.snippets import ROOT

FOLDERS = ("docs", "examples", "benchmarks")
PAGES = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
PAGES = sorted(path for path in PAGES if path.parent.name != "generated")


def anchors(path: Path) -> set[str]:
    """The names of the headings of a page, and those that it gives by (NAME)=."""
    text = path.read_text(encoding="utf-8")
    tokens = MarkdownIt().parse(text)
    heads = [after.content for head, after in itertools.pairwise(tokens) if head.type == "heading_open"]
    slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    return slugs | set(re.findall(r"(?m)^\(([\w-]+)\)=$", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    inline = [token for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")) if token.children]
    links = [child.attrs.get("href") or child.attrs.get("src") for token in inline for child in token.children or []]
    for link in filter(None, links):
        if re.match(r"\w+:", str(link)):
            continue  # to other places
        file, _, anchor = unquote(str(link)).partition("#")
        start = ROOT / "docs" if file.startswith("/") else page.parent  # Sphinx counts from the top of the site
        target = (start / file.lstrip("/")).resolve() if file else page
        if "generated" in target.parts:
            continue  # it is made when the site is built, which checks these links
        assert target.exists(), f"{page}: the link {link} leads to {target}, which does not exist"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page}: the link {link} names no heading of {target}"
