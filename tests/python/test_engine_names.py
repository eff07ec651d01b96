"""The check that nobody compares the name of an engine."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = {"raw", "hdf5"}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("check_engine_names", ROOT / "tools" / "check_engine_names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_names_are_those_of_the_table(tool):
    from tailrace.core import engine_names

    assert tool.names() == set(engine_names())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('if engine == "raw":\n    pass', [1]),
        ('x = 1\ny = a if "hdf5" != engine else b', [2]),
        ('known = [one for one in all if one not in ("sion", "raw")]', [1]),
        ('match engine:\n    case "raw":\n        pass', [2]),
        ('if "raw" in text:\n    pass', []),
        ('assert series.engine == "raw"', []),
        ('series.open(path, engine="raw")', []),
        ('if name == "bp":\n    pass', []),
    ],
)
def test_comparisons_in_python(tool, text, lines):
    assert list(tool.python_comparisons(text, ENGINES)) == lines


def test_comparisons_in_cpp(tool):
    text = 'if (name == "raw")\n  open("raw");\nif ("hdf5" != name)\n  EXPECT_TRUE(name == "raw");\n'
    assert list(tool.cpp_comparisons(text, ENGINES)) == [1, 3]


def test_this_tree_has_none(tool):
    assert list(tool.found()) == []
