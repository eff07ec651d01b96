"""The files of a case: everything that it reads and writes has a place of its own."""

import os

import pytest

from helpers.inputs import analyses
from helpers.inputs.case_texts import FLOW, GOOD, load, output, problems
from tailrace.case.case import load_case


def analysis(script="q.py", rest=""):
    return f'[[analysis]]\nscript = "{script}"\nevery = 1\n{rest}\n'


def diagnostics(path):
    return f'[diagnostics]\npath = "{path}"\n'


def at(path, name="a", engine="hdf5"):
    return output(f"every = 1\npath = '{path}'", name, engine)


@pytest.mark.parametrize(
    ("more", "key", "reason"),
    [
        (diagnostics("case.toml"), "diagnostics.path", "'case.toml' is taken by the case file"),
        (diagnostics("./sub/../flow.py"), "diagnostics.path", "is taken by case.flow"),
        (diagnostics("link.csv") + at("real.csv"), "output[0].path", "taken by diagnostics.path, as 'link.csv'"),
        (at("o") + at("./o", "b"), "output[1].path", "'./o' is taken by output[0].path, as 'o'"),
        (at("here/o") + at("o", "b"), "output[1].path", "as 'here/o'"),
        (at("q.py") + analysis(), "output[0].path", "taken by analysis[0].script"),
        (at(".", engine="bp5"), "output[0].path", "around '{case}' of the case file: ADIOS2 deletes"),
        (at("b/x.h5") + at("b", "b", "bp4"), "output[1].path", "ADIOS2 deletes"),
        (at("b", engine="raw") + diagnostics("b/series.jsonl"), "output[0].path", "files of such names"),
        (at("time_series.csv/o"), "output[0].path", "inside 'time_series.csv' of diagnostics.path: that is a file"),
        (at("checkpoints/step-00000001", engine="raw"), "output[0].path", "files of such names"),
        (at("checkpoints/step-00000001/sub/x.h5"), "output[0].path", "files of such names"),
        (output("every = 1\nparameters = {trace = 'case.toml'}"), "output[0].parameters.trace", "the case file"),
        (output("every = 1\nparameters = {folded = 'flow.py'}"), "output[0].parameters.folded", "taken by case.flow"),
        (at("x") + output("every = 1\nparameters = {config = 'x'}", "b", "bp5"), "output[0].path", "parameters.config"),
        (at("b.sst") + at("b", "b", "sst"), "output[1].path", "'b.sst' is taken by output[0].path"),
        (at("b.sst.writer") + at("sst:b", "b", "sst"), "output[1].path", "'b.sst.writer' is taken by output[0].path"),
        (at("analysis/q.csv") + analysis(), "analysis[0].name", "'analysis/q.csv' is taken by output[0].path"),
        (analysis(rest="out = 'here/r'") + analysis(rest="out = 'r'"), "analysis[1].name", "'q' is taken by"),
        (analysis() + analysis(rest="name = 'q-final'"), "analysis[1].name", "'analysis/q-final.csv' is taken"),
        (output(engine="sst") + diagnostics("a-left-out.csv"), "output[0].path", "'a-left-out.csv' is taken"),
        (at("d", engine="raw") + diagnostics("d/snapshot-2.xdmf"), "output[0].path", "files of such names"),
        (at("d", engine="raw") + diagnostics("d/snapshot-1.xdmf.tmp"), "output[0].path", "files of such names"),
        (at("time_series.csv.lock"), "output[0].path", "taken by diagnostics.path, for its lock"),
        (at("time_series.csv.new"), "output[0].path", "taken by diagnostics.path, for its draft"),
        (at("checkpoints.lock"), "output[0].path", "taken by checkpoint.path, for its lock"),
        (at("o.h5") + at("o.h5.journal", "b"), "output[1].path", "taken by output[0].path, for its journal"),
        (at("o.h5") + at("o.h5.xdmf2", "b"), "output[1].path", "taken by output[0].path, for its file for ParaView"),
        (at("o.h5.journal") + at("o.h5", "b"), "output[1].path", "'o.h5.journal', its journal, is taken by output[0]"),
        (at("real.csv.lock") + diagnostics("link.csv"), "output[0].path", "taken by diagnostics.path"),
        (at("o.bp.lock", engine="raw") + at("o.bp", "b", "bp5"), "output[1].path", "its lock, is taken"),
        (output("every = 1\nparameters = {trace = 't'}") + at("t.tmp", "b"), "output[1].path", "for its draft"),
        (at("one.h5") + at("two.h5", "b"), "output[1].path", "'two.h5' and 'one.h5' of output[0].path are one file"),
    ],
)
def test_nothing_is_written_over_anything_else_of_the_case(tmp_path, monkeypatch, more, key, reason):
    """Paths are compared resolved, and directories that an engine empties have nothing else in them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "q.py").write_text("def analyse(step): ...")
    (tmp_path / "link.csv").symlink_to("real.csv")
    (tmp_path / "here").symlink_to(".")
    (tmp_path / "one.h5").touch()
    (tmp_path / "two.h5").hardlink_to("one.h5")
    found = problems(tmp_path, GOOD.replace("[case]", '[case]\nflow = "flow.py:shear"') + more)
    assert reason.format(case=tmp_path / "case.toml") in found[key]
    assert len(found) == 1


def test_directories_that_others_may_use_are_shared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = at(".", engine="raw") + at("run/sub/ux-1.bin", "b", "bp5") + diagnostics("run/history.csv")
    load(tmp_path, GOOD + more + '[checkpoint]\npath = "run"\n')


def looks(monkeypatch, tmp_path, outputs):
    """How often the file system is asked about a path when a case with so many outputs is read."""
    asked = []

    def counted(name):
        call = getattr(os, name)
        return lambda *given, **options: (asked.append(name), call(*given, **options))[1]

    text = "".join(analyses.output(f"o{at}", "raw", f"there/o{at}") for at in range(outputs))
    case = analyses.write_case(tmp_path / str(outputs), text)
    with monkeypatch.context() as patched:
        for name in ("stat", "lstat", "readlink"):
            patched.setattr(os, name, counted(name))
        load_case(case)
    return len(asked)


def test_each_place_is_looked_at_once(monkeypatch, tmp_path):
    """Each of the ranks reads the case: every place was resolved again for each of the others."""
    few, many = looks(monkeypatch, tmp_path, 4), looks(monkeypatch, tmp_path, 16)
    assert many < 5 * few
