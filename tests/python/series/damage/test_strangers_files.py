"""Files of other programs where a new series would have its own: the writer refuses, and they stay as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.harness.engines import ENGINES, Engine
from helpers.harness.kept import KEPT
from helpers.programs.series import raw_programs
from tailrace.core import IoError
from tailrace.io import series as tr

UX = np.arange(60.0).reshape(5, 4, 3)
STRETCHED = tr.StretchedGrid((3, 4, 5), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), ((), (0.0, 1.0, 3.0, 6.0), ()))
SIDECARS = [engine for engine in ENGINES if engine.traits.sidecar]


def write(engine: Engine, path: Path) -> None:
    with tr.open(path, "w", engine=engine.name, parameters=dict(engine.parameters)) as out:
        for step in (1, 2):
            out.write_step(0.5 * step, index=step, ux=UX + step)


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_a_file_of_another_program_stays(tmp_path, engine):
    """Whatever the name is that the series would use, in the first step or later."""
    trial = engine.path(tmp_path / "trial")
    trial.parent.mkdir()
    write(engine, trial)
    names = sorted(file.name for file in trial.iterdir())
    for name in names:
        path = engine.path(tmp_path / name)
        path.mkdir(parents=True)
        (path / name).write_text("precious")
        for _ in range(2):  # the second time there is a series of ours, which the first one left
            with pytest.raises(IoError, match=f"{name}.* is there already, and .*To fix this, write to another"):
                write(engine, path)
            assert (path / name).read_text() == "precious"
        (path / name).unlink()
        write(engine, path)
        assert set(contents(path)) == set(names)


@pytest.mark.parametrize("engine", SIDECARS, ids=str)
def test_what_a_kill_leaves_of_a_series_is_replaced(tmp_path, engine):
    """Files that series.jsonl does not list; it is there from the first moment on."""
    path = engine.path(tmp_path)
    for kept in (1, 2):
        for mode in ("w", "a"):
            write(engine, path)
            lines = (path / "series.jsonl").read_text().splitlines(keepends=True)
            (path / "series.jsonl").write_text("".join(lines[:kept]))
            with tr.open(path, mode, engine=engine.name, parameters=dict(engine.parameters)) as out:
                out.write_step(1.0, index=2, ux=UX + 2)
            np.testing.assert_array_equal(tr.open(path)[-1].read("ux"), UX + 2)
            assert tr.open(path).verify() == []


@pytest.mark.parametrize("name", ["raw", "mpiio"])
def test_a_step_that_was_refused_leaves_what_it_did_not_make(tmp_path, name):
    path = tmp_path / "run"
    path.mkdir()
    (path / "uy-2.bin").write_text("precious")
    with tr.open(path, "w", engine=name) as out:
        out.write_step(0.5, index=1, ux=UX, uy=UX)
        with pytest.raises(IoError, match=r"uy-2.bin: it is there already"):
            out.write_step(1.0, index=2, ux=UX, uy=UX)
        assert (path / "uy-2.bin").read_text() == "precious"
        assert not (path / "ux-2.bin").exists()
        (path / "uy-2.bin").unlink()
        out.write_step(1.0, index=2, ux=UX + 2, uy=UX)
    np.testing.assert_array_equal(tr.open(path)[1].read("ux"), UX + 2)


def test_every_rank_refuses_it(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/ux-1.0001.bin").write_text("precious")
    for said in KEPT.ranks(2).results(raw_programs.write_a_plane_each, path=str(tmp_path / "run")):
        assert "ux-1.0001.bin: it is there already" in said
    assert (tmp_path / "run/ux-1.0001.bin").read_text() == "precious"
    assert not (tmp_path / "run/ux-1.0000.bin").exists()


@pytest.mark.parametrize("text", ["precious\n", "\x89HDF\r\n\x1a\nof another program"])
def test_hdf5_replaces_no_file_of_another_program(tmp_path, text):
    path = tmp_path / "precious.h5"
    path.write_text(text, encoding="latin-1", newline="")
    with pytest.raises(IoError, match=r"precious.h5: it is there already, and is no series of Tailrace. To fix this"):
        tr.open(path, "w", engine="hdf5")
    assert path.read_bytes() == text.encode("latin-1")


def test_hdf5_replaces_its_own_and_what_is_empty(tmp_path):
    path = tmp_path / "run.h5"
    for before in (b"", bytes(4096)):  # of a power failure
        path.write_bytes(before)
        tr.open(path, "w").close()
    with tr.open(path, "w") as out:
        out.write_step(0.0, ux=UX)
    np.testing.assert_array_equal(tr.open(path)[0].read("ux"), UX)


def test_two_series_do_not_share_a_drawing(tmp_path):
    for name in ("run.h5", "run.hdf5"):
        with tr.open(tmp_path / name, "w", grid=STRETCHED, engine="hdf5") as out:
            out.write_step(0.0, ux=UX)
        assert f"{name}:/VTKHDF" in (tmp_path / f"{name}.xdmf2").read_text()
    for ending in ("h5", "h5.xdmf2"):
        (tmp_path / f"run.{ending}").rename(tmp_path / f"moved.{ending}")
    with tr.open(tmp_path / "moved.h5", "a") as out:
        out.write_step(1.0, ux=UX)
    text = (tmp_path / "moved.h5.xdmf2").read_text()
    assert text.count("moved.h5:/VTKHDF/PointData/ux") == 2
    assert "run.h5" not in text
    assert tr.open(tmp_path / "moved.h5").files == [str(tmp_path / "moved.h5"), str(tmp_path / "moved.h5.xdmf2")]


def test_the_drawing_of_a_series_replaces_only_its_own(tmp_path):
    path, drawing = tmp_path / "run.h5", tmp_path / "run.h5.xdmf2"
    drawing.write_text("<Xdmf>precious</Xdmf>\n")
    with pytest.raises(IoError, match=r"run.h5.xdmf2, .* is there already and is not of Tailrace. To fix this"):
        tr.open(path, "w", grid=STRETCHED)
    assert drawing.read_text() == "<Xdmf>precious</Xdmf>\n"
    assert not path.exists()
    drawing.unlink()
    for mode in ("w", "w", "a"):
        with tr.open(path, mode, grid=STRETCHED if mode == "w" else None) as out:
            out.write_step(float(len(mode)), ux=UX)
    path.unlink()
    with tr.open(path, "w", grid=STRETCHED) as out:
        out.write_step(0.0, ux=UX)
    assert 'Grid Name="series"' in drawing.read_text()


def test_mpiio_tries_its_hints_under_a_free_name(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/hints.tmp").write_text("precious")
    with tr.open(tmp_path / "run", "w", engine="mpiio") as out:
        out.write_step(0.0, index=1, ux=UX)
    assert (tmp_path / "run/hints.tmp").read_text() == "precious"
    assert not (tmp_path / "run/hints.tmp2").exists()
