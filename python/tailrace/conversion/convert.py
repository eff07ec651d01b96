"""Conversion: any series, and files of other programs, into a series of any engine or files of another program.

    tr.convert("run.bp", "run.h5")
    tr.convert("data", "small.h5", variables=["ux", "uy"], coarsen=(2, 2, 2), precision="float32")

It goes step by step, in parallel, in bounded memory. The result is read back and compared with the source before it
gets its name. An interrupted conversion can be continued.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from tailrace.core import InputError
from tailrace.grids import Triple, triple
from tailrace.io.placement import Box
from tailrace.parallel import agree
from tailrace.text import names_of

from .request import ConversionRequest, Converted
from .selection import Precision, Selection, Slices
from .work import Conversion, Progress

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Converted", "convert"]


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    comm: MPI.Comm | None = None,
    steps: slice | None = None,
    variables: str | Sequence[str] | None = None,
    box: Box | Slices | None = None,
    coarsen: Triple = (1, 1, 1),
    precision: Precision | None = None,
    engine: str | None = None,
    format: str | None = None,
    parameters: Mapping[str, object] | None = None,
    compression: str | None = None,
    source_format: str | None = None,
    source_parameters: Mapping[str, object] | None = None,
    verify: bool = True,
    resume: bool = False,
    delete_originals: bool = False,
    progress: Progress | None = None,
) -> Converted:
    """Convert a series, or files of another program, into another one. Collective.

    The result is written into `TARGET.partial`, read back, compared with the source bit by bit, and then renamed to its
    place. An interruption at any moment leaves that directory, and `resume=True` continues from it.

    :param source: all that `tailrace.open` reads from a disk.
    :param target: a new path; nothing is replaced.
    :param comm: the ranks that take part, by default all ranks (COMM_WORLD).
    :param steps: positions of stored steps, as slice(0, 10, 2).
    :param variables: names of the variables to convert, or one name; by default all. Attributes of the others are left
        out.
    :param box: the points to keep, in x, y, z: a Box, or three slices. It selects from arrays on the points of the
        grid.
    :param coarsen: keep every n-th point in x, y, z.
    :param precision: the type to which real numbers are rounded.
    :param engine: the engine of the target; by default that of its ending, as in `tailrace.open`.
    :param format: write a format of another program instead: vtkhdf and xdmf, which the engines hdf5 and raw write, or
        one of `tailrace.formats.writers`; the ending .pvd means pvd, VTK's own files.
    :param parameters: parameters of the engine, as in `tailrace.open`, or of the format.
    :param compression: the method of compression: "gzip" or "szip" for hdf5, an operator of ADIOS2 for bp4 and bp5.
    :param source_format: the family of formats of the source; by default it is recognised from the content.
    :param source_parameters: parameters of the reader of the source.
    :param verify: compare the result with the source.
    :param resume: continue an interrupted call with the same arguments, or begin if there is none. Without it, what an
        interrupted call has left is an error.
    :param delete_originals: when the result is verified and in its place, remove the files that belong to the source.
    :param progress: called on rank 0 with what is done ("writing", "comparing"), the bytes so far, and all bytes.
    :raises InputError: an argument is wrong, the target exists already, or cannot hold what the source has.
    :raises IoError: the source is damaged, the disk is full, or the result differs from the source.

    >>> with tr.open("run.h5", "w") as series:
    ...     for time in (0.0, 0.5, 1.0):
    ...         series.write_step(time, p=np.ones((8, 12, 16)), t=np.ones((8, 12, 16)))
    >>> done = tr.convert("run.h5", "small.bp", steps=slice(1, None), variables=["p"], coarsen=(2, 2, 2))
    >>> done.steps, done.verified
    (2, True)
    """
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    selection = agree(
        comm,
        lambda: Selection(
            slice(None) if steps is None else steps,
            None if variables is None else names_of(variables),
            _slices(box),
            triple(coarsen),
            precision,
        ),
    )
    request = ConversionRequest(
        fspath(source), fspath(target), selection, engine, format, dict(parameters or {}), compression, source_format,
        dict(source_parameters or {}), verify, resume, delete_originals,
    )  # fmt: skip
    return Conversion(request, comm, progress).run()


def _slices(box: Box | Slices | None) -> Slices | None:
    if box is None:
        return None
    slices = [one for one in box if isinstance(one, slice)]
    if not slices:
        start, count = triple(box[0]), triple(box[1])
        slices = [slice(s, s + c) for s, c in zip(start, count, strict=True)]
    if len(slices) != 3 or any(one.step not in (None, 1) for one in slices):
        raise InputError(
            f"box = {box!r}: expected three slices in x, y, z without a step; coarsen takes every n-th point"
        )
    x, y, z = slices
    return x, y, z
