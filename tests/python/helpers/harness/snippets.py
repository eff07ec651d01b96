"""The code blocks of a Markdown page, in order, and what comments of HTML say about them.

A comment before a block, which readers do not see, says what cannot be seen from the block itself:

    <!-- snippet: not run: REASON -->          the next block is not run
    <!-- snippet: fails: TEXT -->              the next block fails, and says TEXT
    <!-- snippet: smaller: --set KEY=VALUE --> every `tailrace run` of the page from here on gets these words
    <!-- snippet: data -->                     the files of a short run lie in the directory from here on
    <!-- snippet: LANGUAGE ...code... -->      a block that is run and not shown; `declarations` are those of Fortran

A block whose first line is a comment with the name of a file, `# enstrophy.py`, is also written into this file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[4]
RUN = ("python", "sh", "toml", "fortran")  # the languages of blocks that are run
ORDERS = ("smaller", "data", "hidden ")  # of comments, which readers do not see
SHOWN = ("text",)  # output, formulas, listings of files
_COMMENT = re.compile(r"<!--\s*snippet:\s*(.*?)\s*-->", re.DOTALL)
_FILE = re.compile(r"(?:#|!|//) ([\w./-]+\.\w+)$")


@dataclass(frozen=True)
class Block:
    """One block of code, or one order of a comment (`smaller`, `data`)."""

    language: str
    text: str
    line: int
    why_not: str = ""  # it is not run, for this reason
    fails: str = ""  # it fails, and says this

    @property
    def file(self) -> str:
        """The file that the block is written into, or nothing."""
        found = _FILE.match(self.text.partition("\n")[0].rstrip())
        return found[1] if found else ""


@dataclass
class Page:
    """A page and its blocks."""

    path: Path
    blocks: list[Block] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    def shown(self) -> list[Block]:
        """The blocks that readers see as code."""
        return [block for block in self.blocks if not block.language.startswith(ORDERS)]

    def run(self) -> list[Block]:
        return [block for block in self.shown() if not block.why_not]


def _order(comment: str) -> tuple[str, str]:
    """The kind of a comment, and the rest of it."""
    for kind in ("not run", "fails", "smaller"):
        if comment.startswith(f"{kind}:"):
            return kind, comment.partition(":")[2].strip()
    kind, _, rest = comment.partition("\n")
    return kind.strip(), rest


def read(path: Path) -> Page:
    """The page of a file.

    :raises ValueError: a comment that is not understood, or code that is only indented.
    """
    page, why_not, fails = Page(path), "", ""
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "code_block":
            raise ValueError(f"{path}:{line}: code that is only indented has no language; put it between ``` lines")
        if token.type == "html_block":
            for comment in _COMMENT.findall(token.content):
                kind, rest = _order(comment)
                if kind == "not run":
                    why_not = rest
                elif kind == "fails":
                    fails = rest
                elif kind in ("smaller", "data", "declarations", *RUN):
                    page.blocks.append(Block(kind if kind in ("smaller", "data") else f"hidden {kind}", rest, line))
                else:
                    raise ValueError(f"{path}:{line}: a comment 'snippet: {kind}' is not known")
        if token.type == "fence" and not token.info.startswith("{"):
            language = token.info.strip()
            page.blocks.append(Block(language, token.content, line, why_not, fails))
            why_not = fails = ""
    return page


def pages() -> list[Page]:
    """README and the written pages of the site. Notebooks are run when the site is built."""
    found = [
        path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name not in ("generated", "notebooks")
    ]
    return [read(path) for path in [ROOT / "README.md", *found]]


def counts() -> str:
    """How many blocks are run, and how many are not."""
    every = [block for page in pages() for block in page.shown() if block.language not in SHOWN]
    without = sum(bool(block.why_not) for block in every)
    return f"{len(every) - without} run, {without} not run, each with its reason"
