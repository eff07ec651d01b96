"""The base of the writers of Nektar++ checkpoints: names of files, options, and parts of variables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from tailrace.core import InputError, IoError
from tailrace.files.regular import is_there
from tailrace.formats.contiguous_hdf5 import ContiguousHdf5
from tailrace.formats.overlaps import rows_in
from tailrace.formats.writer import Writer
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar
from tailrace.parallel import agree, on_root

from .hdf5_layout import datasets, make_file
from .layout import DECOMPOSITION, NektarLayout, metadata_of

_ENDINGS = (".fld", ".rst", ".chk")
_MOST_ID = (1 << 32) - 1


class NektarWriter(Writer):
    """Checkpoints. A path that ends with .fld, .rst or .chk is one file; another path is a directory of NAME_0.chk, ...

    The option `decomposition` chooses the rows: "source" (default) takes those of the source checkpoint, "ranks" makes
    one row of each definition for each writing rank. Values go into an HDF5 file beside the target.
    """

    known: ClassVar[Mapping[str, tuple[str, ...]]] = {"decomposition": DECOMPOSITION}

    def prepare(self) -> None:  # noqa: D102
        self._steps = 0
        self._single = Path(self.path).suffix in _ENDINGS
        self._file: ContiguousHdf5 | None = None
        self._draft = Path()
        self.layout: NektarLayout | None = None

    def _target(self) -> Path:
        path = Path(self.path)
        return path if self._single else path / f"{path.name}_{self._steps}.chk"

    def begin_step(  # noqa: D102
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        if self._single and self._steps:
            raise InputError(
                f"{self.path}: a checkpoint of Nektar++ holds one step; for several give the name of a directory, "
                f"without {Path(self.path).suffix}"
            )
        how = self.options.get("decomposition", "source")
        layout = NektarLayout(self.path, variables, scalars, self.attributes, self.comm.size, how)
        self.metadata, self.provenance = metadata_of(scalars, time)
        self.check(layout)
        target = self._target()
        self._draft = target.with_name(f".{target.name}.unfinished.h5")
        on_root(self.comm, self._make_room)
        try:
            self._file = ContiguousHdf5(
                self._draft,
                self.comm,
                lambda file: make_file(file, layout, self.metadata, self.provenance),
                tuple(f"NEKTAR/{one}" for one in datasets(layout)),
            )
        except BaseException:
            if self.comm.rank == 0:
                self._draft.unlink(missing_ok=True)
            raise
        self.layout = layout
        agree(self.comm, self._fill_orders)

    def check(self, layout: NektarLayout) -> None:
        """Check that the format can hold the step."""

    def _make_room(self) -> None:
        target = self._target()
        if not self._single:
            Path(self.path).mkdir(parents=True, exist_ok=True)
        if is_there(target):
            raise IoError(f"{target}: is there already; nothing is replaced")
        self._draft.unlink(missing_ok=True)  # left by a killed program

    def _fill_orders(self) -> None:
        assert self.layout is not None
        for offset, values in self.layout.uniform_orders() if self.comm.rank == 0 else ():
            self._put("POLYORDERS", offset, values)

    def _put(self, dataset: str, offset: int, values: NDArray[Any]) -> None:
        assert self._file is not None
        self._file.write(f"NEKTAR/{dataset}", Box((0, offset, 0), (1, len(values), 1)), values.reshape(1, -1, 1))

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:  # noqa: D102
        assert self.layout is not None, "begin_step comes first"
        (column, at, _), (columns, count, _) = box
        if self.layout.is_number(name) and values.size and not (values.min() >= 0 and values.max() <= _MOST_ID):
            raise InputError(
                f"{self.path}: {name}: expected numbers from 0 to 2^32 - 1, found {values.min()} to {values.max()}"
            )
        for dataset, begin, length, offset, width in self.layout.targets(name):
            for _, first, rows, place in rows_in(at - begin, count, [(dataset, length)]):
                part = values[0, place]
                if columns == width:
                    self._put(dataset, offset + first * width, part.reshape(-1))
                    continue
                for row in range(rows):
                    self._put(dataset, offset + (first + row) * width + column, part[row])

    def end_step(self) -> None:  # noqa: D102
        assert self._file is not None
        file, self._file = self._file, None
        try:
            file.close()
            self.finish(self._target())
        except BaseException:
            if self.comm.rank == 0:
                self._draft.unlink(missing_ok=True)
            raise
        self._steps += 1
        self.layout = None

    @abstractmethod
    def finish(self, target: Path) -> None:
        """Make the checkpoint at its place from the values in the draft. Collective."""

    def abandon_step(self) -> None:  # noqa: D102
        if self._file is not None:
            self._file.abandon()
            self._file = None
            if self.comm.rank == 0:
                self._draft.unlink(missing_ok=True)
        self.layout = None

    def close(self) -> None:  # noqa: D102
        return
