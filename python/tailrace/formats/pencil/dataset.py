"""The base of all datasets of the Pencil Code except snapshots."""

from __future__ import annotations

from tailrace.io.dataset import Dataset

from .run.attributes import run_attributes
from .run.run import PencilRun


class PencilDataset(Dataset):
    """Averages, slices, particles, stalkers or a time series.

    :param kind: the kind of file, for a writer of the same format: "averages/z", "PVAR".
    """

    format = "pencil"

    def __init__(self, path: str, run: PencilRun | None, kind: str) -> None:
        super().__init__(path)
        self.attributes = {**(run_attributes(run) if run is not None else {}), "pencil/file": kind}
