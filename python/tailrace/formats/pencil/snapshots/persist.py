"""The persistent variables at the end of a snapshot: the data besides the fields that a restart needs.

A block is the record 2000, then pairs of records (number, values), then the record 2000 again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.io.values import Scalar

from ..files.records import Record, Records

_BLOCK = 2000
_MOST_VALUES = 1 << 20  # bytes of one
# Number of the record -> name, as its HDF5 files have it (record_types.h of the code).
_NAMES = {
    1: "random_seeds", 2: "random_seeds2", 100: "iteration_number", 250: "ism_t_next_old", 251: "ism_pos_next_old",
    252: "ism_bold_mass", 253: "ism_t_next_sni", 254: "ism_t_next_snii", 255: "ism_x_cluster", 256: "ism_y_cluster",
    257: "ism_toggle_sni", 258: "ism_toggle_snii", 260: "ism_z_cluster", 261: "ism_t_cluster", 270: "forcing_location",
    271: "forcing_tsforce", 272: "forcing_torus", 280: "hydro_tphase", 281: "hydro_phase1", 282: "hydro_phase2",
    284: "hydro_tsforce", 285: "hydro_location", 286: "hydro_ampl", 287: "hydro_wavenumber", 288: "hydro_qvec_gb",
    289: "hydro_avec_gb", 311: "magnetic_phase", 312: "magnetic_ampl", 320: "shear_delta_y", 330: "time_step",
    331: "eps_rkf", 340: "special_lnkmin0", 350: "dt_gw", 360: "lheating_always", 361: "lsolve_for_phi",
    370: "wall_vel", 371: "wall_pos",
}  # fmt: skip
_WHOLE = {1, 2, 100, 257, 258, 360, 361}  # whole numbers and truth values


def read_persist(records: Records, offset: int, real: str, processes: int) -> dict[str, NDArray[Any]]:
    """The values of each process, one process after the other, by name.

    :param offset: the first byte behind the grid of the snapshot; if the file ends there, it has no variables.
    :param processes: the number of processes with values in each record; the values of one place are together.
    :raises IoError: the block is damaged or cut off.
    """
    found: dict[str, NDArray[Any]] = {}
    if offset == records.size:
        return found
    at = records.at(offset)
    _expect_block(records, at)
    while True:
        at = records.at(at.end)
        number = _number(records, at)
        if number == _BLOCK:
            if at.end != records.size:
                raise IoError(
                    f"{records.path}: has {records.size - at.end} bytes behind its persistent variables, which end at "
                    f"byte {at.end}"
                )
            return found
        at = records.at(at.end)
        values = records.values(at, "i4" if number in _WHOLE else _real_of(at, real), _MOST_VALUES)
        if values.size % processes == 0:
            values = values.reshape(-1, processes).T.reshape(-1)
        found[_NAMES.get(number, f"record_{number}")] = values.astype(values.dtype.newbyteorder("="))


def as_scalars(persist: dict[str, NDArray[Any]]) -> dict[str, Scalar]:
    """A single value as a number; the values of several processes as a text of numbers, which loses nothing."""
    return {f"persist.{name}": _scalar(values) for name, values in persist.items()}


def joined(parts: Iterable[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The values of several files, one after the other."""
    lists: dict[str, list[NDArray[Any]]] = {}
    for part in parts:
        for name, values in part.items():
            lists.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in lists.items()}


def _scalar(values: NDArray[Any]) -> Scalar:
    if values.size == 1:
        return int(values[0]) if values.dtype.kind == "i" else float(values[0])
    return " ".join(str(value) for value in values.reshape(-1))


def _real_of(record: Record, real: str) -> str:
    """The real type of a record; an unknown variable is taken as real if it has the size of real numbers."""
    return "i4" if record.size % np.dtype(real).itemsize else real


def _number(records: Records, record: Record) -> int:
    if record.size != 4:
        raise IoError(
            f"{records.path}: the record at byte {record.begin} has {record.size} bytes; expected the number of a "
            "persistent variable, 4 bytes"
        )
    return int(records.values(record, "i4")[0])


def _expect_block(records: Records, record: Record) -> None:
    number = _number(records, record)
    if number != _BLOCK:
        raise IoError(
            f"{records.path}: the record at byte {record.begin} is {number}; expected {_BLOCK}, the begin of the "
            "persistent variables, or the end of the file"
        )
