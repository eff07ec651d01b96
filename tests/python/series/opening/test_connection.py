"""What is checked before a series is opened, and who takes part."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.core import FileLock, InputError, IoError
from tailrace.io import guard, series

FIELD = np.arange(24.0).reshape(2, 3, 4)


def write(path: Path, **how: Any) -> Path:
    with series.open(path, "w", **how) as out:
        out.write_step(0.0, u=FIELD)
    return path


def test_all_ranks_write_and_each_one_reads_for_itself(tmp_path: Path) -> None:
    for mode, expected in (("w", MPI.COMM_WORLD), ("a", MPI.COMM_WORLD), ("r", MPI.COMM_SELF)):
        for package in (series, tr):
            with package.open(tmp_path / "run", mode) as opened:
                assert opened.comm == expected
            with package.open(tmp_path / "run", mode, comm=MPI.COMM_SELF) as opened:
                assert opened.comm == MPI.COMM_SELF


@pytest.mark.parametrize("mode", ["r", "w", "x", "a"])
def test_a_child_reads_first_what_is_there_if_the_user_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Any
) -> None:
    path = tmp_path / "run" if mode == "x" else write(tmp_path / "run")
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(guard, "check_metadata", lambda *given: calls.append(given))
    for engine in ("raw", None):
        for wanted in (False, True):
            calls.clear()
            series.open(path, mode, engine=engine, guard=wanted).close()
            read = wanted and mode in ("r", "a")
            assert calls == [(str(path), engine, MPI.COMM_SELF if mode == "r" else MPI.COMM_WORLD)] * read
            if mode == "x":
                path = path.with_name(path.name + "x")


def test_wrong_modes_and_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown mode 'rw': expected 'r', 'w', 'x' or 'a'"):
        series.open(tmp_path / "run", "rw")  # type: ignore[arg-type]
    for mode in ("r", "w"):
        with pytest.raises(InputError, match="is not in UTF-8; rename the file or directory"):
            series.open(tmp_path / os.fsdecode(b"caf\xe9"), mode)  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("grid", [None, tr.UniformGrid((4, 3, 2))])
def test_closing_planes_need_to_know_what_is_periodic(tmp_path: Path, grid: Any) -> None:
    with pytest.raises(InputError, match=r'closing = true: it is not known which .*, as closing = "xz"'):
        series.open(tmp_path / "run.h5", "w", grid=grid, parameters={"closing": True})
    write(tmp_path / "run.h5", grid=grid, parameters={"closing": False})


def test_the_length_of_a_series_that_grows_is_that_of_now(tmp_path: Path) -> None:
    with series.open(tmp_path / "run", "w") as out:
        for count in range(3):
            assert len(out) == len(out.steps) == count
            out.write_step(float(count), u=FIELD)
        assert [index for index, _ in out._handle.reader().steps()] == [0, 1, 2]


def test_places_of_all_directions_come_back(tmp_path: Path) -> None:
    grid = tr.UniformGrid((4, 3, 2), (1.0, 2.0, 3.0), (0.5, 0.25, 0.125))
    with series.open(write(tmp_path / "run.h5", grid=grid)) as stored:
        assert stored.grid == grid and type(stored.grid) is tr.UniformGrid
    for axis, places in enumerate(((0.0, 1.0, 4.0, 5.0), (1.0, 2.0, 4.0), (3.0, 7.0))):
        uneven: list[Any] = [(), (), ()]
        uneven[axis] = places
        stretched = tr.StretchedGrid((4, 3, 2), (1.0, 2.0, 3.0), (0.5, 0.25, 0.125), uneven)
        with series.open(write(tmp_path / "run", grid=stretched)) as stored:
            assert isinstance(stored.grid, tr.StretchedGrid)
            assert tuple(stored.grid.coordinates[axis]) == places


def test_a_closed_series_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "run")
    stored = series.open(path)
    assert not stored._handle.dataset and stored.dataset is None
    for _ in range(2):
        stored.close()
        assert repr(stored) == "<Series, closed>"
    for use in (lambda: stored.path, lambda: len(stored), lambda: stored[0], lambda: stored.write_step(1.0, u=FIELD)):
        with pytest.raises(InputError, match=f"{path}: the series is closed; use it before, or open it again"):
            use()
    assert (stored.dropped, stored.coupling.role) == ([], "none")


@pytest.mark.parametrize("name", ["run", "run.h5"])
def test_an_error_that_somebody_keeps_keeps_no_series(tmp_path: Path, name: str) -> None:
    """As a notebook does, with all functions through which the error went."""

    def fail(path: Path) -> None:
        with series.open(path, "w") as out:
            out.begin_step(0, 0.0)
            out.write("u", np.zeros(3))

    with pytest.raises(InputError, match="nz, ny, nx") as kept:
        fail(tmp_path / name)
    FileLock(str(tmp_path / name)).release()
    assert kept.value.__traceback__ is not None


def test_what_is_written_piece_by_piece_is_there(tmp_path: Path) -> None:
    with series.open(tmp_path / "run", "w") as out:
        out.set_attribute("said", "mine")
        out.begin_step(3, 0.5)
        out.write("u", FIELD)
        out.write_list("rows", np.arange(3.0))
        out.write_scalar("energy", 1.5)
        for shape in ((), (2, 2, 2)):
            with pytest.raises(InputError, match=r"rows: a list has the shape \(rows,\) or \(rows, columns\), found"):
                out.write_list("rows", np.zeros(shape))
        out.end_step()
    with series.open(tmp_path / "run") as stored:
        step = stored[0]
        assert (step.index, step.time, step.scalars, stored.attributes) == (3, 0.5, {"energy": 1.5}, {"said": "mine"})
        assert step["rows"].tolist() == [0.0, 1.0, 2.0] and step["u"].tolist() == FIELD.tolist()


# ---- by users --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "run.h5")
    with pytest.raises(InputError, match=rf"{path}: only a series opened to append can be rewound"):
        tr.open(path, rewind_to=3)
    with pytest.raises(InputError, match="several files are read only; expected one path to write"):
        tr.open([path, path], "a")
    for empty in ("", "./"):
        if not empty:
            with pytest.raises(InputError, match="the path is empty; expected that of a series"):
                tr.open(empty)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match=r"run\.h5: the directory of this program was removed; give the whole path"):
        tr.open("run.h5")
    with tr.open(path) as stored:
        assert len(stored) == 1, "by its whole path"


def test_there_are_no_steps_to_find(tmp_path: Path) -> None:
    with tr.open(tmp_path / "run.h5", "w"):
        pass
    with tr.open(tmp_path / "run.h5") as stored:
        for method in (None, "nearest"):
            with pytest.raises(InputError, match=r"run\.h5: has no steps"):
                stored.at(0.5, method)


def test_a_new_series_says_its_box(tmp_path: Path) -> None:
    """Without boundaries nothing is said, and of a grid without a law there is no length to say."""
    walls = ("periodic", "dirichlet", "periodic")
    grid = tr.UniformGrid((8, 9, 10), spacing=(0.5, 0.25, 0.125), boundaries=walls)
    stretched = tr.StretchedGrid((8, 9, 10), spacing=(0.5, 0.25, 0.125), boundaries=walls, stretching="walls", beta=0.5)
    places = 2 * np.linspace(0, 1, 9) ** 2
    uneven = tr.StretchedGrid((8, 9, 10), spacing=(0.5, 0.25, 0.125), coordinates=((), places, ()), boundaries=walls)
    box = {"lengths": [4.0, 2.0, 1.25], "boundaries": "periodic,dirichlet,periodic"}
    for number, (given, expected) in enumerate(
        [
            (None, {}),
            (tr.UniformGrid((8, 9, 10)), {}),
            (grid, box),
            (grid.checked(), box),
            (stretched, box | {"stretching": "walls", "beta": 0.5}),
            (uneven, box),
            (stretched.checked(), box | {"stretching": "walls", "beta": 0.5}),
        ]
    ):
        path = tmp_path / f"{number}.h5"
        with tr.open(path, "w", grid=given) as out:
            out.write_step(0.0, u=np.zeros((10, 9, 8)))
        with series.open(path) as stored:
            assert stored.attributes == pytest.approx(expected) if not expected else stored.attributes == expected


def test_an_engine_or_a_family_is_taken_by_its_name(tmp_path: Path) -> None:
    """The name of SIONlib is that of both."""
    ours, sion = write(tmp_path / "run.h5"), write(tmp_path / "run.sion", engine="sion")
    foreign = tmp_path / "foreign.h5"
    with h5py.File(foreign, "w") as file:
        file["u"] = FIELD
    for path, engine, found in (
        (ours, None, "hdf5"), (ours, "hdf5", "hdf5"), (sion, None, "sion"), (sion, "sion", "sion"),
        (foreign, None, "hdf5-other"), (foreign, "generic", "hdf5-other"),
    ):  # fmt: skip
        with tr.open(path, engine=engine) as stored:
            assert stored.engine == found and (stored.dataset is None) == (path != foreign)
            np.testing.assert_array_equal(stored[0].read("u"), FIELD)
    for path, engine in ((foreign, "hdf5"), (ours, "pencil"), (foreign, "xcompact3d"), (ours, "unknown")):
        with pytest.raises((InputError, IoError)):
            tr.open(path, engine=engine)


def test_the_series_of_a_run_is_found_by_its_input(tmp_path: Path) -> None:
    (tmp_path / "input.i3d").touch()
    write(tmp_path / "data", engine="raw")
    with tr.open(tmp_path) as stored:
        assert stored.path == str(tmp_path / "data") and len(stored) == 1
    with pytest.raises(IoError):
        tr.open(tmp_path, engine="raw")


def test_what_nobody_knows_is_said_to_be_unknown(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt: is no series of Tailrace, nor a file of xcompact3d, pencil"):
        tr.open(tmp_path / "notes.txt")
