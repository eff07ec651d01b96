"""What of a source may go, and what of it is chosen."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import tailrace as tr


def test_originals_of_other_programs_stay_unless_all_of_them_is_read(tmp_path):
    run = tmp_path / "run"
    (run / "data").mkdir(parents=True)
    (run / "input.i3d").write_text(
        "&BasicParam\nnx=6\nny=4\nnz=2\nxlx=1.\nyly=1.\nzlz=1.\ndt=0.1\nre=10.\nnclx1=0\nnclxn=0\nncly1=0\nnclyn=0\n"
        "nclz1=0\nnclzn=0\nitype=2\nifirst=1\nilast=9\n/\n&InOutParam\nioutput=5\n/\n"
    )
    for name in ("ux", "uy"):
        np.arange(48.0).tofile(run / "data" / f"{name}-1.bin")
    with pytest.raises(tr.InputError, match="xcompact3d does not store all attributes"):
        tr.convert(run, tmp_path / "there", format="xcompact3d", delete_originals=True)
    done = tr.convert(run / "data" / "ux-1.bin", tmp_path / "ux.h5", delete_originals=True)
    assert done.removed == 1
    assert (run / "input.i3d").exists() and (run / "data" / "uy-1.bin").exists(), "others need them"
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["u"] = np.zeros((2, 3, 4))
    with pytest.raises(tr.InputError, match="may not have all"):
        tr.convert(tmp_path / "plain.h5", tmp_path / "out.h5", delete_originals=True)
    assert (tmp_path / "plain.h5").exists()


def test_a_box_of_slices_has_no_steps(tmp_path):
    with tr.open(tmp_path / "in.h5", "w") as out:
        out.write_step(0.0, u=np.zeros((4, 4, 4)))
    for box in ((slice(0, 4, 2),) * 3, (slice(0, 2),) * 2):
        with pytest.raises(tr.InputError, match="three slices in x, y, z without a step"):
            tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", box=box)
