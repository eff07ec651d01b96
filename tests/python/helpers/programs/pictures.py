"""What ranks draw together, for the tests of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace as tr
from tailrace.fields.neighbours import Neighbours
from tailrace.pictures.compose import Drawn, compose
from tailrace.pictures.drawing import Drawing
from tailrace.pictures.frame import Theme
from tailrace.pictures.scene import Layer, Scene
from tailrace.steps.step import Step

SHAPE = (20, 15, 12)
KINDS = ("periodic", "dirichlet", "free-slip")


def planes_of_neighbours(comm: Any) -> None:
    """Every rank's part of numbered nodes gets the numbers around it, whatever the process grid."""
    whole = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE[::-1])
    for rows in (n for n in range(1, comm.size + 1) if comm.size % n == 0):
        ops = tr.Operators(SHAPE, (1.0, 1.0, 1.0), ("periodic", "dirichlet", "periodic"), comm=comm, rows=rows)
        (i, j, k), (nx, ny, nz) = ops.box()
        part = whole[k : k + nz, j : j + ny, i : i + nx]
        for before, after in ((1, 2), (0, 1), (4, 5)):  # the last: more planes than a neighbour has
            for periodic in ((True, False, True), (False, False, False)):
                around = Neighbours(comm, (i, j, k), (nx, ny, nz), SHAPE, periodic, before, after)
                wanted = []
                for d, (start, count) in enumerate(((i, nx), (j, ny), (k, nz))):
                    nodes = range(start - before, start + count + after)
                    wanted.append([node for node in nodes if periodic[d] or 0 <= node < SHAPE[d]])
                    assert list(around.places(d)) == wanted[d]
                x, y, z = (np.array(one) % size for one, size in zip(wanted, SHAPE, strict=True))
                for dtype in (None, np.float64):
                    found = around.extended(part, dtype)
                    assert found.dtype == (dtype or np.float32)
                    assert np.array_equal(found, whole[np.ix_(z, y, x)]), (rows, comm.rank, before, periodic)


def images(comm: Any, stretched: bool, kind: str = "opaque") -> list[Any] | None:
    """Pictures of waves without symmetry, on every process grid of these ranks, on rank 0."""
    law = {"stretching": "walls", "beta": 0.6} if stretched else {}
    found = []
    for rows in (n for n in range(1, comm.size + 1) if comm.size % n == 0):
        ops = tr.Operators(SHAPE, (3.0, 2.0, 1.5), KINDS, comm=comm, rows=rows, **law)

        def waves(x: Any, y: Any, z: Any) -> Any:
            return np.sin(2 * np.pi * x / 3 + y) * np.cos(2 * z) + 0.4 * np.sin(3 * y + z)

        def ramp(x: Any, y: Any, z: Any) -> Any:
            return y + 0.3 * np.cos(2 * np.pi * x / 3) + 0 * z

        fields = {"a": tr.Field.from_function(ops, waves), "b": tr.Field.from_function(ops, ramp)}
        step = Step(3, 0.75, ops, list(fields), lambda name, fields=fields: fields[name].data, attributes={})
        layers = (
            Layer("a", (0.3,), "b"),
            Layer("b", axis="z", place=0.5),
            Layer("2*a - b**2", normal=(1.0, 0.5, 0.2), label="mixed"),
            Layer("own.py:sum", (1.2,), "abs(a)"),
            Layer("own.py:arrows", axis="x", place=1.5, spacing=3),
        )
        if kind == "volume":
            layers = (Layer("a", opacity=0.4), Layer("b", (1.2,), "a"), Layer("b", axis="z", place=0.5))
        elif kind == "clear":
            layers = layers[:1]
        own = {
            "own.py:sum": lambda step: step["a"] + step["b"],
            "own.py:arrows": lambda step: tr.Vector(step["a"], step["b"], 0.5 * step["a"]),
        }
        drawing = Drawing(Scene(layers, (320, 200), title="waves", orbit=20.0, clear=kind == "clear", functions=own))
        try:
            drawing.begin(step)
            for field in fields.values():  # the flow goes on while programs draw
                field.data[...] = np.nan
            (image,) = drawing.end()
            found.append(None if image is None else image.tolist())
        finally:
            drawing.close()
    return found if comm.rank == 0 else None


