"""The check of imports and includes against the table of rooms."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def layers():
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_layers"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["check_layers"]


TABLE = {"io": ["support"], "io/raw": ["support", "io/data"], "io/data": ["support"], "support": [], "c_api": ["io/*"]}


def arrow(layers, source, target):
    return layers.Arrow(source, target, f"{source}.cpp:7")


@pytest.mark.parametrize(
    ("source", "target"),
    [("io/raw/x", "io/data/block"), ("io/raw/x", "io/raw/y"), ("io/series", "support/error"), ("c_api/x", "io/raw/x")],
)
def test_allowed(layers, source, target):
    assert not list(layers.forbidden([arrow(layers, source, target)], TABLE))


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("io/data/block", "io/raw/x", "io/data/block.cpp:7: io/data may not include io/raw"),
        ("io/raw/x", "io/series", "io/raw/x.cpp:7: io/raw may not include io"),
        ("support/error", "io/data/block", "support/error.cpp:7: support may not include io/data"),
        ("c_api/x", "io/series", "c_api/x.cpp:7: c_api may not include io"),
        ("ioless/x", "support/error", "ioless/x.cpp:7: ioless/x is in no room of tools/layers.toml"),
    ],
)
def test_forbidden(layers, source, target, said):
    assert list(layers.forbidden([arrow(layers, source, target)], TABLE)) == [said]


def test_circles(layers):
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("f", "e"), ("d", "g")]
    assert layers.circles(arrow(layers, *pair) for pair in pairs) == [["a", "b", "c"], ["e", "f"]]


def test_includes_are_found(layers, tmp_path, monkeypatch):
    tree = tmp_path / "src" / "tailrace" / "grid"
    tree.mkdir(parents=True)
    (tree / "box.cpp").write_text(
        "#include <tailrace/grid/box.hpp>\n#include <vector>\n  # include <tailrace/support/error.hpp> // why\n"
    )
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    assert layers.cpp_arrows() == [layers.Arrow("grid/box", "support/error", "src/tailrace/grid/box.cpp:3")]


def test_the_imports_of_this_package_are_found(layers):
    pytest.importorskip("grimp")
    arrows = layers.python_arrows()
    assert any(one.source == "flow/model" and one.target == "flow/checkpoint" for one in arrows)
    assert any(one.source == "flow/model" and one.target == "case/case" for one in arrows), "for type checkers"
    assert any(one.source == "cli/main" and one.target == "simulation/simulation" for one in arrows), "in a function"
    assert not any(one.target == "" and "ready" not in one.source for one in arrows), "_core is below all rooms"


def test_public_header_that_includes_a_private_one(layers):
    listed = "target_sources(t PUBLIC FILE_SET HEADERS FILES\n  tailrace/flow/a.hpp\n  tailrace/flow/b.hpp)"
    sources = {
        "tailrace/flow/a.hpp": "#pragma once\n#include <tailrace/flow/b.hpp>\n#include <tailrace/flow/c.hpp>\n",
        "tailrace/flow/b.hpp": "#include <vector>\n",
        "tailrace/flow/c.hpp": "#include <tailrace/flow/d.hpp>\n",
    }
    assert list(layers.not_installed(listed, sources)) == [
        "src/tailrace/flow/a.hpp:3: tailrace/flow/c.hpp is not among the public headers in src/CMakeLists.txt"
    ]


def test_the_compiled_module_has_one_door(layers, tmp_path, monkeypatch):
    """Who imports the compiled module elsewhere is told; what the door gives is for all rooms."""
    arrows = layers.python_arrows()
    assert not any("core" in (one.source, one.target) or one.target == "_core" for one in arrows)
    for line in ("from tailrace import _core", "from . import _core", "    from tailrace._core import Error"):
        assert layers._COMPILED.match(line), line
    assert list(layers.forbidden([arrow(layers, "io/x", "_core")], {"io": []}))


def test_engines_without_a_row_have_the_usual_one(layers):
    table = layers.with_engines({"io/ENGINE": ["support"], "io/hdf5": ["io/h5"]}, ["raw", "hdf5"])
    assert table == {"io/raw": ["support"], "io/hdf5": ["io/h5"]}
    assert "raw" in layers.engine_names()


def test_full_folders_and_names_that_stand_twice(layers):
    files = [f"src/a/{number}{ending}" for number in range(24) for ending in (".cpp", ".hpp")]
    assert list(layers.full_folders(files)) == []
    (line,) = layers.full_folders([*files, "src/a/b.cpp", "src/b/c.cpp"])
    assert line.startswith("src/a: 25 files, expected at most 24")
    (line,) = layers.twice([("Step", "a.py"), ("Place", "b.py"), ("Step", "c.py")])
    assert line == "Step: stands for several things, in a.py, c.py"
    assert layers.check_names()
