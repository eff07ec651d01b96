"""[[catalyst]] blocks where there is no ParaView: what is checked before a run, and a run that goes on without it."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.as_click import invoke
from helpers.inputs import cases
from tailrace.case.sections import catalyst_section
from tailrace.case.sections.catalyst_section import CatalystSection
from tailrace.catalyst.executions import Executions, made_by
from tailrace.catalyst.packages import packages
from tailrace.core import InputError

EXPORTED = """# script-version: 2.0
from paraview.simple import *
snapshotsh5xdmf2 = XDMFReader(registrationName='snapshots.h5.xdmf2', FileNames=['/tmp/snapshots.h5.xdmf2'])
contour1 = Contour(registrationName='Contour1', Input=snapshotsh5xdmf2)
contour1.ContourBy = ['POINTS', 'q']
calculator1 = Calculator(registrationName='Calculator1', Input=contour1)
calculator1.ResultArrayName = 'speed'
display = Show(calculator1, view)
ColorBy(display, ('POINTS', 'speed'))
glyph1 = Glyph(Input=snapshotsh5xdmf2, OrientationArray=['POINTS', 'velocity'])
ColorBy(glyph1, ("POINTS", "heat", "Magnitude"))
ColorBy(glyph1, ('POINTS', 'Normals'))
"""


def section(tmp_path: Path, text: str = EXPORTED, **keys: object) -> CatalystSection:
    (tmp_path / "p.py").write_text(text)
    grid = {"points": (8, 9, 10), "lengths": (1.0, 1.0, 1.0), "boundaries": ("periodic",) * 3}
    case = tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid=grid,
        time={"dt": 0.01, "steps": 3},
        catalyst=[{"script": str(tmp_path / "p.py"), "every": 1, **keys}],
        scalar=[{"name": "heat", "initial": 1.0}],
    )
    return case.catalyst[0]


def test_an_exported_script_says_what_it_needs(tmp_path):
    found = section(tmp_path)
    told = found.told(tmp_path)
    assert told.source == "snapshots.h5.xdmf2"
    assert told.arrays == ["q", "velocity", "heat"]  # and not what its filters make
    assert found.wanted(tmp_path, ["heat"]) == ["q", "velocity", "heat"]
    assert found.unknown(tmp_path, ["heat"]) == []
    assert (found.name, str(found.directory), str(found.record_path)) == ("p", "catalyst/p", "catalyst/p.jsonl")
    own = section(tmp_path, source="mine", fields=["ux", "uy", "uz", "q"])
    assert own.told(tmp_path).source == "mine"
    assert own.unknown(tmp_path, ["heat"]) == ["heat"]  # velocity comes with its components
    assert found.functions() == own.functions() == []
    (tmp_path / "mine.py").write_text("def speed(step): return step['ux']")
    own = section(tmp_path, fields=["ux", f"{tmp_path}/mine.py:speed"])
    assert own.functions() == [f"{tmp_path}/mine.py:speed"]


@pytest.mark.parametrize(
    ("keys", "text", "reason"),
    [
        ({"script": "none.py"}, EXPORTED, "there is no file none.py"),
        ({}, "def DoCoProcessing(d): pass", "is a script of version 1"),
        ({}, "from paraview.simple import *", r"names no field of the flow; give fields = \[...\]"),
        ({"fields": ["temperature"]}, EXPORTED, "'temperature' is no field"),
        ({"fields": ["ux +"]}, EXPORTED, "ux"),
        ({"every": None}, EXPORTED, "give exactly one of every"),
    ],
)
def test_wrong_blocks(tmp_path, keys, text, reason):
    with pytest.raises(tr.ConfigError, match=reason):
        section(tmp_path, text, **keys)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_goes_on_where_there_is_no_paraview(tmp_path, ranks):
    (tmp_path / "p.py").write_text(EXPORTED.replace("heat", "uz"))
    path = cases.write_case(tmp_path, "mixed", steps=2, extra='[[catalyst]]\nscript = "p.py"\nevery = 1\n')
    command = mpi_run.tailrace_command("run", path, ranks=ranks)
    result = mpi_run.finish(mpi_run.start(command, tmp_path, {"TAILRACE_PARAVIEW": str(tmp_path)}), 60)
    assert result.code == 1 and result.out.count("is switched off") == 1, result.text
    assert "catalyst 'p' is switched off: there is no ParaView; install ParaView with Python and MPI" in result.out
    assert (tmp_path / "catalyst/p.jsonl").read_text().count("\n") == 1


def test_where_paraview_is_looked_for(tmp_path, monkeypatch):
    place = tmp_path / "opt/lib/python3.11/site-packages"
    (place / "paraview/catalyst").mkdir(parents=True)
    (place / "paraview/__init__.py").write_text("__version__ = '5.99.1'\n")
    for told in (place, tmp_path / "opt"):
        monkeypatch.setenv("TAILRACE_PARAVIEW", str(told))
        assert packages() == place
    assert "5.99.1 in" in invoke("doctor").stdout
    monkeypatch.setenv("TAILRACE_PARAVIEW", str(tmp_path / "none"))
    assert packages() is None
    assert "[[catalyst]] blocks need it" in invoke("doctor").stdout


def test_only_what_was_made_is_ours(tmp_path):
    record, place = tmp_path / "p.jsonl", tmp_path / "p"
    first = Executions(record, place, None)
    (place / "deep").mkdir()
    (place / "a.png").write_text("1")
    first.note(3, 0.3)
    (place / "deep/b.png").write_text("2")
    first.note(6, 0.6)
    first.close()
    assert made_by(record, place) == [place / "a.png", place / "deep/b.png"]
    with record.open("a") as file:
        file.write('{"step": 9, "ti')  # killed
    again = Executions(record, place, 4)
    assert again.last == 3
    again.note(6, 0.6)
    again.close()
    lines = [json.loads(line) for line in record.read_text().splitlines()[1:]]
    assert [(line["step"], line["files"]) for line in lines] == [(3, ["a.png"]), (6, ["deep/b.png"]), (6, [])]
    (place / "mine.txt").write_text("3")
    with pytest.raises(InputError, match=r"has files that no run of this case has made: mine\.txt"):
        Executions(record, place, 4)
    record.write_text("mine\n")
    with pytest.raises(InputError, match="is no record of a pipeline"):
        Executions(record, place, None)
    assert made_by(record, place) == []


def test_the_template_is_written_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("catalyst", "template", "-o", "mine.py")
    assert result.exit_code == 0 and 'script = "mine.py"' in result.stdout
    assert section(tmp_path, Path("mine.py").read_text()).wanted(tmp_path, []) == ["q", "uz"]
    again = invoke("catalyst", "template", "-o", "mine.py")
    assert again.exit_code != 0 and "mine.py exists and is left as it is" in again.stderr


def test_a_script_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    found = section(tmp_path)

    def fails(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(catalyst_section, "open_regular", fails)
    with pytest.raises(ValueError, match=r"p.py cannot be read: Permission denied"):
        catalyst_section.text_of(Path(found.script))
