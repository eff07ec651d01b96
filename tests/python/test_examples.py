"""The examples and the notebooks do what they say: their results against exact values, read by h5py and NumPy."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from matplotlib.image import imread

from helpers.harness import mpi_run
from helpers.harness.kept import KEPT
from helpers.programs import notebooks
from tailrace.io.time_series import read_time_series

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BUILT = ROOT / "build/python/examples"
LANGUAGES = {"python": "", "cpp": "_cpp", "c": "_c", "fortran": "_fortran"}


@pytest.fixture
def run(tmp_path):
    """Run an example on ranks, in any of its languages; returns what it prints."""

    def start(name, *words, language="python", size=1):
        if language == "python":
            return KEPT.program(EXAMPLES / f"{name}.py", *words, cwd=tmp_path, ranks=size).out
        program = BUILT / f"{name}{LANGUAGES[language]}"
        if not program.exists():
            pytest.skip("the example was not built")
        result = mpi_run.finish(mpi_run.start([*mpi_run.mpiexec(size), program, *words], tmp_path), 60)
        assert result.code == 0, result.text
        return result.out

    return start


@pytest.fixture
def command(tmp_path):
    """The command `tailrace` on ranks, in the same directory."""

    def start(*words, size=1):
        result = KEPT.result(tmp_path, *words, ranks=size)
        assert result.code == 0, result.text
        return result.out

    return start


def mesh(nx, ny, nz):
    """Coordinates of a periodic box of 2 pi, shaped as arrays (nz, ny, nx)."""
    x, y, z = (2 * np.pi * np.arange(n) / n for n in (nx, ny, nz))
    return x, y[:, None], z[:, None, None]


def wave(time):
    """The field of examples 1, 2, 5 and 9; the mean of its square is 3/8 exp(-time / 2)."""
    x, y, z = mesh(32, 24, 16)
    return np.exp(-time / 4) * (np.sin(x - time) * np.cos(y) + np.cos(z) / 2)


def told(text, word):
    """The numbers behind a word, from each line that contains this word."""
    return np.array([float(number) for number in re.findall(rf"{word}:? ([-+.e0-9]+)", text)])


def assert_drawn(path):
    assert imread(path)[..., :3].std() > 0.05, f"{path} is blank"


def values_of(path, name):
    """All steps of a variable and their times, as h5py finds them."""
    with h5py.File(path) as file:
        return file[f"VTKHDF/PointData/{name}"][...], file["VTKHDF/Steps/Values"][...], dict(file["VTKHDF"].attrs)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", [1, 2])
def test_write(run, tmp_path, language, size):
    run("1_write", "waves.h5", language=language, size=size)
    found, times, about = values_of(tmp_path / "waves.h5", "ux")
    assert list(times) == [0.5 * step for step in range(9)]
    np.testing.assert_allclose(found, [wave(time) for time in times], atol=1e-14)
    np.testing.assert_allclose(about["Spacing"], [2 * np.pi / 32, 2 * np.pi / 24, 2 * np.pi / 16], rtol=1e-14)


@pytest.mark.parametrize("language", ["python", "cpp", "fortran"])
def test_read(run, tmp_path, language):
    run("1_write", "waves.bp", size=1)
    text = run("2_read", "waves.bp", language=language, size=2)
    lines = 10 if language == "python" else 9
    times = told(text, "time")
    assert len(times) == lines
    np.testing.assert_allclose(told(text, "mean square"), 0.375 * np.exp(-times / 2), atol=1e-12)
    if language == "python":
        assert_drawn(tmp_path / "2_read.png")


@pytest.mark.parametrize("language", ["python", "cpp", "fortran"])
def test_restart(run, tmp_path, language):
    """Interrupted on two ranks and continued on one: two modes of the diffusion decay as if nothing had happened."""
    run("3_restart", "decay.h5", 25, language=language, size=2)
    run("3_restart", "decay.h5", 40, language=language, size=1)
    found, times, _ = values_of(tmp_path / "decay.h5", "u")
    np.testing.assert_allclose(times, 0.05 * np.arange(9), atol=1e-15)
    x, y, _ = mesh(48, 36, 8)

    def factor(kx, ky):
        return 1 - 0.8 * (np.sin(kx * np.pi / 48) ** 2 + np.sin(ky * np.pi / 36) ** 2)

    for number, values in enumerate(found):
        plane = np.sin(x) * factor(1, 0) ** (5 * number) + np.sin(4 * x) * np.cos(3 * y) * factor(4, 3) ** (5 * number)
        np.testing.assert_allclose(values, np.arange(1, 9)[:, None, None] * plane, atol=1e-12)


@pytest.mark.parametrize(("language", "size"), [("python", 1), ("python", 2), ("cpp", 2), ("fortran", 2)])
def test_more_data(run, tmp_path, language, size):
    run("4_more_data", "more.h5", language=language, size=size)
    x, y, z = mesh(32, 24, 16)
    with h5py.File(tmp_path / "more.h5") as file:
        for step in range(5):
            ux = np.sin(x + 0.5 * step) * np.cos(y) + z
            np.testing.assert_allclose(file["VTKHDF/PointData/ux"][step], ux, atol=1e-14)
            np.testing.assert_allclose(file["Fields/plane"][step], ux[8:9], atol=1e-14)
            np.testing.assert_allclose(file["Fields/coarse"][step], ux[::2, ::2, ::2], atol=1e-14)
            rows = file[f"Lists/particles/{step}"][...]
            helix = 2 * np.pi * (np.arange(100) + 0.5) / 100
            turned = helix + 0.5 * step
            expected = np.column_stack([np.arange(100), np.pi + np.cos(turned), np.pi + np.sin(turned), helix])
            np.testing.assert_allclose(rows, expected, atol=1e-14)
    if language == "python":
        assert_drawn(tmp_path / "4_more_data.png")


@pytest.mark.parametrize("language", ["python", "cpp", "fortran"])
def test_stream(run, tmp_path, language):
    name = f"sst:{tmp_path}/waves"
    if language == "python":
        command = [mpi_run.sys.executable, EXAMPLES / "5_stream_send.py"]
    elif (BUILT / f"5_stream_send_{language}").exists():
        command = [BUILT / f"5_stream_send_{language}"]
    else:
        pytest.skip("the example was not built")
    sender = mpi_run.start([*mpi_run.mpiexec(2), *command, name], tmp_path)
    try:
        text = run("5_stream_receive", name)
    finally:
        result = mpi_run.finish(sender, 60)
    assert result.code == 0, result.text
    assert list(told(text, "step")) == list(range(20))
    times = told(text, "time")
    np.testing.assert_allclose(told(text, "mean square"), 0.375 * np.exp(-times / 2), atol=1e-12)
    assert "left out: 0; 20 steps" in text
    assert_drawn(tmp_path / "5_stream_receive.png")


def test_three_places(command, tmp_path):
    """Inside and after; beside is the same call of `analyse` on a stream, which test_analysis_beside compares."""
    command("run", EXAMPLES / "6_three_places.toml", size=2)
    command("analyse", EXAMPLES / "6_three_places.py", "snapshots.h5", "-o", "after")
    inside = read_time_series(tmp_path / "analysis/6_three_places.csv")
    after = read_time_series(tmp_path / "after/6_three_places.csv")
    fields = [values_of(tmp_path / "snapshots.h5", name)[0] for name in ("ux", "uy", "uz")]
    wanted = [0.5 * sum((part[step] ** 2).mean() for part in fields) for step in range(5)]
    for name in ("energy", "enstrophy"):
        np.testing.assert_allclose(inside[name], after[name], rtol=1e-12)
    np.testing.assert_allclose(after["energy"], wanted, rtol=1e-12)
    np.testing.assert_allclose(after["enstrophy"], [enstrophy(fields, step) for step in range(5)], rtol=3e-3)
    assert_drawn(tmp_path / "analysis/6_three_places-slice-000040.png")
    assert_drawn(tmp_path / "after/6_three_places-slice-000040.png")


def enstrophy(fields, step):
    """By Fourier transforms of NumPy; the schemes of sixth order come close to it."""
    hats = [np.fft.fftn(part[step]) / part[step].size for part in fields]
    k = np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in fields[0].shape[1:]), indexing="ij")[::-1]  # x, y, z
    curls = [k[(d + 1) % 3] * hats[(d + 2) % 3] - k[(d + 2) % 3] * hats[(d + 1) % 3] for d in range(3)]
    return 0.5 * sum((abs(one) ** 2).sum() for one in curls)


def test_own_flow(command, tmp_path):
    """The first step is the function itself, and the flow goes on."""
    command("run", EXAMPLES / "7_own_flow.toml", "--set", "time.end=0.1", "--set", "output[0].interval=0.1", size=2)
    found, times, _ = values_of(tmp_path / "layers.h5", "ux")
    x, y, z = mesh(64, 64, 8)
    expected = np.where(y < np.pi, np.tanh((y - np.pi / 2) / 0.2), np.tanh((3 * np.pi / 2 - y) / 0.2)) + 0 * x + 0 * z
    np.testing.assert_allclose(times, [0, 0.1], atol=1e-12)
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
    assert 1e-3 < abs(found[1] - expected).max() < 0.1
    rows = read_time_series(tmp_path / "layers.csv")
    assert abs(rows["kinetic_energy"][0] - 0.5 * (expected**2).mean() - 0.000625 * 1.02) < 1e-6
    command("plot", "layers.h5", "--field", "vorticity_z", "-o", "layers.png")
    assert_drawn(tmp_path / "layers.png")


def test_channel(command, tmp_path):
    """Its beginning, on a coarse grid: the waves are there, nothing moves at the walls, and the flow rate is kept."""
    coarse = [
        "grid.points=[16,17,12]",
        "grid.beta=0.26",
        "numerics.precision='double'",
        "time.end=0.2",
        "diagnostics.every=1",
        "output[0].interval=0.2",
    ]
    command("run", EXAMPLES / "11_channel.toml", *(f"--set={one}" for one in coarse), size=2)
    found, _, _ = values_of(tmp_path / "snapshots.h5", "uy")
    assert 0.03 < abs(found[0]).max() < 0.3
    assert abs(found[0][:, 1:-1] - found[0][:, -2:0:-1]).max() > 0.03  # the walls differ
    for name in ("ux", "uy", "uz"):
        values, _, _ = values_of(tmp_path / "snapshots.h5", name)
        assert abs(values[1][:, [0, -1]]).max() < 0.01  # what the projection leaves of it on a coarse grid
    rows = read_time_series(tmp_path / "time_series.csv")
    assert abs(rows["mean_ux"] - 2 / 3).max() < 0.01  # by the trapezoidal rule of the time series, on 17 nodes
    assert rows["max_divergence"].max() < 1e-9


@pytest.mark.parametrize(("language", "size"), [("python", 1), ("python", 2), ("cpp", 2)])
def test_operators(run, tmp_path, language, size):
    text = run("8_operators", language=language, size=size)
    # The errors of the schemes for sin x, cos 2y and cos z: their modified wave numbers against the exact ones.
    first = 1 - modified(2 * np.pi / 32, 14 / 9, 1 / 9, 1 / 3)
    assert 0 < told(text, "error of dp/dz")[0] < 1.01 * first
    assert 0 < told(text, "error of the Laplacian")[0] < 1e-4
    if language == "python":
        assert told(text, "divergence of u")[0] < 1e-6
        assert told(text, r"mean of p \* p")[0] == pytest.approx(1 / 8, rel=1e-6)
        assert told(text, "enstrophy")[0] == pytest.approx(3 / 8, rel=1e-6)
        assert told(text, "energy at wave number 2 in y")[0] == pytest.approx(1 / 16, rel=1e-6)
        assert_drawn(tmp_path / "8_operators.png")


def modified(w, a, b, alpha):
    """Modified over exact wave number of a compact first derivative, for w radians per point (Lele 1992)."""
    return (a * np.sin(w) + b / 2 * np.sin(2 * w)) / (1 + 2 * alpha * np.cos(w)) / w


def test_xarray(run, tmp_path):
    run("1_write", "waves.h5")
    text = run("9_xarray", "waves.h5")
    times = told(text, "time")[-9:]
    np.testing.assert_allclose(told(text, "energy")[-9:], 0.1875 * np.exp(-times / 2), atol=1e-12)
    assert_drawn(tmp_path / "9_xarray.png")


def test_look_at_a_run(command, run, tmp_path):
    """The numbers of one and of two ranks are equal, and those of NumPy for what it can compute."""
    command("run", EXAMPLES / "6_three_places.toml", "--set", "analysis=[]", size=2)
    texts = [run("10_look_at_a_run", "snapshots.h5", size=size) for size in (1, 2)]
    names = ("enstrophy", "spectrum", "profile")
    one, two = ([np.array(line.split()[1:], float) for line in text.splitlines()] for text in texts)
    for name, mine, other in zip(names, one, two, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12 * abs(mine).max(), err_msg=name)
    ux, uy, uz = (values_of(tmp_path / "snapshots.h5", name)[0] for name in ("ux", "uy", "uz"))
    np.testing.assert_allclose(one[2].reshape(5, 24), (ux**2).mean((1, 3)), rtol=1e-12)
    assert one[1].sum() == pytest.approx(0.5 * (ux[-1] ** 2 + uy[-1] ** 2 + uz[-1] ** 2).mean(), rel=1e-12)
    np.testing.assert_allclose(one[0], [enstrophy((ux, uy, uz), step) for step in range(5)], rtol=3e-3)
    assert_drawn(tmp_path / "10_look_at_a_run.png")


def test_index():
    """The index names all examples, and each has its picture and says its command."""
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    sources = [path for path in EXAMPLES.iterdir() if path.name[0].isdigit()]
    assert sources
    for path in sources:
        assert path.name in index
        if path.suffix in (".py", ".cpp", ".c", ".f90"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 80, path
    for picture in re.findall(r"\(\.\./(docs/pictures/examples/[^)]*)\)", index):
        assert_drawn(ROOT / picture)
    assert len(re.findall(r"docs/pictures/examples", index)) == 11


@pytest.mark.parametrize("name", ["from_a_run_to_figures", "your_data_in_xarray"])
def test_notebook(one, tmp_path, name):
    shown = one.results(notebooks.notebook, directory=str(tmp_path), path=str(ROOT / f"docs/notebooks/{name}.md"))[0]
    figures = sorted(tmp_path.glob("cell*.png"))
    assert len(figures) == {"from_a_run_to_figures": 4, "your_data_in_xarray": 6}[name]
    for figure in figures:
        assert_drawn(figure)
    if name == "from_a_run_to_figures":
        assert "vortex" in shown[0]  # the case as a table
        assert "t 8.0000" in shown[1] and shown[1].endswith("0")  # the progress, and the exit code
        assert 0 <= float(shown[-3]) < 1e-10  # enstrophy from the files against the run's own
        assert abs(float(shown[-1])) < 1e-12  # Parseval
