"""What all datasets of the Pencil Code that are no snapshots share."""

from __future__ import annotations

from tailrace.io.dataset import Dataset

from .run.attributes import run_attributes
from .run.run import PencilRun


class PencilDataset(Dataset):
    """Averages, slices, particles, stalkers or a time series.

    :param kind: what the file is, for a writer of the same format: "averages/z", "PVAR".
    """

    format = "pencil"

    def __init__(self, path: str, run: PencilRun | None, kind: str) -> None:
        super().__init__(path)
        self.attributes = {**(run_attributes(run) if run is not None else {}), "pencil/file": kind}
