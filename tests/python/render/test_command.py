"""The command `tailrace plot`, once for each kind of picture; options reach the pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tailrace as tr
from helpers.harness.as_click import invoke
from tailrace.render.picture_names import apart

N = (12, 16, 20)
GRID = tr.UniformGrid(N, spacing=tuple(2 * np.pi / n for n in N), boundaries=("periodic",) * 3)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a series of a velocity, results, and a table."""
    folder = tmp_path_factory.mktemp("place")
    z, y, x = np.meshgrid(*(2 * np.pi / n * np.arange(n) for n in reversed(N)), indexing="ij")
    with tr.open(folder / "run.bp", "w", grid=GRID) as out:
        for number in range(2):
            out.write_step(0.5 * number, index=number, ux=np.sin(x) * np.cos(y), uy=-np.cos(x) * np.sin(y), uz=0 * z)
    with tr.open(folder / "spectrum.h5", "w", grid=GRID) as out:
        out.write_step(0.0, index=0, lists={"k": np.arange(6.0), "energy": np.exp(-np.arange(6.0))})
    (folder / "budget.csv").write_text("step,time,energy\n0,0.0,1.0\n1,0.1,0.5\n")
    return folder


@pytest.mark.parametrize(
    ("words", "picture"),
    [
        ("budget.csv --column energy --log", "budget.png"),
        ("spectrum.h5 --slope -5/3 --slope -3", "spectrum-spectrum.png"),
        ("run.bp --kind spectrum --field u --step 0 --step -1", "run-spectrum.png"),
        ("run.bp --kind histogram --field u --time 0.5", "run-histogram.png"),
        ("run.bp --kind profile --axis x --field q", "run-profile.png"),
        ("run.bp --field vorticity_z --axis y --at 1.0 --step 0", "run-vorticity_z-y3-step0.png"),
        ("run.bp --field q --kind isosurface --value 0.1 --value 0.3", "run-q-isosurface-step1.png"),
        ("run.bp --index -1 -o picture.png", "picture.png"),
        ("run.bp --field sqrt(ux**2/2+q)", "run-sqrt_ux_2_2+q-z10-step1.png"),
    ],
)
def test_every_kind(place, monkeypatch, words, picture):
    if "isosurface" in words:
        pytest.importorskip("vtkmodules")
    monkeypatch.chdir(place)
    result = invoke("plot", *words.split())
    assert (result.exit_code, result.stdout) == (0, f"{picture}\n")
    pixels = np.asarray(Image.open(Path(picture)).convert("L"))
    assert min(pixels.shape) > 200 and (pixels < 230).mean() > 0.005


def test_errors_are_one_line(place, monkeypatch):
    monkeypatch.chdir(place)
    for words, message in (
        ("run.bp --field vortcity", "did you mean 'vorticity'"),
        ("run.bp budget.csv -o a.png", "one picture shows files of one kind"),
        ("run.bp --kind foo", "expected one of time-series"),
        ("run.bp run.bp -o both.png", "-o names one picture"),
        ("run.bp run.bp --film both.mp4", "--film makes one film of one series"),
        ("run.bp -o a.png --film a.mp4", "--film makes one film of one series"),
        ("*.csv", "tables are none; give the files, without quotes"),
        ("bugdet.csv", "bugdet.csv: there is no such file or directory; did you mean budget.csv?"),
    ):
        result = invoke("plot", *words.split())
        assert result.exit_code == 2 and message in result.stderr and len(result.stderr.splitlines()) == 1


def test_no_picture_replaces_another_one_of_the_same_call(tmp_path, monkeypatch):
    """Files of the same name in two directories, the same file twice, and one whose name is that of another picture."""
    monkeypatch.chdir(tmp_path)
    files = ["a/out/run.h5", "b/out/run.h5", "a/out/run.h5", "a-run.h5"]
    for number, file in enumerate(dict.fromkeys(files)):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        with tr.open(file, "w", grid=GRID) as out:
            out.write_step(0.0, f=np.full((20, 16, 12), float(number)))
    result = invoke("plot", *files, "--field", "f")
    assert result.exit_code == 0, result.output
    end = "run-f-z10-step0"
    assert result.stdout.split() == [f"a-{end}.png", f"b-{end}.png", f"a-{end}-2.png", f"a-{end}-3.png"]
    assert sorted(path.name for path in tmp_path.glob("*.png")) == sorted(result.stdout.split())
    assert invoke("plot", files[0], "a-run.h5", "--field", "f").stdout.split() == [f"{end}.png", f"a-{end}.png"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("a/x.h5", "b/y.h5"), ("x.png", "y.png")),
        (("x.h5", "b/x.h5"), ("x.png", "b-x.png")),
        (("r/1/out/x.h5", "r/2/out/x.h5", "s/1/out/x.h5"), ("r-1-x.png", "r-2-x.png", "s-1-x.png")),
        (("a/x.h5", "a/x.bp"), ("h5-x.png", "bp-x.png")),
        (("a/b/x.h5", "a-b/x.h5"), ("a-b-x.png", "a-b-x-2.png")),
        (("a/x.h5", "a/../a/x.h5", "y.h5"), ("x.png", "x-2.png", "y.png")),
    ],
)
def test_names_of_pictures_have_what_differs(files, names):
    assert apart([(f"{Path(file).stem}.png", Path(file)) for file in files]) == list(names)


def test_a_pattern_is_one_series(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        with tr.open(f"part_{number}.h5", "w", grid=GRID) as out:
            out.write_step(0.5 * number, index=number, f=np.full((20, 16, 12), float(number)))
    for words, picture in (
        ("part_*.h5 --index 3", "part-f-z3-step1.png"),
        ("part_*.h5 --step 0 --kind histogram --field f", "part-histogram.png"),
    ):
        result = invoke("plot", *words.split())
        assert (result.exit_code, result.stdout) == (0, f"{picture}\n"), result.output
        assert Path(picture).exists()
    nothing = invoke("plot", "port_*.h5")
    assert nothing.exit_code == 2 and "port_*.h5: no file has a name of this pattern" in nothing.stderr


def test_a_link_to_what_is_gone(tmp_path, monkeypatch):
    """Also by another link; and links in a circle."""
    monkeypatch.chdir(tmp_path)
    gone = tmp_path.resolve() / "gone.h5"
    for link, target in (("link.h5", gone), ("second.h5", "link.h5"), ("ring", "gnir"), ("gnir", "ring")):
        Path(link).symlink_to(target)
    for command in ("plot", "info", "verify"):
        for link, said in (
            ("link.h5", f"it is a link to {gone}, which is not there"),
            ("second.h5", f"it is a link to {gone}, which is not there"),
            ("ring", "it is a link that leads back to itself"),
        ):
            result = invoke(command, link)
            assert (result.exit_code, result.stderr) == (2, f"tailrace: {link}: {said}\n"), command
