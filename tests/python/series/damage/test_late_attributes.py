"""Attributes that are set after the last step, where a call of the system fails.

ADIOS2 does not store them: in bp4 and bp5 they are in the record of the files alone.
"""

from __future__ import annotations

import pytest

from helpers.harness.injection import run

LATE = """
for number in range(1, 9):
    place = f"run{{number}}.{extension}"
    with tr.open(place, "w", engine="{engine}") as out:
        for index in (1, 2):
            out.write_step(0.1 * index, index=index, ux=index * a)
        out.set_attribute("late", "set after the last step")
    injector.arm(Fault("rename"), number)
    try:
        tr.open(place, "a", engine="{engine}", rewind_to=1).close()
    except tr.IoError:
        pass
    fired = injector.disarm()
    found = steps(place)
    assert found in ([(1, True)], [(1, True), (2, True)]), found
    assert tr.open(place).attributes["late"] == "set after the last step", number
    if not fired:
        break
print(number)
"""


@pytest.mark.parametrize(("engine", "extension"), [("bp4", "bp4"), ("bp5", "bp")])
def test_an_opening_to_append_that_fails_keeps_the_attributes(tmp_path, library, engine, extension):
    assert int(run(library, tmp_path, LATE.format(engine=engine, extension=extension))) >= 3


UNSTORED = """
out = tr.open("run.{extension}", "w", engine="{engine}")
out.write_step(0.1, index=1, ux=a)
out.set_attribute("late", "set after the last step")
injector.arm(Fault("rename", "ENOSPC", sticky=True), 1)
try:
    out.close()
except tr.IoError as failure:
    print("set after the last step are lost" in str(failure))
assert injector.disarm()
print(steps("run.{extension}"))
"""


@pytest.mark.parametrize(("engine", "extension"), [("bp4", "bp4"), ("bp5", "bp")])
def test_attributes_that_cannot_be_stored_at_the_end_are_an_error(tmp_path, library, engine, extension):
    assert run(library, tmp_path, UNSTORED.format(engine=engine, extension=extension)) == "True\n[(1, True)]\n"
