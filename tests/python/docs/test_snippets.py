"""Every block of code in README and in the pages of docs/ is run, or says why not."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from helpers.harness.snippet_runner import Runner
from helpers.harness.snippets import ROOT, RUN, SHOWN, Page, pages, read

PAGES = pages()


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


@pytest.mark.parametrize("page", [page for page in PAGES if page.run()], ids=lambda page: page.name)
def test_blocks_run(page: Page, runner: Runner, tmp_path: Path) -> None:
    runner.page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_run_or_says_why_not(page: Page) -> None:
    for block in page.shown():
        assert block.why_not or block.language in (*RUN, *SHOWN), (
            f"{page.name}:{block.line}: a block of language '{block.language}' is not run; "
            "write <!-- snippet: not run: REASON --> before it"
        )


def test_names_of_the_documents_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"\btr\.([A-Za-z_]\w*)", page.path.read_text(encoding="utf-8")):
            assert hasattr(tr, name), f"{page.name} names tr.{name}, which does not exist"


def test_reference_has_all_names() -> None:
    reference = "".join(path.read_text() for path in (ROOT / "docs" / "reference" / "python").glob("*.md"))
    documented = set(re.findall(r"\.\. auto(?:function|class|exception):: (\w+)", reference))
    assert documented == set(tr.__all__)


def test_script_of_figures_on_two_ranks(runner: Runner, tmp_path: Path) -> None:
    """Its numbers are those of one rank."""
    block = next(block for block in read(ROOT / "docs" / "howto" / "figures.md").blocks if block.file == "figures.py")
    tell = """
import json
from pathlib import Path
if MPI.COMM_WORLD.rank == 0:
    numbers = {name: [float(value) for value in y] for name, y in y_of.items()}
    Path(f"{MPI.COMM_WORLD.size}.json").write_text(json.dumps(numbers))
"""
    shutil.copytree(runner.data(), tmp_path, dirs_exist_ok=True)
    (tmp_path / "figures.py").write_text(block.text + tell)
    failed, said = runner.shell("python figures.py && mpiexec -n 2 python figures.py", tmp_path)
    assert not failed, said
    one, two = (json.loads((tmp_path / f"{ranks}.json").read_text()) for ranks in (1, 2))
    for name, values in one.items():
        assert len(values) >= 5
        np.testing.assert_allclose(two[name], values, rtol=1e-12, atol=1e-12 * max(values), err_msg=name)
        assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_wrong_blocks_are_found(runner: Runner, tmp_path: Path) -> None:
    """What the tests above rely on: a block that fails, fails the test of its page."""
    for number, text in enumerate(
        (
            "```python\nassert 1 == 2\n```",
            "```sh\ntailrace nonsense\n```",
            "```toml\n[case]\nreynold = 1.0\n```",
            "```toml\n[variables]\nux = 1\n```",
            "<!-- snippet: fails: such words -->\n```python\n1 / 0\n```",
            "<!-- snippet: fails: anything -->\n```sh\ntrue\n```",
            "```fortran\ncall out%opened('run.h5')\n```",
        )
    ):
        path = ROOT / "docs" / f"page-{number}.md"
        page = Page(path, read_text(tmp_path / "page.md", text).blocks)
        with pytest.raises(AssertionError):
            runner.page(page, tmp_path)
    with pytest.raises(ValueError, match="only indented"):
        read_text(tmp_path / "page.md", "    tailrace run case.toml\n")


def read_text(path: Path, text: str) -> Page:
    path.write_text(text)
    return read(path)
