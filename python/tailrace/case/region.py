"""The points of the grid that an output stores: by their indices, or by their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .sections.output_place import nearest_node

if TYPE_CHECKING:
    from tailrace.grids import UniformGrid
    from tailrace.io.placement import Region

    from .sections.grid_section import GridSection
    from .sections.output_section import OutputSection


def nodes_of(section: GridSection) -> UniformGrid:
    """The places of the nodes of a case. Local.

    :raises InputError: the schemes need more nodes.
    """
    # The compiled module, which the command loads late.
    from tailrace.core import Grid
    from tailrace.grids import UniformGrid

    return UniformGrid.of(
        Grid(section.points, section.lengths, section.sides, section.stretching or "", section.beta or 0.0)
    )


def region_of(output: OutputSection, grid: UniformGrid) -> Region | None:
    """The points of a grid that an output stores; None: all of them. Local.

    :raises ValueError: names the key that asks for points outside the grid.
    """
    from tailrace.grids import triple
    from tailrace.io.placement import Region

    start, counts = list(output.start), list(output.count)
    for axis, place in output.places.items():
        d = "xyz".index(axis)
        start[d], counts[d] = nearest_node(grid, axis, place).number, 1
    for d, points in enumerate(grid.points):
        counts[d] = _count(d, start[d], counts[d], output.stride[d], points)
    if counts == list(grid.points):
        return None
    return Region(triple(start), triple(counts), output.stride)


def _count(d: int, start: int, count: int, stride: int, points: int) -> int:
    axis = "xyz"[d]
    if start >= points:
        raise ValueError(f"start: {start} in {axis} is outside the field, whose points are 0 to {points - 1}")
    fit = (points - 1 - start) // stride + 1
    if count > fit:
        raise ValueError(
            f"count: {count} points in {axis} from {start} with a stride of {stride} go beyond the last, "
            f"{points - 1}; {fit} fit"
        )
    return count or fit


def notes_of(outputs: Sequence[OutputSection], section: GridSection) -> Iterator[str]:
    """A line for each place at which there is no node: which node is stored instead. Local."""
    if not any(output.places for output in outputs):
        return
    grid = nodes_of(section)
    for number, output in enumerate(outputs):
        for axis, place in output.places.items():
            node = nearest_node(grid, axis, place)
            if not node.exact:
                yield (
                    f"output[{number}] ('{output.name}').at.{axis} = {place:g}: stored is the nearest node, number "
                    f"{node.number}, at {axis} = {node.place:.6g}"
                )
