"""`tailrace info` and `verify`: what they print for series of every engine, damaged or not."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness.as_click import invoke as tailrace
from helpers.inputs import sidecar
from helpers.programs.series import flipped_bits
from tailrace.cli import listing
from tailrace.core import engine_traits
from tailrace.flow.checkpoint import CheckpointStore, State
from tailrace.inspection import contents as inspection
from tailrace.io import series as tr
from tailrace.io.placement import boxes_of

NX, NY, NZ = 10, 7, 5
GRID = tr.UniformGrid((NX, NY, NZ), (0.5, -1.0, 2.0), (0.1, 0.2, 0.3))
PATHS = {
    "raw": "run",
    "hdf5": "run.h5",
    "adios_hdf5": "run.adios_hdf5",
    "bp4": "run.bp4",
    "bp5": "run.bp",
    "sion": "run.sion",
}


def field(salt: float) -> np.ndarray:
    return np.arange(NX) + 100.0 * np.arange(NY)[:, None] + 10000.0 * np.arange(NZ)[:, None, None] + salt


def write(path: Path, steps: int = 3, **options) -> Path:
    with tr.open(path, "w", grid=GRID, **options) as out:
        out.set_attribute("case", "tgv")
        out.set_attribute("sizes", [1, 2])
        for step in range(steps):
            out.write_step(
                0.5 * step, index=10 * step, ux=field(step / 4), uy=field(-step).astype("f4"), scalars={"energy": 0.125}
            )
    return path


def write_checkpoints(path: Path) -> Path:
    store = CheckpointStore(path, 2, MPI.COMM_SELF)
    for step in (4, 8):
        fields = {name: tr.Block(field(step), (NX, NY, NZ)) for name in ("ux", "uy", "uz")}
        store.write(State(step, 0.1 * step, 1, 1, "auto", 1), fields, {"case": "tgv"})
    return path


@pytest.fixture(params=list(PATHS))
def engine(request) -> str:
    return request.param


def test_info_lists_what_is_there(tmp_path, engine):
    result = tailrace("info", write(tmp_path / PATHS[engine]))
    assert result.exit_code == 0, result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == str(tmp_path / PATHS[engine])
    for line in (
        f"engine {engine}",
        "grid 10 x 7 x 5 points (x, y, z)",
        "origin (0.5, -1, 2), spacing (0.1, 0.2, 0.3)",
        "steps 3: index 0 to 20, time 0 to 1",
        "case tgv",
        "sizes [1, 2]",
        "ux float64 5 x 7 x 10",
        "uy float32 5 x 7 x 10",
        "energy 0.125",
    ):
        assert line in lines, result.stdout


def test_info_lists_all_steps_on_request(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    lines = [line.split() for line in tailrace("info", "--steps", path).stdout.splitlines()]
    assert all(row in lines for row in (["0", "0", "0"], ["1", "10", "0.5"], ["2", "20", "1"]))
    assert ["1", "10", "0.5"] not in [line.split() for line in tailrace("info", path).stdout.splitlines()]


def test_info_as_json(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    (found,) = json.loads(tailrace("info", "--json", "--minmax", "--step", "1", path).stdout)
    size = sum(p.stat().st_size for p in path.iterdir()) if path.is_dir() else path.stat().st_size
    assert (found["engine"], found["path"], found["bytes"]) == (engine, str(path), size)
    assert found["attributes"] == {"case": "tgv", "sizes": [1, 2]}
    assert found["grid"]["points"] == [NX, NY, NZ]
    assert found["steps"] == [{"index": 10 * n, "time": 0.5 * n} for n in range(3)]
    assert (found["step"], found["scalars"]) == (1, {"energy": 0.125})
    ux = {"name": "ux", "type": "float64", "shape": [NZ, NY, NX], "min": 0.25, "max": 40609.25, "not_numbers": 0}
    assert found["variables"][0] == ux


def test_minmax_is_of_the_step_asked_for_and_leaves_out_what_is_no_number(tmp_path, engine):
    data = field(0)
    data[0, 0, 0] = data[2, 3, 4] = np.nan
    with tr.open(tmp_path / PATHS[engine], "w") as out:
        out.write_step(0.0, a=field(7), b=np.full((NZ, NY, NX), np.nan))
        out.write_step(1.0, a=data, b=field(0))
    steps = tr.open(tmp_path / PATHS[engine])
    assert inspection.range_of(steps[0], "a") == inspection.ValueRange(7, 40616, 0)
    assert inspection.range_of(steps[1], "a") == inspection.ValueRange(1, 40609, 2)
    lines = [line.split() for line in tailrace("info", "--minmax", steps.path).stdout.splitlines()]
    assert ["a", "float64", *["5", "x", "7", "x", "10"], "1", "40609", "2"] in lines
    (found,) = json.loads(tailrace("info", "--json", "--minmax", "--step", "0", steps.path).stdout)
    assert found["variables"][1] == {
        "name": "b", "type": "float64", "shape": [NZ, NY, NX], "min": None, "max": None, "not_numbers": NX * NY * NZ
    }  # fmt: skip


def test_minmax_reads_in_pieces(tmp_path, engine, monkeypatch):
    n = 64  # 2 MiB
    data = np.random.default_rng(1).normal(size=(n, n, n))
    with tr.open(tmp_path / PATHS[engine], "w") as out:
        out.write_step(0.0, ux=data)
    monkeypatch.setattr(inspection, "PIECE_BYTES", 40_000)  # more than one plane
    step = tr.open(tmp_path / PATHS[engine])[0]
    tracemalloc.start()
    found = inspection.range_of(step, "ux")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.min, found.max) == (data.min(), data.max())
    assert peak < 200_000


@pytest.mark.parametrize("most", [1, 10, 25, 70, 150, 10**6])
def test_boxes_make_up_the_whole(most):
    seen = np.zeros((NZ, NY, NX), int)
    for (x, y, z), (nx, ny, nz) in boxes_of((NX, NY, NZ), most):
        assert nx * ny * nz <= max(most, NX)
        seen[z : z + nz, y : y + ny, x : x + nx] += 1
    assert (seen == 1).all()


def test_info_of_checkpoints(tmp_path):
    path = write_checkpoints(tmp_path / "checkpoints")
    found = json.loads(tailrace("info", "--json", path).stdout)
    assert [one["steps"][0]["index"] for one in found] == [4, 8]
    assert found[0]["attributes"]["transpose"] == "auto"
    (found,) = json.loads(tailrace("info", "--json", path / "step-00000004").stdout)
    assert [variable["name"] for variable in found["variables"]] == ["ux", "uy", "uz"]


def test_checkpoints_are_in_the_order_of_their_steps(tmp_path):
    """Their names are so up to step 99999999 only."""
    paths = [tmp_path / f"step-{step:08d}" for step in (9, 10, 99999999, 100000000, 100000001)]
    for path in reversed(paths):
        path.mkdir()
    assert inspection.series_at(tmp_path) == paths


def test_the_engine_is_recognised_by_what_is_there(tmp_path):
    write(tmp_path / "odd.name", engine="hdf5")
    write(tmp_path / "odd.h5", engine="raw")
    write(tmp_path / "odd", engine="bp5")
    found = json.loads(tailrace("info", "--json", *sorted(tmp_path.iterdir())).stdout)
    names = [Path(one["path"]).name for one in found]
    assert names == ["odd", "odd.h5", "odd.name", "odd.name.xdmf2"]  # the last one describes odd.name to ParaView
    assert [one["engine"] for one in found] == ["bp5", "raw", "hdf5", "xdmf-hdf5"]
    assert [one["time"] for one in found[3]["steps"]] == [one["time"] for one in found[2]["steps"]]


def test_info_of_an_empty_series(tmp_path, engine):
    with tr.open(tmp_path / PATHS[engine], "w"):
        pass
    result = tailrace("info", "--minmax", tmp_path / PATHS[engine])
    assert result.exit_code == 0, result.stderr
    assert ["steps", "none"] in [line.split() for line in result.stdout.splitlines()]


def test_info_of_what_is_no_series(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name, reason in (("notes.txt", "is no series"), ("empty", "holds no series"), ("none", "no such file")):
        result = tailrace("info", tmp_path / name, path)
        assert result.exit_code == 2
        assert reason in result.stderr and result.stderr.count("\n") == 1
        assert "energy" in result.stdout, "the others are shown all the same"
    result = tailrace("info", "--step", "3", path)
    assert result.exit_code == 2
    assert "there is no step number 3: it has 3, counted from 0" in result.stderr


def test_tables_on_a_terminal(tmp_path, engine, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    listing.show(inspection.contents(write(tmp_path / PATHS[engine])), all_steps=True)
    text = capsys.readouterr().out
    assert "shape (z, y, x)" in text and "─" in text and "40611" not in text


# ---- verify ------------------------------------------------------------------------------------


def flip(path: Path, wanted: float) -> None:
    """Change a byte of a number that is in one place of a file only."""
    data = bytearray(path.read_bytes())
    place = data.find(np.float64(wanted).tobytes())
    assert place >= 0 and data.find(np.float64(wanted).tobytes(), place + 1) < 0
    data[place + 3] ^= 0x40
    path.write_bytes(data)


def data_file(path: Path, engine: str, step: int) -> Path:
    names = {
        "raw": f"ux-{step + 1}.bin",
        "bp4": "data.0",
        "bp5": "data.0",
        "adios_hdf5": f"step-{10 * step:08d}.h5",
        "sion": f"step-{10 * step:08d}.sion",
    }
    return path / names[engine] if engine in names else path


def test_a_sound_series_is_all_well(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    result = tailrace("verify", path)
    assert (result.exit_code, result.stdout) == (0, f"{path}: 3 steps, all well\n")


def test_verify_names_a_flipped_byte(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    flip(data_file(path, engine, 1), 20304.25)  # in ux of the second step at k = 2, j = 3, i = 4
    result = tailrace("verify", path)
    assert result.exit_code == 1
    assert result.stdout == (f"{path}: damaged: ux: block (0:10, 0:7, 0:5) of step 10 differs from its checksum\n"), (
        "step, variable and box, in one line"
    )


@pytest.mark.parametrize("cut", [1, 500, 3000])
def test_verify_names_a_truncated_file(tmp_path, engine, cut):
    path = write(tmp_path / PATHS[engine])
    file = data_file(path, engine, 1)
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - (min(cut, 2000) if engine_traits(engine).file_names else cut))
    result = tailrace("verify", path)
    assert result.exit_code == 1, result.stdout
    assert all(line.startswith(f"{path}: damaged: ") for line in result.stdout.splitlines())
    assert (file.name if engine != "hdf5" else str(path)) in result.stdout
    if engine_traits(engine).file_names:
        assert "ux: block (0:10, 0:7, 0:5) of step 10: " in result.stdout and result.stdout.count("\n") == 1


@pytest.mark.parametrize("name", ["ux-2.bin", "series.jsonl", "data.0", "md.0", "md.idx"])
def test_verify_names_a_missing_file(tmp_path, name):
    path = write(tmp_path / PATHS["raw" if name in ("ux-2.bin", "series.jsonl") else "bp5"])
    (path / name).unlink()
    result = tailrace("verify", path)
    assert result.exit_code == 1
    assert name in result.stdout
    assert "damaged" in result.stdout and "Traceback" not in result.stderr


@pytest.mark.parametrize("engine", ["bp4", "bp5"])
def test_damaged_bp_metadata_never_reach_adios2(tmp_path, engine):
    """A flipped bit or a cut in them crashes ADIOS2, or makes it wait: so a separate process with a time limit."""
    path = write(tmp_path / PATHS[engine])
    for name in ("md.idx", "md.0", "mmd.0", "tailrace.json"):
        if (path / name).exists():
            command = [sys.executable, flipped_bits.__file__, path, path / name]
            done = subprocess.run(command, timeout=240, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{name}: {done.returncode}\n{done.stderr}"
    assert tailrace("verify", path).exit_code == 0


def test_verify_says_when_there_are_no_checksums(tmp_path, engine):
    path = write(tmp_path / PATHS[engine], parameters={"checksums": False})
    result = tailrace("verify", path)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{path}: not checked: none of the 3 steps has checksums of all its variables",
        f"{path}: 3 steps, no damage found",
    ]
    with tr.open(path, "a", grid=GRID) as out:
        out.write_step(1.5, ux=field(3), uy=field(3).astype("f4"), scalars={"energy": 0.5})
    lines = tailrace("verify", path).stdout.splitlines()
    assert f"{path}: not checked: step 10 has no checksums of ux, uy" in lines
    assert not any("step 21" in line for line in lines)


def test_verify_of_checkpoints(tmp_path):
    path = write_checkpoints(tmp_path / "checkpoints")
    assert tailrace("verify", path).exit_code == 0
    flip(path / "step-00000008" / "uy-1.bin", 20312.0)
    result = tailrace("verify", path)
    assert result.exit_code == 1
    assert f"{path / 'step-00000004'}: 1 step, all well\n" in result.stdout
    assert f"{path / 'step-00000008'}: damaged: uy: block" in result.stdout
    told = path / "step-00000004" / "series.jsonl"
    told.write_text(told.read_text().replace("tgv", "tgw"))
    assert "series.jsonl differs from its checksum" in tailrace("verify", told.parent).stdout


def test_verify_survives_damaged_checksums(tmp_path):
    path = write(tmp_path / "run")
    told = sidecar.read(path)
    told["steps"][0]["variables"][0]["checksums"][0][5] = 10**15  # a box outside the variable
    told["steps"][1]["variables"][0]["checksums"] = [[0, "x"]]
    sidecar.write(path, told)
    result = tailrace("verify", path)
    assert result.exit_code == 1
    assert "of step 0: ux: block" in result.stdout and "lies outside" in result.stdout
    assert "the checksums of step 10 are damaged" in result.stdout


def test_verify_of_what_is_no_series(tmp_path, engine):
    path = write(tmp_path / PATHS[engine])
    (tmp_path / "notes.txt").write_text("mine")
    for name in ("notes.txt", "none"):
        result = tailrace("verify", tmp_path / name, path)
        assert result.exit_code == 2
        assert name in result.stderr and "all well" in result.stdout


def test_verify_reads_a_large_block_in_pieces(tmp_path):
    """A sparse file of 256 MiB: its zeros differ from the checksum, and memory stays small."""
    n = 320
    path = tmp_path / "run"
    with tr.open(path, "w") as out:
        out.write_step(0.0, ux=np.zeros((2, n, n)))
    told = sidecar.read(path)
    variable = told["steps"][0]["variables"][0]
    variable["shape"], variable["checksums"] = [n, n, n], [[0, 0, 0, n, n, n, "0" * 16]]
    sidecar.write(path, told)
    with (path / "ux-1.bin").open("r+b") as file:
        file.truncate(8 * n**3)
    program = (
        "import resource, sys; from pathlib import Path; from tailrace.inspection import contents as inspection\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "found = inspection.verify(Path(sys.argv[1]))\n"
        "print(len(found.damage), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    damaged, grown = (int(word) for word in done.stdout.split())
    assert damaged == 1
    assert grown < 130_000, "KiB, for a variable of 256 000"


def test_lines_keep_to_a_hundred_columns():
    """Notes go on in the next line; a path stays whole, so that it can be copied."""
    note, path = "a note of many words " * 20, "/a/very/long/path" * 12
    table = listing.TextTable(["", ""], [["engine", "hdf5"], ["", note], ["more", path], ["", ""]])
    lines = table.plain()
    assert [line for line in lines if len(line) > 100] == [f"more    {path}"]
    assert " ".join(line.strip() for line in lines[1:-2]) == note.strip()
    assert all(line.startswith("        ") for line in lines[1:-2])
