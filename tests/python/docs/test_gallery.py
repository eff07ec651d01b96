"""The pictures of the gallery are those that its case draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.harness import mpi_run

DOCS = Path(__file__).parents[3] / "docs"
pytest.importorskip("vtkmodules")


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB")).astype(float)


def test_the_case_of_the_page_draws_its_pictures(tmp_path):
    page = (DOCS / "gallery.md").read_text()
    (tmp_path / "gallery.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    result = mpi_run.tailrace("run", "gallery.toml", cwd=tmp_path, ranks=2, limit=300)
    assert result.code == 0, result.text
    drawn = sorted((tmp_path / "pictures").glob("*.png"))
    assert len(drawn) == page.count("](pictures/gallery_") == 4
    for path in drawn:
        name = f"gallery_{path.name.partition('-')[0]}.png"
        assert f"](pictures/{name})" in page
        shown = pixels(DOCS / "pictures" / name)
        # Another version of a font or a graphics library moves edges; a wrong field or view changes it all.
        assert np.abs(pixels(path) - shown).mean() < 2, name
        assert shown.std() > 20, name
