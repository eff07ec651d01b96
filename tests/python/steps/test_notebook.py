"""What notebooks show of cases, series, steps and fields."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import tailrace as tr
from helpers.inputs.flows_on_disk import write


class Seen(HTMLParser):
    """The texts of a page, its pictures, and whether its tags are closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.pictures: list[np.ndarray] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "img":
            self.open.append(tag)
            return
        data = re.fullmatch("data:image/png;base64,(.*)", dict(attrs)["src"])
        self.pictures.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1])))))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    return tr.open(write(tmp_path_factory.mktemp("notebook") / "a <b>.h5"))


def test_series(series):
    seen = Seen(series._repr_html_())
    assert seen.texts[0] == "Series a <b>.h5" and "24 x 17 x 20 points in x, y, z" in seen.texts
    assert "float64, (z, y, x) = (20, 17, 24)" in seen.texts and "list of 3 rows, 2 columns of float64" in seen.texts


def test_step_and_field(series):
    step = series[1]
    seen = Seen(step._repr_html_())
    assert "Step 10" in seen.texts and "step 1" in seen.texts and len(seen.pictures) == 1
    field = Seen(step["uy"]._repr_html_())
    (drawn,) = field.pictures
    assert "not read yet" in repr(step["uy"])  # only the plane was read
    assert len(np.unique(drawn.reshape(-1, drawn.shape[2]), axis=0)) > 50  # colours: a field is drawn
    assert "24 x 17 x 20 in x, y, z" in field.texts


def test_without_grid_or_steps(tmp_path):
    plain = tr.open(write(tmp_path / "run.bp", grid=None))
    assert not Seen(plain[0]._repr_html_()).pictures
    plain.close()
    assert Seen(plain._repr_html_()).texts == ["Series, closed"]
    with tr.open(tmp_path / "new.h5", "w") as out:
        assert "hdf5" in Seen(out._repr_html_()).texts


def test_not_a_number(tmp_path):
    ops = tr.Operators((8, 8, 8), (1, 1, 1), ("periodic",) * 3)
    for value in (np.nan, np.inf, 0.0):
        assert Seen(tr.Field.from_function(ops, value, name="<nan>")._repr_html_()).pictures


def test_case(tmp_path):
    (tmp_path / "case.toml").write_text(
        '[case]\nname = "own"\nreynolds = 100.0\n[grid]\npoints = [16, 16, 16]\nlengths = [1, 1, 1]\n'
        'boundaries = ["periodic", "periodic", "periodic"]\n[time]\ndt = 0.01\nsteps = 5\n'
        '[[output]]\nname = "o"\npath = "a<b>.h5"\nengine = "hdf5"\nevery = 5\nfields = ["ux"]\n'
    )
    seen = Seen(tr.load_case(tmp_path / "case.toml")._repr_html_())
    assert seen.texts[0] == "Case own" and "output[0].path" in seen.texts and "a<b>.h5" in seen.texts


def test_pictures_have_the_right_way_up():
    ops = tr.Operators((8, 8, 8), (1, 1, 1), ("periodic",) * 3)
    field = tr.Field.from_function(ops, lambda x, y, z: y)
    (drawn,) = Seen(field._repr_html_()).pictures
    rows = drawn[:, drawn.shape[1] // 3, :3].astype(int)
    yellow = [at for at, (r, g, b) in enumerate(rows) if r > 200 and g > 200 and b < 100]
    violet = [at for at, (r, g, b) in enumerate(rows) if r < 90 and g < 30 and b > 60]
    assert yellow and violet and max(yellow) < min(violet)  # large y above
