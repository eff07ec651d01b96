"""What of a source may go, and what of it is chosen."""

from __future__ import annotations

import json
import os
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

import tailrace as tr
from tailrace.conversion import originals
from tailrace.conversion.request import ConversionRequest
from tailrace.conversion.selection import Selection
from tailrace.core import FileLock


def test_originals_of_other_programs_stay_unless_all_of_them_is_read(tmp_path):
    run = tmp_path / "run"
    (run / "data").mkdir(parents=True)
    (run / "input.i3d").write_text(
        "&BasicParam\nnx=6\nny=4\nnz=2\nxlx=1.\nyly=1.\nzlz=1.\ndt=0.1\nre=10.\nnclx1=0\nnclxn=0\nncly1=0\nnclyn=0\n"
        "nclz1=0\nnclzn=0\nitype=2\nifirst=1\nilast=9\n/\n&InOutParam\nioutput=5\n/\n"
    )
    for name in ("ux", "uy"):
        np.arange(48.0).tofile(run / "data" / f"{name}-1.bin")
    with pytest.raises(tr.InputError, match="xcompact3d does not store all attributes"):
        tr.convert(run, tmp_path / "there", format="xcompact3d", delete_originals=True)
    done = tr.convert(run / "data" / "ux-1.bin", tmp_path / "ux.h5", delete_originals=True)
    assert done.removed == 1
    assert (run / "input.i3d").exists() and (run / "data" / "uy-1.bin").exists(), "others need them"
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["u"] = np.zeros((2, 3, 4))
    with pytest.raises(tr.InputError, match="may not have all"):
        tr.convert(tmp_path / "plain.h5", tmp_path / "out.h5", delete_originals=True)
    assert (tmp_path / "plain.h5").exists()


def test_a_box_of_slices_has_no_steps(tmp_path):
    with tr.open(tmp_path / "in.h5", "w") as out:
        out.write_step(0.0, u=np.zeros((4, 4, 4)))
    for box in ((slice(0, 4, 2),) * 3, (slice(0, 2),) * 2):
        with pytest.raises(tr.InputError, match="three slices in x, y, z without a step"):
            tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", box=box)


def test_originals_that_were_written_again_stay(tmp_path):
    """Also where they are as long as before: their values may be others."""
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_text("old")
    files = originals.listed(map(str, paths))
    paths[1].write_text("new")
    os.utime(paths[1], ns=(0, 0))
    with pytest.raises(tr.InputError, match=r"b has changed since it was converted, so no original was removed"):
        originals.remove(files, tmp_path)
    assert [path.read_text() for path in paths] == ["old", "new"]


def interrupted(tmp_path, monkeypatch):
    """A conversion of in.h5 to out.h5 that ends when it begins to remove the originals."""
    with tr.open(tmp_path / "in.h5", "w") as out:
        out.write_step(0.0, u=np.zeros((4, 4, 4)))
    with monkeypatch.context() as change:
        change.setattr(originals, "remove", lambda *_: (_ for _ in ()).throw(tr.IoError("interrupted")))
        with pytest.raises(tr.IoError, match="interrupted"):
            tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", delete_originals=True)


def test_originals_stay_where_the_result_has_changed(tmp_path, monkeypatch):
    """After an interruption between the two: it may have less than they have."""
    interrupted(tmp_path, monkeypatch)
    (tmp_path / "out.h5").write_bytes(b"less")
    with pytest.raises(tr.InputError, match=r"out\.h5 has changed .*no original was removed"):
        tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", delete_originals=True, resume=True)
    assert (tmp_path / "in.h5").exists()


OTHERS = {
    "source": "other", "target": "other", "engine": "bp5", "format": "vtkhdf", "parameters": {"level": 1},
    "compression": "gzip", "delete_originals": True, "source_format": "pencil", "source_parameters": {"data": "x"},
    "selection": Selection(coarsen=(2, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_conversion_is_gone_on_with_by_the_same_request_only(name):
    asked = ConversionRequest("in", "out")
    assert replace(asked, **{name: OTHERS[name]}).described() != asked.described()
    assert {one.name for one in fields(asked)} - set(OTHERS) == {"verify", "resume"}, "these two change no value"


def test_originals_that_a_program_writes_stay(tmp_path):
    path = tmp_path / "run.h5"
    path.write_text("values")
    lock = FileLock(str(path))
    with pytest.raises(tr.IoError, match="is writing it"):
        originals.remove(originals.listed([str(path)]), path)
    assert path.exists()
    lock.release()
    assert originals.remove(originals.listed([str(path)]), path) == 1


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"left_out": ["the array w"]}, "the array w"),
        ({"notes": ["times are guessed"]}, "times are guessed"),
        ({"removable": []}, "it is not known whether all of the files is read"),
    ],
)
def test_what_is_not_read_as_a_whole_stays(what, why):
    dataset = SimpleNamespace(**{"format": "odd", "left_out": [], "notes": [], "removable": ["a"], **what})
    with pytest.raises(tr.InputError, match=f"may not have all of it: {why}"):
        originals.check_whole(SimpleNamespace(path="a", dataset=dataset))


