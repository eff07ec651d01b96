"""What `tailrace verify` says of files of other programs: damage is damage only."""

import h5py
import numpy as np

from helpers.harness.as_click import invoke as tailrace
from tailrace.inspection.contents import Soundness


def test_values_that_are_not_finite_are_no_damage(tmp_path):
    """Programs mark so what lies outside of their domain."""
    values = np.ones((4, 5, 6))
    values[0, 2:] = np.nan
    values[3, 1, 2] = np.inf
    with h5py.File(tmp_path / "masked.h5", "w") as file:
        file["temp"], file["salt"] = values, np.ones((4, 5, 6))
    result = tailrace("verify", tmp_path / "masked.h5")
    assert result.exit_code == 0, result.output
    assert "not finite: step 0: temp has 19 values that are not finite, the first at point 0, 2, 0" in result.stdout
    assert "salt has" not in result.stdout and "damaged" not in result.stdout and "no damage found" in result.stdout


def test_each_variable_that_cannot_be_read_is_told(tmp_path):
    path = tmp_path / "filtered.h5"
    with h5py.File(path, "w") as file:
        for name in ("a", "b", "c"):
            file.create_dataset(name, data=np.arange(24.0).reshape(2, 3, 4), chunks=(2, 3, 4), fletcher32=True)
        places = [file[name].id.get_chunk_info(0).byte_offset for name in ("a", "c")]
    raw = bytearray(path.read_bytes())
    for at in places:
        raw[at + 5] ^= 0x10
    path.write_bytes(raw)
    result = tailrace("verify", path)
    assert result.exit_code == 1, result.output
    assert ["'/a' cannot be read" in result.stdout, "'/c' cannot be read" in result.stdout] == [True, True], (
        result.output
    )
    assert "'/b' cannot" not in result.stdout


def test_nothing_is_all_well_without_a_variable(tmp_path):
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.attrs["time"] = 1.0
    result = tailrace("verify", tmp_path / "empty.h5")
    assert "all well" not in result.stdout and "without a variable that can be read" in result.stdout, result.output
    assert not any("all well" in line for line in Soundness(tmp_path, 3, [], []).lines())
