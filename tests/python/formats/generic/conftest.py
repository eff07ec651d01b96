"""Files that tests write with h5py, opened as another rank gets them."""

import pickle

import h5py
import pytest

from tailrace.formats.generic import dataset_at


@pytest.fixture
def open_file(tmp_path):
    """Write a file with a function, and open it as another rank gets it."""
    opened = []

    def make(write, name="x.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            write(file)
        opened.append(pickle.loads(pickle.dumps(dataset_at(tmp_path / name))))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
