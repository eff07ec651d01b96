"""`tailrace film`: pictures of any program become a film, and what is no picture is told."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from helpers.harness.as_click import invoke
from tailrace.pictures import film
from tailrace.pictures.painter import PainterError

av = pytest.importorskip("av")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Eleven pictures that tell their number by their brightness, of an odd size, one of them half transparent."""
    monkeypatch.chdir(tmp_path)
    for number in range(11):
        shade = 20 + 15 * number
        Image.fromarray(np.full((49, 65, 3), shade, np.uint8)).save(f"p{number}.png")
    Image.fromarray(np.dstack([np.full((49, 65, 3), 20, np.uint8), np.full((49, 65), 0, np.uint8)])).save("clear.png")
    return tmp_path


def shades(path):
    with av.open(str(path)) as film:
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert {frame.shape for frame in frames} == {(48, 64, 3)}
    return [float(frame.mean()) for frame in frames]


def test_pictures_in_their_order(place):
    result = invoke("film", "p2.png", "p0.png", "clear.png", "--rate", "5")
    assert result.exit_code == 0, result.output
    assert "film.mp4: 3 pictures" in result.stdout and "64 x 48 are shown" in result.stderr
    np.testing.assert_allclose(shades("film.mp4"), [50, 20, 255], atol=3)


def test_a_directory_by_the_numbers_of_its_pictures(place):
    (place / "clear.png").unlink()
    (place / "notes.txt").write_text("no picture")
    for name in ("all.mp4", "all.webm"):
        assert invoke("film", ".", "-o", name).exit_code == 0
        np.testing.assert_allclose(shades(name), 20 + 15 * np.arange(11), atol=3)


def test_what_is_wrong(place):
    Image.fromarray(np.zeros((10, 10, 3), np.uint8)).save("small.png")
    (place / "text.png").write_text("no picture")
    (place / "none").mkdir()
    (place / "theirs.mp4").write_bytes(b"of another program")
    for words, said in [
        (["p0.png", "small.png"], "small.png: is 10 x 10 pixels, and p0.png is 65 x 49"),
        (["text.png"], "text.png: is no picture that can be read"),
        (["gone.png"], "gone.png: is no picture that can be read"),
        (["none"], "none: has no picture"),
        (["p0.png", "-o", "film.avi"], "a film is a .mp4 or .webm file"),
        (["p0.png", "-o", "theirs.mp4"], "theirs.mp4 is there already"),
        (["p0.png", "-o", "theirs.mp4", "--overwrite"], "theirs.mp4"),
    ]:
        result = invoke("film", *words)
        assert result.exit_code != 0 and said in result.stderr, (words, result.output)
        assert not (place / "film.mp4").exists()
    assert (place / "theirs.mp4").read_bytes() == b"of another program"
    assert not [path for path in place.iterdir() if path.suffix == ".new" or path.name.startswith(".")]


def test_a_failure_is_told_once(place, monkeypatch):
    def fails(*_):
        raise PainterError("PyAV does not load")

    monkeypatch.setattr(film, "Film", fails)
    result = invoke("film", "p0.png")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (1, "tailrace: PyAV does not load"), result.output
