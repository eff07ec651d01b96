"""How all ranks draw the scene of a picture together, while the caller goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.fields.field import Field
from tailrace.fields.neighbours import Neighbours, coordinates_of, inner
from tailrace.fields.vector import Vector
from tailrace.parallel import agree

from .camera import Camera, Vector3, camera_of
from .colours import Range, all_finite, range_of, sampled, table_of, wider
from .compose import Drawn, compose
from .frame import Bar, finished, scene_size
from .painter import Painter
from .quantity import quantity, vector
from .scene import Layer, Scene

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.steps.step import Step

AROUND = (1, 2)  # planes of neighbours before and after a part: a gradient at each node of its cells


@dataclass(frozen=True)
class _Begun:
    """A picture that the programs of all ranks draw, and what their parts need to become one.

    :param size: columns and rows of what is drawn of the whole scene.
    :param cut: those of this rank's part: left, top, right, bottom.
    :param order: the ranks from the nearest, where light goes through their parts.
    """

    scene: Scene
    comm: MPI.Comm
    time: float
    camera: Camera
    lengths: Vector3
    size: tuple[int, int]
    cut: tuple[int, int, int, int]
    background: Vector3 | None
    order: list[int] | None
    limits: dict[int, Range]


class Drawing:
    """Draws a scene of one step after the other, with the same ranges. Collective.

    :param chosen: ranges and levels of an earlier part of the run; it is filled at the first picture.
    """

    def __init__(self, scene: Scene, chosen: dict[str, list[float]] | None = None) -> None:
        self.scene, self.chosen = scene, {} if chosen is None else dict(chosen)
        self.field_bytes = 0  # of a whole field
        self._limits: dict[int, Range] = {}  # of each layer in this picture
        self._painter = Painter()
        self._begun: _Begun | None = None
        self._images: list[NDArray[np.uint8] | None] = []  # of the scenes before it
        self._neighbours: Neighbours | None = None
        self._known_fields: dict[str, Field] = {}  # of this picture
        self._known_vectors: dict[str, Vector] = {}
        self._holes: set[str] = set()  # layers whose holes have been told
        self._remarks: list[str] = []

    def draw(self, step: Step) -> NDArray[np.uint8] | None:
        """The picture of a step on rank 0, (rows, columns, 3), or 4 if nothing is behind it; None on the others.

        :raises InputError: the step has no such field.
        :raises PainterError: a rank could not draw its part; raised on all of them.
        """
        self.begin(step)
        (image,) = self.end()
        return image

    def begin(self, step: Step, scenes: Sequence[Scene] = ()) -> None:
        """Have a step drawn: fields of the step are not needed when this returns, and `end` waits for the pictures.

        :param scenes: several that differ in their cameras, levels and places; all but the last are drawn before this
            returns.
        :raises InputError, PainterError: see `draw`.
        """
        usual = self.scene
        self._images, self._begun = [], None
        self._known_fields, self._known_vectors = {}, {}
        try:
            for self.scene in scenes or [usual]:
                if self._begun is not None:
                    self._images.append(self._image(self._begun))
                self._begun = self._ask(step)
        finally:
            self.scene = usual
            self._known_fields, self._known_vectors = {}, {}

    def end(self) -> list[NDArray[np.uint8] | None]:
        """The pictures of the step that was begun last, on rank 0; see `draw`."""
        begun, self._begun = self._begun, None
        return [] if begun is None else [*self._images, self._image(begun)]

    def _ask(self, step: Step) -> _Begun:
        first = self._quantity(step, self.scene.layers[0])
        comm, grid = first.operators.comm, first.operators.grid
        self._neighbours = self._neighbours or Neighbours.of(first, *AROUND)
        x, y, z = first.operators.shape(first.centred)
        self.field_bytes = x * y * z * first.dtype.itemsize
        lengths: Vector3 = (float(grid.lengths[0]), float(grid.lengths[1]), float(grid.lengths[2]))
        columns, rows = scene_size(self.scene.size)
        camera = camera_of(
            self.scene.view, self.scene.up, lengths, columns / rows, self.scene.turn + self.scene.orbit * step.time
        )
        parts = [self._part(number, layer, step) for number, layer in enumerate(self.scene.layers)]
        size = (columns * self.scene.smooth, rows * self.scene.smooth)
        arrows = any(layer.spacing for layer in self.scene.layers)  # which reach beyond this rank's cells
        cut = (0, 0, *size) if arrows else camera.cut(self._corners(first), size)
        through = any(layer.opacity for layer in self.scene.layers)  # light goes through the parts of several ranks
        background = None if through or self.scene.clear else self.scene.theme.paper
        self._painter.ask(
            {
                "layers": [one for one in parts if one],
                "size": size,
                "cut": cut,
                "camera": camera.told(),
                "background": background,
                "lines": self.scene.theme.lines,
                "box": None if background is None else lengths,  # each rank draws what is before its own part
            }
        )
        order = self._order(first, camera) if through else None
        limits = dict(self._limits)
        return _Begun(self.scene, comm, step.time, camera, lengths, size, cut, background, order, limits)

    def _image(self, begun: _Begun) -> NDArray[np.uint8] | None:
        drawn = agree(begun.comm, self._painter.answer)
        paper = [0] * 4 if begun.background is None else [*(round(255 * one) for one in begun.background), 255]
        smooth = begun.scene.smooth
        whole = compose(begun.comm, Drawn(begun.cut, *drawn), begun.size, paper, begun.order, smooth)
        return None if whole is None else _finish(whole, begun)

    def _corners(self, field: Field) -> list[Vector3]:
        """Those of the box of this rank's cells; of an empty part the corner of the whole."""
        assert self._neighbours is not None
        ends = []
        for d in range(3):
            own = self._own(field, d)
            along = coordinates_of(field, d, self._neighbours.places(d))[own]
            ends.append((float(along[0]), float(along[-1])) if len(along) else (0.0, 0.0))
        return [(x, y, z) for x in ends[0] for y in ends[1] for z in ends[2]]

    def _order(self, field: Field, camera: Camera) -> list[int]:
        """The ranks by their distance from the camera in steps along the axes: none is hidden by a later one."""
        corners = np.array(self._corners(field))
        ends = np.array(field.operators.comm.allgather([corners.min(axis=0), corners.max(axis=0)]))
        away = np.maximum(np.maximum(ends[:, 0] - camera.position, camera.position - ends[:, 1]), 0).sum(axis=1)
        return [int(rank) for rank in np.argsort(away, kind="stable")]

    def _own(self, field: Field, d: int) -> slice:
        """Of the nodes around this rank's part along a direction those of its cells."""
        assert self._neighbours is not None
        start, count = field.operators.box(field.centred)
        size, kind = field.operators.shape(field.centred)[d], field.operators.grid.boundaries[d]
        return inner(self._neighbours.places(d), start[d], count[d], size, periodic=kind == "periodic")

    # ---- a layer -----------------------------------------------------------------------------------------------------
    def _part(self, number: int, layer: Layer, step: Step) -> dict[str, Any] | None:
        """The request for this rank's part of a layer; None where it has none of it."""
        values = self._quantity(step, layer)
        colour = self._quantity(step, replace(layer, field=layer.colour)) if layer.colour else values
        self._choose(number, layer, values, colour)
        assert self._neighbours is not None
        if layer.spacing:
            return self._arrows(number, layer, values, self._known_vectors[layer.field])
        if layer.opacity:
            return self._volume(number, layer, values)
        if layer.axis:
            return self._slice(number, layer, values)
        if layer.normal is not None:
            return self._cut(number, layer, values)
        around = self._neighbours.extended(values.data, np.float32)
        tint = self._neighbours.extended(colour.data, np.float32) if layer.colour else around
        return self._surface(number, layer, values, around, tint)

    def _quantity(self, step: Step, layer: Layer) -> Field:
        """The field that a layer shows, of arrows their length; it is computed once for a picture."""
        name = layer.field
        if layer.spacing and name not in self._known_vectors:
            self._known_vectors[name] = vector(step, name, self.scene.functions)
            self._known_fields[name] = self._known_vectors[name].norm()
        if name not in self._known_fields:
            self._known_fields[name] = quantity(step, name, self.scene.functions)
        return self._known_fields[name]

    def _known(self, key: str) -> Range:
        low, high = self.chosen[key]
        return low, high

    def _choose(self, number: int, layer: Layer, values: Field, colour: Field) -> None:
        """Levels are those of the first picture, and ranges only grow, so that pictures can be compared."""
        self._look_for_holes(layer, colour)
        key = f"range {number}"
        if layer.limits is None:
            low, high = range_of(values.operators.comm, sampled(colour))
            if low < high:
                known = self.chosen.get(key)
                self.chosen[key] = list(wider((known[0], known[1]) if known else None, (low, high)))
            self._limits[number] = (low - 0.5, low + 0.5) if key not in self.chosen else self._known(key)
        else:
            self._limits[number] = layer.limits
        is_surface = not (layer.axis or layer.opacity or layer.levels) and layer.normal is None
        if is_surface and f"levels {number}" not in self.chosen:
            level = _level(layer.field, values)
            if math.isfinite(level):
                self.chosen[f"levels {number}"] = [level]

    def _look_for_holes(self, layer: Layer, shown: Field) -> None:
        """Note, once for a layer, that values are not finite: they are grey, and no surface goes through them."""
        from mpi4py import MPI

        values = shown.data
        holes = 0 if all_finite(values) else np.count_nonzero(~np.isfinite(values))
        counts = np.array([holes, values.size], np.int64)
        shown.operators.comm.Allreduce(MPI.IN_PLACE, counts)
        if counts[0] and layer.shown not in self._holes:
            self._holes.add(layer.shown)
            self._remarks.append(f"'{layer.shown}' is not finite at {counts[0] / counts[1]:.2%} of the points")

    def remarks(self) -> list[str]:
        """What is to be said of the last picture, the same on all ranks. Local."""
        found, self._remarks = self._remarks, []
        return found

    def _surface(
        self, number: int, layer: Layer, values: Field, around: NDArray[Any], tint: NDArray[Any]
    ) -> dict[str, Any] | None:
        assert self._neighbours is not None
        nodes = [self._neighbours.places(d) for d in range(3)]
        own = [self._own(values, d) for d in range(3)]
        cut = (own[2], own[1], own[0])
        part = around[cut]
        levels = list(layer.levels) or self.chosen.get(f"levels {number}", [])
        if min(part.shape) < 2 or not any(part.min() < level < part.max() for level in levels):
            return None
        keep, name = self._painter.keep, f"layer{number}"
        return {
            "kind": "surface",
            "levels": levels,
            "values": keep(f"{name}-values", around),
            "colour": keep(f"{name}-colour", tint),
            "own": [[one.start, one.stop - 1] for one in own],
            **{axis: keep(f"{name}-{axis}", coordinates_of(values, d, nodes[d])) for d, axis in enumerate("xyz")},
            **self._coloured(number),
        }

    def _slice(self, number: int, layer: Layer, values: Field) -> dict[str, Any] | None:
        assert self._neighbours is not None
        d = "xyz".index(layer.axis)
        start, count = values.operators.box(values.centred)
        node = _node(values, d, layer.place)
        around = self._neighbours.extended(values.data, np.float32)
        nodes = [self._neighbours.places(e) for e in range(3)]
        if not start[d] <= node < start[d] + count[d]:
            return None
        own = [self._own(values, e) for e in range(3)]
        at = int(np.flatnonzero(nodes[d] == node)[0])
        own[d] = slice(at, at + 1)
        part = np.ascontiguousarray(around[own[2], own[1], own[0]])
        if part.size < 2:
            return None
        along = [coordinates_of(values, e, nodes[e])[own[e]] for e in range(3)]
        keep, name = self._painter.keep, f"layer{number}"
        return {
            "kind": "slice",
            "values": keep(f"{name}-values", part),
            **{axis: keep(f"{name}-{axis}", along[e]) for e, axis in enumerate("xyz")},
            **self._coloured(number),
        }

    def _arrows(self, number: int, layer: Layer, sizes: Field, vectors: Vector) -> dict[str, Any] | None:
        """Those at every `spacing`-th node of a plane, which are this rank's."""
        d, step = "xyz".index(layer.axis), layer.spacing
        self._choose_length(number, layer, sizes)
        start, count = sizes.operators.box(sizes.centred)
        node = _node(sizes, d, layer.place)
        nodes = [np.arange(start[e], start[e] + count[e]) for e in range(3)]
        own = [np.flatnonzero(one == node if e == d else one % step == 0) for e, one in enumerate(nodes)]
        if f"length {number}" not in self.chosen or not all(map(len, own)):
            return None
        at = np.ix_(own[2], own[1], own[0])
        along = [np.asarray(sizes.grid.coordinates[e])[nodes[e][own[e]]] for e in range(3)]
        z, y, x = np.meshgrid(along[2], along[1], along[0], indexing="ij")
        keep, name = self._painter.keep, f"layer{number}"
        return {
            "kind": "arrows",
            "length": self.chosen[f"length {number}"][0],
            "points": keep(f"{name}-points", np.stack([x, y, z], axis=-1).reshape(-1, 3)),
            "vectors": keep(f"{name}-vectors", np.stack([one.data[at] for one in vectors], axis=-1).reshape(-1, 3)),
            **self._coloured(number),
        }

    def _choose_length(self, number: int, layer: Layer, sizes: Field) -> None:
        """That of a unit is chosen at the first picture that is not at rest."""
        longest, grid = float(sizes.max()), sizes.operators.grid
        if f"length {number}" not in self.chosen and longest > 0:
            apart = min(float(grid.spacing(e)) for e in range(3) if "xyz"[e] != layer.axis)
            self.chosen[f"length {number}"] = [layer.spacing * apart / longest]

    def _cut(self, number: int, layer: Layer, values: Field) -> dict[str, Any] | None:
        """An oblique slice through this rank's cells."""
        lengths = [float(length) for length in values.operators.grid.lengths]
        through = layer.through or [0.5 * length for length in lengths]
        return self._cells(number, values, {"kind": "cut", "normal": layer.normal, "through": through})

    def _volume(self, number: int, layer: Layer, values: Field) -> dict[str, Any] | None:
        unit = 0.1 * max(float(length) for length in values.operators.grid.lengths)
        return self._cells(number, values, {"kind": "volume", "opacity": layer.opacity, "unit": unit})

    def _cells(self, number: int, values: Field, told: dict[str, Any]) -> dict[str, Any] | None:
        """A request with the values of this rank's cells."""
        assert self._neighbours is not None
        nodes = [self._neighbours.places(d) for d in range(3)]
        own = [self._own(values, d) for d in range(3)]
        part = np.ascontiguousarray(self._neighbours.extended(values.data, np.float32)[own[2], own[1], own[0]])
        if min(part.shape) < 2:
            return None
        keep, name = self._painter.keep, f"layer{number}"
        return {
            **told,
            "values": keep(f"{name}-values", part),
            **{
                axis: keep(f"{name}-{axis}", coordinates_of(values, d, nodes[d])[own[d]])
                for d, axis in enumerate("xyz")
            },
            **self._coloured(number),
        }

    def _coloured(self, number: int) -> dict[str, Any]:
        limits = self._limits[number]
        table = table_of(self.scene.layers[number].colours, limits)
        return {"range": list(limits), "table": self._painter.keep(f"table{number}", table)}

    def close(self) -> None:
        """End the program that draws. Local."""
        self._painter.close()


