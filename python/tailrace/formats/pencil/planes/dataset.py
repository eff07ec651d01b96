"""The base of the datasets of averages and slices."""

from __future__ import annotations

from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple
from tailrace.io.placement import Box

from ..dataset import PencilDataset
from ..run.run import PencilRun


class PlaneDataset(PencilDataset):
    """Variables that are averaged or cut in one or two directions: their shape has one point there.

    :param kind: "averages/z", "slices/bb1_xy".
    :param shape: the shape of each variable, x, y, z.
    """

    def __init__(self, path: str, run: PencilRun, kind: str, shape: Triple) -> None:
        super().__init__(path, run, kind)
        self._shape = shape
        whole = None if run.points is None else run.points.placed(False, None)
        if whole is None or any(n not in (1, m) for n, m in zip(shape, whole.points, strict=True)):
            return
        x, y, z = (along if n > 1 else () for along, n in zip(whole.uneven, shape, strict=True))
        if any(map(len, (x, y, z))):
            self.grid = StretchedGrid(shape, whole.origin, whole.spacing, coordinates=(x, y, z))
        else:
            self.grid = UniformGrid(shape, whole.origin, whole.spacing)


def flat_box(box: Box, *directions: int) -> Box:
    """A box of the grid with one point in the given directions, which are averaged or cut."""
    start = triple(0 if at in directions else low for at, low in enumerate(box.start))
    return Box(start, triple(1 if at in directions else n for at, n in enumerate(box.count)))
