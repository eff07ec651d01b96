"""The cells of a notebook, run on ranks that are kept."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpi4py import MPI


def notebook(world: MPI.Comm, directory: str, path: str) -> list[str]:
    """Run the cells of a notebook in MyST one after another, as Jupyter does; returns what each of them shows.

    The last expression of a cell is shown as HTML where it can, unless the cell ends with a semicolon.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    os.chdir(directory)
    plt.close("all")  # those of scripts before
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(cells(Path(path)), 1):
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"{path}, cell {number}", "exec"), names)
            value = eval(compile(ast.Expression(last.value), f"{path}, cell {number}", "eval"), names) if last else None
        quiet = value is None or cell.rstrip().endswith(";")
        html = getattr(value, "_repr_html_", None)
        shown.append(printed.getvalue() + ("" if quiet else html() if html else repr(value)))
        for figure in map(plt.figure, plt.get_fignums()):
            figure.savefig(Path(directory) / f"cell{number}-{figure.number}.png")
        plt.close("all")
    return shown


def cells(path: Path) -> list[str]:
    """The code cells of a notebook in MyST."""
    return re.findall(
        r"^```\{code-cell\}[^\n]*\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