def _finish(whole: NDArray[np.uint8], begun: _Begun) -> NDArray[np.uint8]:
    from PIL import Image

    scene, bars = begun.scene, []
    if begun.background is not None:
        whole = np.asarray(Image.fromarray(whole).convert("RGB"))
    for number, layer in enumerate(scene.layers):
        bar = Bar(layer.label or _named(layer), begun.limits[number], layer.colours)
        if bar not in bars:
            bars.append(bar)
    title = f"{scene.title}   t = {begun.time:.4g}" if scene.title else f"t = {begun.time:.4g}"
    return finished(whole, scene.size, scene.theme, title, bars, begun.camera, begun.lengths, clear=scene.clear)


def _named(layer: Layer) -> str:
    """What the bar of a layer is called."""
    name = layer.shown.rpartition(":")[2]
    return f"|{name}|" if layer.spacing else name


def _node(values: Field, d: int, place: float) -> int:
    """The node nearest to a place; the end of a periodic direction is its first node. Local."""
    grid = values.grid
    distances = np.abs(np.asarray(grid.coordinates[d]) - place)
    if "xyz"[d] in grid.periodic and values.operators.grid.lengths[d] - place < distances.min():
        return 0
    return int(distances.argmin())


def _level(name: str, values: Field) -> float:
    """A standard deviation above the mean, below it for lambda2; NaN if no value is finite. Collective."""
    there = np.isfinite(values.data)
    finite = values.like(np.where(there, values.data, 0.0))
    share = values.like(there.astype(values.data.dtype)).mean()
    if share <= 0:
        return math.nan
    mean = finite.mean() / share
    spread = math.sqrt(max((finite * finite).mean() / share - mean * mean, 0.0))
    return float(mean - spread if name == "lambda2" else mean + spread)
