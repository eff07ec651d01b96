"""Texts of strangers are shown, and no terminal obeys them; the library gives them as stored."""

from __future__ import annotations

import io
import json
import re
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import typer
import xarray
from mpi4py import MPI

import tailrace as tr
from helpers.harness.as_click import invoke
from tailrace.cli import common, listing
from tailrace.consumers.output_table import output_table
from tailrace.files.provenance import comments
from tailrace.inspection.contents import Soundness, contents
from tailrace.io import series
from tailrace.notebook import card
from tailrace.render.style import plain
from tailrace.simulation.progress import Live

HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x9b31m\x7f\u202ered\u2066\r\nforged: all well"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
ESCAPED = r"\u001b]0;OWNED\u0007\u001b[2J\u009b31m\u007f\u202ered\u2066"


def assert_harmless(text: str) -> None:
    assert ESCAPED in text
    assert not OBEYED.search(text), repr(text)
    assert not any(line.startswith("forged") for line in text.splitlines())


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A series with such texts in the name of its file, its attributes and its step."""
    path = tmp_path / "\x1b[31mred.h5"
    grid = tr.UniformGrid((3, 3, 3))
    with tr.open(path, "w", comm=MPI.COMM_SELF, grid=grid) as out:
        out.set_attribute("title", HOSTILE)
        out.set_attribute("case", HOSTILE)
        out.write_step(0.1, index=1, ux=np.zeros((3, 3, 3)), scalars={"note": HOSTILE})
    return path


@pytest.mark.parametrize("words", [["info"], ["info", "--steps", "--minmax"], ["case"]])
def test_what_commands_print(stranger: Path, words: list[str]):
    result = invoke(*words, stranger)
    assert result.exit_code == 0 and not result.stderr
    assert_harmless(result.stdout if words[0] == "info" else result.stdout.replace("\nforged", ""))


def test_names_in_files_of_other_programs(tmp_path: Path):
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["u"] = np.zeros((4, 4, 4))
        file[f"list{HOSTILE}"] = ["a", "b"]
        file[f"array{HOSTILE}"] = np.zeros((4, 4, 4))
    result = invoke("info", tmp_path / "foreign.h5")
    assert result.exit_code == 0
    assert_harmless(result.stdout)
    with tr.open(tmp_path / "foreign.h5") as found:
        for shown in (repr(found), repr(found[0]), found._repr_html_(), found[0]._repr_html_()):
            assert not OBEYED.search(shown)


def test_names_of_files(stranger: Path):
    for command in ("info", "verify"):
        assert r"\u001b[31mred.h5" in invoke(command, stranger).stdout
    stranger.write_bytes(b"mine")
    for command in ("info", "verify", "case"):
        result = invoke(command, stranger)
        assert result.exit_code != 0 and r"\u001b[31mred.h5" in result.stderr
        assert not OBEYED.search(result.output)


def test_json_is_as_stored(stranger: Path):
    shown = invoke("info", "--json", stranger).stdout
    assert not OBEYED.search(shown)
    assert json.loads(shown)[0]["attributes"]["title"] == HOSTILE


def test_on_a_terminal(stranger: Path, monkeypatch):
    """Styles are sequences of ours; what is between them is not."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr("sys.stdout", screen := Terminal())
    listing.show(contents(stranger, -1, False))
    assert "\x1b[1m" in screen.getvalue()
    assert_harmless(re.sub("\x1b\\[[0-9;]*m", "", screen.getvalue()))


def test_damage_is_told_in_lines_of_its_own():
    lines = Soundness(Path("a.h5"), 1, [HOSTILE], []).lines()
    assert len(lines) == 1, "the command prints each of them as one line"


def test_messages(capsys):
    common.say(f"tailrace: {HOSTILE}")
    assert_harmless(capsys.readouterr().err)
    with pytest.raises(typer.Exit):
        common.fail(ValueError(HOSTILE))
    assert_harmless(capsys.readouterr().err)

    def fails() -> int:
        raise ValueError(HOSTILE)

    def is_a_defect() -> int:
        raise KeyError(HOSTILE)

    assert common.guarded(fails) == 1
    assert_harmless(capsys.readouterr().err)
    assert common.guarded(is_a_defect) == 1
    assert not OBEYED.search(capsys.readouterr().err)


def test_what_a_run_says(capsys):
    out = io.StringIO()
    Live(10, out).message(f"note: {HOSTILE}")
    assert_harmless(out.getvalue())
    output_table(f"output {HOSTILE}", [], [HOSTILE])
    assert_harmless(capsys.readouterr().out)


def test_representations(stranger: Path):
    with tr.open(stranger) as found:
        shown = [repr(found), repr(found.steps), found._repr_html_(), found[0]._repr_html_()]
    assert_harmless(shown[0])
    assert_harmless(card(HOSTILE, [(HOSTILE, f"<b>{HOSTILE}")]).replace("\nforged", ""))
    assert "<b>" not in card("", [("", f"<b>{HOSTILE}")])
    for text in shown:
        assert not OBEYED.search(text)
    operators = tr.Operators((8, 8, 8), (1.0, 1.0, 1.0), ("periodic",) * 3, comm=MPI.COMM_SELF)
    assert_harmless(repr(tr.Field.from_function(operators, 1.0).like(np.zeros((8, 8, 8)), name=HOSTILE)))


def test_comments_of_tables_and_titles_of_pictures():
    lines = comments({"source": HOSTILE, "case": f"a = 1\n\tb = 2\n{HOSTILE}"})
    assert all(not OBEYED.search(line) and "\n" not in line for line in lines)
    assert "  \tb = 2" in lines, "the text of a case keeps its lines and tabs"
    assert_harmless(plain(HOSTILE))


def test_the_library_gives_texts_as_stored(stranger: Path):
    with series.open(stranger) as found:
        assert found.attributes["title"] == HOSTILE
        assert found[0].scalars["note"] == HOSTILE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xarray.open_dataset(stranger, engine="tailrace") as opened:
            assert opened.attrs["title"] == HOSTILE
