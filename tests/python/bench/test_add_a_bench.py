"""The page "Add a bench": its folder is a bench, as it stands there."""

import importlib
import sys

import tailrace.bench
from helpers.harness import snippets
from helpers.harness.bench_runs import run_here
from tailrace.bench.options import RoundOptions

PAGE = snippets.ROOT / "docs/howto/add_a_bench.md"


def test_the_folder_of_the_page_measures(tmp_path, monkeypatch):
    folder = tmp_path / "barrier"
    folder.mkdir()
    (folder / "__init__.py").touch()
    *modules, line = (block.text for block in snippets.read(PAGE).shown())
    for text in modules:
        name = text.split("\n", 1)[0].removeprefix("# ")
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(tailrace.bench, "__path__", [*tailrace.bench.__path__, str(tmp_path)])
    module, name = line.strip(' ",\n').split(":")
    try:
        bench = getattr(importlib.import_module(f"tailrace.bench.{module}"), name)
        found = run_here(tmp_path, bench(ranks="1", count=3, rhythm=RoundOptions(2)))
    finally:
        for known in [known for known in sys.modules if known.startswith("tailrace.bench.barrier")]:
            del sys.modules[known]
    assert not found.failures
    assert [(one.round, one.counts) for one in found.measurements] == [(1, {"barriers": 3}), (2, {"barriers": 3})]