def test_originals_stay_where_the_result_was_not_compared(tmp_path, monkeypatch):
    """Whatever the options say: the record of the conversion knows."""
    interrupted(tmp_path, monkeypatch)
    record = tmp_path / "out.h5.partial/conversion.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"verified": False}))
    with pytest.raises(tr.InputError, match="was made with --no-verify, so no original was removed"):
        tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", delete_originals=True, resume=True)
    assert (tmp_path / "in.h5").exists()


def test_a_missing_original_is_removed_already(tmp_path):
    """By the conversion that was killed while it removed them."""
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_text("old")
    files = originals.listed(map(str, paths))
    paths[0].unlink()
    assert originals.remove(files, tmp_path) == 1 and not paths[1].exists()


def test_an_original_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")

    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as change:
        change.setattr(Path, "unlink", refuse)
        with pytest.raises(tr.IoError, match=r"cannot remove .*/a: Permission denied; the result is complete"):
            originals.remove(originals.listed([str(path)]), tmp_path / "source")
    FileLock(str(tmp_path / "source")).release()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("run", r"run lies in .*/run, which would be removed"),
        ("run/out", r"run/out lies in .*/run, which would be removed"),
        ("elsewhere/b", r"elsewhere/b lies in .*/run, which would be removed"),
        ("elsewhere/b/out", "which would be removed"),
        ("elsewhere", r"elsewhere/b of the source lies in .*/elsewhere, where the conversion writes"),
        ("link", "which would be removed"),
        ("out", None),
        ("running", None),
    ],
)
def test_a_target_among_the_originals_is_refused(tmp_path, target, message):
    """Also by a link that leads to them, and where the source names files elsewhere."""
    run, other = tmp_path / "run", tmp_path / "elsewhere" / "b"
    run.mkdir()
    other.parent.mkdir()
    for path in (run / "a", other):
        path.write_text("values")
    (tmp_path / "link").symlink_to(run)
    place = tmp_path / target
    files = [str(run / "a"), str(other)]
    if message is None:
        originals.check_removable(files, run, place, [place])
        return
    with pytest.raises(tr.InputError, match=f"--delete-originals: .*{message}"):
        originals.check_removable(files, run, place, [place])


def test_links_are_no_originals(tmp_path):
    (tmp_path / "a").write_text("values")
    (tmp_path / "link").symlink_to("a")
    for source, files in (("link", ["a"]), ("a", ["a", "link"])):
        with pytest.raises(tr.InputError, match=r"link is a symbolic link, which removes nothing"):
            originals.check_removable([str(tmp_path / one) for one in files], tmp_path / source, tmp_path / "out", [])


def test_a_folder_stands_for_all_files_below_it(tmp_path):
    for name in ("run/b", "run/more/c", "a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "run/none").mkdir()
    found = originals.listed([str(tmp_path / "run"), str(tmp_path / "a"), str(tmp_path / "run/b")])
    paths = [tmp_path / name for name in ("a", "run/b", "run/more/c")]
    assert found == [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]


def test_the_right_to_write_a_source_is_given_back_at_once(tmp_path, monkeypatch):
    """Also while its error is still looked at."""
    (tmp_path / "a").write_text("old")
    files = originals.listed([str(tmp_path / "a")])
    with monkeypatch.context() as change:
        change.setattr(Path, "unlink", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error", "a")))
        with pytest.raises(tr.IoError, match="cannot remove a: Input/output error") as caught:
            originals.remove(files, tmp_path / "source")
    FileLock(str(tmp_path / "source")).release()
    assert caught.value.__cause__ is not None


def test_originals_stay_where_the_result_is_gone(tmp_path, monkeypatch):
    interrupted(tmp_path, monkeypatch)
    (tmp_path / "out.h5").unlink()
    said = r"out\.h5 is gone since it was made, so no original was removed; remove .*out\.h5\.partial"
    with pytest.raises(tr.InputError, match=said):
        tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", delete_originals=True, resume=True)
    assert (tmp_path / "in.h5").exists()


def test_originals_go_after_an_interruption_between_the_two(tmp_path, monkeypatch):
    interrupted(tmp_path, monkeypatch)
    done = tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", delete_originals=True, resume=True)
    assert (done.steps, done.removed, done.verified, done.notes) == (1, 2, True, []), (
        "also what describes it to ParaView"
    )
    assert not (tmp_path / "in.h5").exists() and not (tmp_path / "out.h5.partial").exists()


def test_all_of_the_format_of_another_program_may_be_read():
    dataset = SimpleNamespace(format="odd", left_out=[], notes=[], removable=["a"])
    originals.check_whole(SimpleNamespace(path="a", dataset=dataset))
    originals.check_whole(SimpleNamespace(path="a", dataset=None))
    source = SimpleNamespace(path="a", dataset=None, files=["a", "b"])
    assert originals.removable(source) == ["a", "b"]
    source.dataset = dataset
    assert originals.removable(source) == ["a"]


@pytest.mark.parametrize(
    ("now", "how"), [([], "is gone"), ([["a", 1, 2], ["b", 1, 2]], "b is new"), ([["a", 1, 3]], "a has changed")]
)
def test_how_a_source_has_changed(now, how):
    before = [["a", 1, 2]]
    originals.check_unchanged(before, before, "")
    with pytest.raises(tr.InputError, match=f"{how} since the conversion began; begin again"):
        originals.check_unchanged(before, now, "begin again")
