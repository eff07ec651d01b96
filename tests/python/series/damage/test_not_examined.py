"""A file that the system cannot examine is not taken for missing, removed, or another program's."""

from __future__ import annotations

import pytest

from helpers.harness.injection import run

WRITTEN = """
stale = failed = 0
kept = []
for sticky in (False, True):
    for number in range(1, 300):
        os.system("rm -rf x*")
        with tr.open("x", "w", engine="{engine}") as out:
            out.write_step(0.1, index=1, ux=a)
        injector.arm(Fault("stat", "ESTALE", sticky=sticky), number)
        try:
            with tr.open("x", "{mode}", engine="{engine}") as out:
                out.write_step(0.2, index=2, ux=2 * a)
        except tr.IoError as failure:
            failed += 1
            stale += "Stale file handle" in str(failure)
            if "Stale file handle" not in str(failure):
                print(number, failure)
        out = None
        gc.collect()
        if not injector.disarm():
            break
        with tr.open("x", "a", engine="{engine}") as out:
            out.write_step(0.9, index=9, ux=9 * a)
        assert steps("x")[-1] == (9, True)
        if not sticky:  # else what cannot be examined may be another program's, and stays
            kept += [name for name in os.listdir() if name.endswith((".lock", ".journal"))]
print(failed > 20, stale == failed, kept)
"""


@pytest.mark.parametrize("engine", ["hdf5", "raw"])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_errors_say_what_cannot_be_examined(tmp_path, library, engine, mode):
    assert run(library, tmp_path, WRITTEN.format(engine=engine, mode=mode)) == "True True []\n"
