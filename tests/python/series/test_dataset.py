"""Files of another program as a series: the boxes, errors and checks that all formats share."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from tailrace import core as _core
from tailrace.grids import StretchedGrid, UniformGrid
from tailrace.io import dataset_reader
from tailrace.io.dataset import Dataset
from tailrace.io.dataset_reader import DatasetReader
from tailrace.io.handle import Handle
from tailrace.io.placement import Stored
from tailrace.io.series import ArraySeries
from tailrace.io.step import ArrayStep

POINTS = (4, 3, 2)


class Numbers(Dataset):
    """Two steps of values that tell their place; `fails` is raised by `read`."""

    format = "numbers"

    def __init__(self) -> None:
        super().__init__("numbers.dat")
        self.steps = [(10, 0.5), (20, 1.0)]
        self.fails: Exception | None = None
        self.damaged: list[str] = []
        self.boxes: list[tuple[object, ...]] = []
        self.notes, self.left_out, self.files = ["assumed"], ["step 30 is cut"], ["numbers.dat"]
        self.attributes = {"reynolds": 100.0}

    def variables(self, position):
        empty = {"none": Stored("int32", (0, 3, 1), True)} if position else {}
        return {"ux": Stored("float64", POINTS, False), "n": Stored("int32", (2, 3, 1), True), **empty}

    def derived(self, position):
        return {f"v{axis}": Stored("float64", POINTS, False) for axis in "xyz"}

    def vectors(self, position):
        return {"v": ("vx", "vy", "vz")}

    def read(self, position, name, box, out):
        self.boxes.append((position, name, box.start, box.count))
        if self.fails:
            raise self.fails
        (x, y, z), (nx, ny, nz) = box
        k, j, i = np.meshgrid(np.arange(z, z + nz), np.arange(y, y + ny), np.arange(x, x + nx), indexing="ij")
        out[:] = i + 10 * j + 100 * k + 1000 * position + 10_000 * "xyz".find(name[1:] if name != "n" else "x")

    def check(self, position):
        return self.damaged

    def close(self):
        self.boxes.append(("closed",))


class Holes(Numbers):
    """Values that are none: of ux in both of its planes, of the list in its second row, as the last component."""

    def read(self, position, name, box, out):
        super().read(position, name, box, out)
        if name == "ux" and position == 1:
            for i, j, k in ((3, 1, 0), (0, 2, 0), (2, 0, 1)):
                x, y, z = (at - start for at, start in zip((i, j, k), box.start, strict=True))
                if z in range(box.count[2]):
                    out[z, y, x] = (np.nan, np.inf)[k]
        if name == "n":
            out[..., 1, 1] = np.inf

    def variables(self, position):
        return {**super().variables(position), "n": Stored("float32", (2, 3, 1), True)}


@pytest.fixture
def numbers():
    return Numbers()


@pytest.fixture
def core(numbers):
    return DatasetReader(numbers, MPI.COMM_SELF)


def test_what_there_is(numbers, core):
    assert (core.path, core.engine) == ("numbers.dat", "numbers")
    assert core.steps() == numbers.steps and core.files() == ["numbers.dat"]
    assert core.attributes() == {"reynolds": 100.0}
    assert core.notes() == ["assumed", "step 30 is cut"] and core.damage() == ["step 30 is cut"]
    assert core.variables(0) == [("ux", "float64", [4, 3, 2], False), ("n", "int32", [2, 3, 1], True)]
    assert (core.components(0, "v"), core.components(0, "vx"), core.components(0, "ux")) == (3, 0, 0)
    assert core.scalars(0) == {}
    assert core.unchecked(0) == ["ux", "n"]
    assert core.counters() == {"bytes_written": 0, "bytes_read": 0, "steps": 2}


def test_the_grid(numbers, core):
    assert core.grid() is None
    numbers.grid = UniformGrid(POINTS, (1.0, 2.0, 3.0), (0.5, 0.25, 1.0))
    assert core.grid() == ([4, 3, 2], [1.0, 2.0, 3.0], [0.5, 0.25, 1.0], [[], [], []])
    numbers.grid = StretchedGrid(POINTS, coordinates=((), (0.0, 1.0, 3.0), ()))
    assert core.grid() == ([4, 3, 2], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [[], [0.0, 1.0, 3.0], []])


def test_boxes_of_arrays_lists_and_vectors(core):
    step = ArrayStep(Handle(core), 1, 20, 1.0)
    ux = step["ux"]
    assert ux.shape == (2, 3, 4) and ux[1, 2, 3] == 1123.0
    np.testing.assert_array_equal(step.read("ux", ((1, 0, 1), (2, 2, 1))), ux[1:, :2, 1:3])
    assert core.counters()["bytes_read"] == 8 * (24 + 4)
    v = step["v"]
    assert v.shape == (3, 2, 3, 4)
    np.testing.assert_array_equal(v[1] - v[0], np.full((2, 3, 4), 10_000))
    np.testing.assert_array_equal(step["vy"], v[1])
    assert step["n"].shape == (3, 2) and step["n"].dtype == np.int32
    assert step["none"].size == 0
    assert step.read("ux", ((4, 0, 0), (0, 3, 2))).size == 0
    assert "v" in step and "w" not in step


@pytest.mark.parametrize(
    "box",
    [((1, 0, 0), (4, 1, 1)), ((0, 3, 0), (1, 1, 1)), ((0, 0, 1), (1, 1, 2)), ((-1, 0, 0), (1, 1, 1)),
     ((0, 0, 0), (1, -1, 1)), ((5, 0, 0), (0, 1, 1))],
)  # fmt: skip
def test_a_box_outside_is_refused_before_anything_is_read(numbers, core, box):
    with pytest.raises(_core.InputError, match=r"ux: the box from .* points in x, y, z does not lie in the \(4, 3"):
        core.read(0, "ux", box, np.zeros((1, 1, 1)))
    assert numbers.boxes == []


def test_what_is_not_there_is_named(core):
    with pytest.raises(_core.InputError) as error:
        core.read(1, "uy", ((0, 0, 0), (1, 1, 1)), np.zeros((1, 1, 1)))
    assert str(error.value) == "numbers.dat: step 20 has no variable 'uy'; it has ux, n, none, vx, vy, vz"


def test_it_is_no_stream_and_cannot_be_written(core):
    series = ArraySeries(Handle(core), "r", MPI.COMM_SELF)
    assert not series.streaming and series.dropped == [] and series[1].missed == [] and series.summary() == []
    assert series.coupling.role == "none" and series.coupling.others == ()
    for call in (lambda: series.begin_step(0, 0.0), lambda: series.write_step(0.0), series.flush, series.next_step):
        with pytest.raises(_core.InputError, match=r"numbers\.dat: is open to read; only series of Tailrace can be"):
            call()
    series.close()
    assert series.dropped == [] and series.coupling.role == "none"


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (_core.IoError("damaged"), "damaged"),
        (FileNotFoundError(2, "No such file or directory", "part.0"),
         "cannot read part.0: No such file or directory"),
        (OSError("strange"), "cannot read numbers.dat: strange"),
    ],
)  # fmt: skip
def test_errors_of_the_system_name_the_file(numbers, core, fails, said):
    numbers.fails = fails
    with pytest.raises(_core.IoError) as error:
        core.read(0, "ux", ((0, 0, 0), (1, 1, 1)), np.zeros((1, 1, 1)))
    assert str(error.value) == said
    assert core.verify(0) == [f"step 10: {said}"]
    assert core.counters()["bytes_read"] == 0


def test_verify_reads_all_that_is_stored_in_pieces(numbers, core, monkeypatch):
    monkeypatch.setattr(dataset_reader, "_PIECE", 100)
    numbers.damaged = ["a mark is wrong", "a mark is wrong"]
    assert core.verify(1) == ["step 20: a mark is wrong"], "each once"
    ux = [box for _, name, *box in numbers.boxes if name == "ux"]
    assert ux == [[(0, 0, 0), (4, 3, 1)], [(0, 0, 1), (4, 3, 1)]]
    assert [name for _, name, *_ in numbers.boxes] == ["ux", "ux", "n"], "of the empty one nothing"
    assert core.counters()["bytes_read"] == 0


@pytest.mark.parametrize("piece", [100, 1 << 20])
def test_values_that_are_not_finite_are_counted_and_are_no_damage(monkeypatch, piece):
    monkeypatch.setattr(dataset_reader, "_PIECE", piece)
    holes = Holes()
    core = DatasetReader(holes, MPI.COMM_SELF)
    assert core.verify(0) == [] and holes.not_finite == [
        "step 10: n has 1 values that are not finite, the first at row 1"
    ]
    assert core.verify(1) == []
    assert holes.not_finite[1:] == [
        "step 20: ux has 3 values that are not finite, the first at point 3, 1, 0",
        "step 20: n has 1 values that are not finite, the first at row 1",
    ]


def test_a_vector_needs_an_array_of_each_component(core):
    with pytest.raises(ValueError, match="zip"):
        core.read(0, "v", ((0, 0, 0), (4, 3, 2)), np.zeros((2, 2, 3, 4)))


@pytest.mark.parametrize(("times", "told"), [([0.5, 0.5], 0), ([0.5, 1.0], 0), ([1.0, 0.5], 1)])
def test_times_that_go_back_are_told(numbers, core, times, told):
    numbers.steps = list(zip((10, 20), times, strict=True))
    said = "numbers.dat: its times go back in step 20, from 1 to 0.5, as after a restart from an earlier step"
    assert [note.partition(":")[0] for note in core.notes()[2:]] == ["numbers.dat"] * told
    assert all(note.startswith(said) for note in core.notes()[2:])


def test_what_is_equal_is_shared(numbers):
    other = Numbers()
    other.share(numbers)
    assert other.attributes is numbers.attributes and other.notes is numbers.notes
    other = Numbers()
    other.attributes, other.notes = {"reynolds": 200.0}, ["other"]
    other.share(numbers)
    assert other.attributes == {"reynolds": 200.0} and other.notes == ["other"]


def test_what_is_damaged_beside_the_values_of_steps_is_told_once(numbers, core):
    numbers.damaged = ["cut"]
    assert ArraySeries(Handle(core), "r", MPI.COMM_SELF).verify() == ["step 30 is cut", "step 10: cut", "step 20: cut"]


def test_closing_closes_its_files(numbers, core):
    assert core.has_table(0) is False
    core.close()
    assert numbers.boxes == [("closed",)]


def test_refusing(core):
    for wrong_input, kind in ((True, _core.InputError), (False, _core.IoError)):
        with pytest.raises(kind, match="why"):
            core.refuse("why", wrong_input)
