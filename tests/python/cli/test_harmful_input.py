"""Commands with input that was made to harm: one clear message and exit code 1 or 2; never a traceback or a wait."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.io import series as tr

PIPE = "it is a named pipe; expected a regular file"


def said(*arguments: object, cwd: Path, code: int = 2) -> str:
    result = mpi_run.tailrace(*arguments, cwd=cwd, limit=120)
    assert result.code == code, result.text
    assert "Traceback" not in result.text and "defect" not in result.text, result.text
    return result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "pipe.toml"], 2),
        (["case", "pipe.i3d"], 2),
        (["plot", "pipe.csv"], 2),
        (["plot", "pipe.h5"], 2),
        (["plot", "good.csv", "--reference", "pipe.dat", "--dt", "0.1"], 2),
        (["info", "pipe.h5"], 1),
        (["verify", "pipe.h5"], 2),
        (["analyse", "enstrophy", "pipe.h5"], 1),
        (["analyse", "enstrophy", "good.h5", "--grid", "pipe.toml"], 2),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_pipe_in_place_of_input(tmp_path, arguments, code):
    with tr.open(tmp_path / "good.h5", "w") as out:
        out.write_step(0.0, index=0, ux=np.zeros((8, 8, 8)))
    columns = ("step", "time", "kinetic_energy", "dissipation", "dissipation_laplacian", "enstrophy")
    (tmp_path / "good.csv").write_text(",".join(columns) + "\n0,0.0,1.0,1.0,1.0,1.0\n")
    os.mkfifo(tmp_path / next(word for word in arguments if word.startswith("pipe")))
    assert PIPE in said(*arguments, cwd=tmp_path, code=code)


@pytest.mark.parametrize("file", ["time_series.csv", "out.h5", "SHA256SUMS", "series.jsonl", "ux-1.bin"])
def test_a_pipe_in_place_of_what_a_run_resumes(tmp_path, file):
    file = file if file in ("time_series.csv", "out.h5") else f"checkpoints/step-00000004/{file}"
    case = cases.write_case(tmp_path, steps=4, every=4, outputs=("hdf5",))
    assert cases.run(case).code == 0
    (tmp_path / file).unlink()
    os.mkfifo(tmp_path / file)
    result = cases.run(case, "--resume", limit=120)
    text = result.text
    assert result.code == 1 and "Traceback" not in text, text
    assert PIPE in text or "it has no" in text, text


def test_a_pipe_in_place_of_what_a_run_looks_at(tmp_path):
    """Marks of checkpoints and pictures that are none of this run: it ends, and they stay."""
    figure = "import matplotlib.pyplot as plt\n\ndef analyse(step):\n    return {'line': plt.figure()}\n"
    block = '[[analysis]]\nscript = "fig.py"\nevery = 2\n'
    case = cases.write_case(tmp_path, steps=6, every=2, outputs=("hdf5",), extra=block)
    (tmp_path / "fig.py").write_text(figure)
    pipes = [f"checkpoints/{name}/SHA256SUMS" for name in ("step-00000002", "step-00000004.partial", "step-00000050")]
    pipes += ["analysis/fig-line-000050.png"]
    for place in (tmp_path / name for name in pipes):
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place)
    result = cases.run(case, limit=120)
    assert result.code == 0, result.text
    assert (tmp_path / "checkpoints/step-00000050/SHA256SUMS").is_fifo()
    assert (tmp_path / "checkpoints/step-00000002.set-aside/SHA256SUMS").is_fifo()
    assert (tmp_path / "analysis/fig-line-000050.png").is_fifo()
    (tmp_path / "analysis/fig-line-000004.png").unlink()
    os.mkfifo(tmp_path / "analysis/fig-line-000004.png")
    assert "fig-line-000004.png is there already, and is no picture of" in cases.message(cases.run(case, limit=120))


def test_a_table_with_words_in_place_of_numbers(tmp_path):
    (tmp_path / "other.csv").write_text("step,time,kinetic_energy\n0,0.0,much\n")
    assert "other.csv, line 2: expected 3 numbers, found: 0,0.0,much" in said("plot", "other.csv", cwd=tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dt = 5e-324\nend = 1.0", "time.dt: must be 0 or of a size between 1e-100 and 1e+100"),
        ("dt = 1e-99\nend = 1.0", "steps of dt = 1e-99"),
        ("dt = 0.1\nend = 1e308", "time.end: must be 0 or of a size"),
        (f"dt = 0.1\nsteps = {10**400}", "time.steps: must be at most"),
        ("steps = " + "9" * 5000, "a whole number of thousands of digits"),
        ("steps = 1\ndt = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("steps = 1\ndt = " + "{a=" * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ],
)
def test_numbers_and_depths_that_cannot_be(tmp_path, text, words):
    case = cases.write_case(tmp_path, steps=1)
    case.write_text(case.read_text().replace("dt = 0.01\nsteps = 1\n", text + "\n"))
    assert words in said("run", case, cwd=tmp_path)


def test_a_grid_too_large_for_the_machine(tmp_path):
    for ranks in (None, 2):
        case = cases.write_case(tmp_path, "periodic", steps=1, points=(20000, 20000, 20000))
        text = cases.message(cases.run(case, ranks=ranks))
        each = {None: "523.9 TiB", 2: "261.9 TiB"}[ranks]
        assert f"20000 x 20000 x 20000 points need at least 523.9 TiB of memory, {each} on each" in text
        assert "they would fit on" in text
    assert not (tmp_path / "time_series.csv").exists()


@pytest.mark.parametrize("command", ["run", "info", "verify", "plot", "case"])
def test_paths_that_are_no_utf_8(tmp_path, command):
    name = os.fsdecode(b"caf\xe9.toml")
    (tmp_path / name).write_text("")
    assert r"b'caf\xe9.toml' is not in UTF-8" in said(command, name, cwd=tmp_path)


def test_a_series_at_a_path_that_is_no_utf_8(tmp_path):
    with pytest.raises(ValueError, match="is not in UTF-8"):
        tr.open(tmp_path / os.fsdecode(b"caf\xe9"), "w")


def test_a_script_nested_deeply(tmp_path):
    (tmp_path / "deep.py").write_text("x = " + "-" * 200_000 + "1\n\n\ndef analyse(step):\n    return {}\n")
    case = cases.write_case(tmp_path, steps=1, extra='[[analysis]]\nscript = "deep.py"\nevery = 1\n')
    text = said("run", case, cwd=tmp_path)
    assert "deep.py" in text and len(text) < 2000
