"""`tailrace case --keys`: all keys of a case as text."""

import re

import pytest

from helpers.harness.as_click import invoke as tailrace
from tailrace.case.case import Case
from tailrace.case.keys import tables

pytestmark = pytest.mark.usefixtures("outside_mpi")


def test_all_tables_and_keys_are_printed():
    done = tailrace("case", "--keys")
    assert done.exit_code == 0
    printed = {}
    for line in done.stdout.splitlines():
        if title := re.fullmatch(r"\[+([\w.]+)\]+", line):
            keys = printed.setdefault(title[1], [])
        elif key := re.match(r"  (\w+) {2,}\S", line):
            keys.append(key[1])
    assert printed == {table.name: [key.name for key in table.keys] for table in tables()}
    assert [name for name in printed if "." not in name] == list(Case.model_fields)
    assert {"case.parameters", "forcing.band", "numerics.hyperviscosity"} <= printed.keys()
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_key_has_its_type_default_choices_and_meaning():
    text = tailrace("case", "--keys", "time").stdout
    assert text.startswith("[time]\n")
    assert re.search(r'^  scheme +"euler", "ab2", "ab3", "rk3"; default "rk3"\n +the time scheme$', text, re.MULTILINE)
    assert re.search(r"^  dt +number > 0; required\n +the time step, or", text, re.MULTILINE)
    assert re.search(r"^  cfl +number > 0, <= 0\.75\n", text, re.MULTILINE)
    assert "[grid]" not in text


@pytest.mark.parametrize(
    ("section", "titles"),
    [
        ("forcing", ["[forcing]", "[forcing.band]"]),
        ("forcing.band", ["[forcing.band]"]),
        ("output", ["[[output]]", "[output.at]"]),
        ("[[output]]", ["[[output]]", "[output.at]"]),
    ],
)
def test_one_section_has_the_tables_within_it(section, titles):
    assert re.findall(r"^\[.*\]$", tailrace("case", "--keys", section).stdout, re.MULTILINE) == titles


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--keys", "tmie"), "no section 'tmie'; did you mean time?"),
        (("--keys", "--set", "time.end=5"), "leave one out"),
        ((), "or --keys"),
    ],
)
def test_wrong_words_are_one_message(words, message):
    done = tailrace("case", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert done.stdout == ""


def test_every_key_says_what_it_means():
    assert [f"{table.name}.{key.name}" for table in tables() for key in table.keys if not key.meaning] == []