def smoothed(comm: Any, smooth: int) -> list[int] | None:
    """The levels of red in the scene of an oblique plane of one colour, on rank 0."""
    ops = tr.Operators(SHAPE, (3.0, 2.0, 1.5), KINDS, comm=comm)
    field = tr.Field.from_function(ops, lambda x, y, z: 1 + 0 * x * y * z)
    step = Step(0, 0.0, ops, ["a"], lambda _: field.data, attributes={})
    layer = Layer("a", normal=(0.3, 0.2, 1.0), limits=(1.0, 2.0), colours="gray")
    drawing = Drawing(Scene((layer,), (320, 200), smooth=smooth, view=(0.3, 0.5, 1.0), theme=Theme(lines=(1, 1, 1))))
    try:
        image = drawing.draw(step)
    finally:
        drawing.close()
    return None if image is None else [int(one) for one in np.unique(image[20:90, 70:260, 0])]


def fog(comm: Any, opacity: float) -> list[float] | None:
    """The middle of a picture of a volume that is the same everywhere, seen along x, on rank 0."""
    ops = tr.Operators(SHAPE, (3.0, 2.0, 1.5), KINDS, comm=comm, stretching="walls", beta=0.6)
    field = tr.Field.from_function(ops, lambda x, y, z: 1 + 0 * x * y * z)
    step = Step(0, 0.0, ops, ["a"], lambda _: field.data, attributes={})
    layer = Layer("a", opacity=opacity, limits=(0.0, 1.0), colours="viridis")
    drawing = Drawing(Scene((layer,), (320, 200), view="x"))
    try:
        image = drawing.draw(step)
    finally:
        drawing.close()
    return None if image is None else [float(one) for one in image[80:90, 150:170].mean(axis=(0, 1))]


class CountingRanks:
    """Ranks that count the bytes which this one sends to others and gets from them."""

    def __init__(self, comm: Any) -> None:
        self._comm, self.size, self.rank, self.moved = comm, comm.size, comm.rank, 0

    def Alltoallv(self, sends: Any, receives: Any) -> None:  # noqa: N802 # as mpi4py calls it
        for values, counts in (sends, receives):
            self.moved += values.dtype.itemsize * (sum(counts) - counts[self.rank])
        self._comm.Alltoallv(sends, receives)

    def Allgather(self, own: Any, all_of_them: Any) -> None:  # noqa: N802
        self.moved += all_of_them.nbytes
        self._comm.Allgather(own, all_of_them)

    def Gatherv(self, values: Any, room: Any, root: int) -> None:  # noqa: N802
        self.moved += values.nbytes if self.rank != root else sum(room[1]) - room[1][root]
        self._comm.Gatherv(values, room, root=root)


def composed(comm: Any, blended: bool) -> list[float] | None:
    """The largest difference from a plain reference, and the bytes that each rank moved, on rank 0."""
    rows, columns, shrink = 46, 60, 2  # 46: no number of ranks divides it
    random = np.random.default_rng(7)
    images = random.integers(0, 256, (comm.size, rows, columns, 4), np.uint8)
    if blended:
        images[..., :3] = images[..., :3] * (images[..., 3:] / 255)
    depths = random.random((comm.size, rows, columns), np.float32)
    order = [int(rank) for rank in random.permutation(comm.size)] if blended else None
    ranks = CountingRanks(comm)
    cuts = [(3 + 3 * rank % 7, 1 + 5 * rank % 11, columns - 8 - rank, rows - 5) for rank in range(comm.size)]
    cuts[3:4] = [(0, 0, 0, 0)] * len(cuts[3:4])  # nothing
    left, top, right, bottom = cut = cuts[comm.rank]
    mine = images[comm.rank, top:bottom, left:right], depths[comm.rank, top:bottom, left:right]
    background = [0, 0, 0, 0] if blended else [10, 20, 30, 255]
    found = compose(ranks, Drawn(cut, *mine), (columns, rows), background, order, shrink)
    moved = comm.gather(float(ranks.moved))
    if found is None:
        return None
    whole = np.zeros(images.shape[1:])
    for rank, (left, top, right, bottom) in enumerate(cuts):  # a rank has drawn nothing outside its part
        outside = np.ones((rows, columns), bool)
        outside[top:bottom, left:right] = False
        images[rank][outside], depths[rank][outside] = background, 1
    if order is None:
        whole = np.take_along_axis(images, depths.argmin(axis=0)[None, :, :, None], axis=0)[0].astype(float)
    for rank in order or ():
        whole += (1 - whole[..., 3:] / 255) * images[rank]
    expected = whole.reshape(rows // shrink, shrink, columns // shrink, shrink, -1).mean(axis=(1, 3))
    return [float(np.abs(found - expected).max()), *moved]
