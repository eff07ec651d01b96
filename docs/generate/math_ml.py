"""Formulas as MathML, which browsers draw themselves: no script, nothing from the internet.

The font (STIX Two Math, under the SIL Open Font License) comes with the Python package ziamath.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _mathml(text: str, display: str) -> str:
    """As MathML, with a small space after the names of functions."""
    return re.sub(r"<mi>(sin|cos|max)</mi>", r'<mi>\1</mi><mspace width="0.17em"/>', convert(text, display=display))


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="formula" role="math">{_mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def copy_font(app: Sphinx, font: Path) -> None:
    """Put the font of formulas beside the style sheets of the site."""
    place = Path(app.outdir) / "_static" / "fonts"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(font, place / font.name)


def setup(app: Sphinx) -> None:
    """Register the renderer; conf.py selects it by `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
