"""The list of skips that CI allows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.harness.skips import SkipGuard

HERE = Path(__file__).parent
CONFTEST = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from pathlib import Path
from helpers.harness.skips import SkipGuard

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGuard(Path("allowed.toml")))
"""
TESTS = """
import pytest

def test_listed():
    pytest.skip("takes long: an hour")

@pytest.mark.xfail(reason="not there yet")
def test_expected_to_fail():
    assert False

{more}
"""
BY_TEST = 'def test_unlisted():\n    pytest.skip("nobody knows why")'
BY_MARK = '@pytest.mark.skip(reason="nobody knows why")\ndef test_unlisted(): ...'
BY_MODULE = 'pytest.skip("nobody knows why", allow_module_level=True)'


def run(directory, more, *words):
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "allowed.toml").write_text('[[skip]]\npattern = "takes long"\nwhy = "by hand"\n')
    (directory / "test_some.py").write_text(TESTS.format(more=more))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=directory, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", [(), ("-n", "2", "--dist", "loadfile")], ids=["one process", "xdist"])
@pytest.mark.parametrize("more", [BY_TEST, BY_MARK, BY_MODULE], ids=["in the test", "by mark", "whole file"])
def test_a_skip_that_is_not_on_the_list_fails_the_run(tmp_path, more, words):
    done = run(tmp_path, more, *words)
    assert done.returncode == 1, done.stdout
    assert done.stdout.count("nobody knows why") >= 1
    assert "skips that are not allowed in CI" in done.stdout
    assert "takes long" not in done.stdout


@pytest.mark.parametrize("words", [(), ("-n", "2", "--dist", "loadfile")], ids=["one process", "xdist"])
def test_a_skip_on_the_list_is_allowed(tmp_path, words):
    done = run(tmp_path, "", *words)
    assert done.returncode == 0, done.stdout


def test_every_entry_of_the_list_says_why(tmp_path):
    (tmp_path / "allowed.toml").write_text('[[skip]]\npattern = "takes long"\nwhy = " "\n')
    SkipGuard(HERE / "allowed_skips.toml")
    with pytest.raises(ValueError, match="needs a pattern and why"):
        SkipGuard(tmp_path / "allowed.toml")
